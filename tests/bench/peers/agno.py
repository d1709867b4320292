"""Agno: one pre_hook and one post_hook per tool, and nested tool_hooks around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agno.tools.function import Function as Tool
from agno.tools.function import FunctionCall

from tests.bench.calls import method
from tests.bench.harness import Case, Expect
from tests.bench.parts import COLOURS, RESULT, Colour, Function

from . import floors


def reply(msg: Any, temperature: float = 0.7) -> Any:
    return {"msg": msg, "temperature": temperature}


async def areply(msg: Any, temperature: float = 0.7) -> Any:
    return {"msg": msg, "temperature": temperature}


def tool(colour: Colour, **hooks: Any) -> Any:
    """Return an object whose `reply` is a tool call, as its model loop makes one."""
    function = Tool(name="reply", entrypoint=reply if colour == "sync" else areply, **hooks)

    class Agno:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return (
                FunctionCall(function=function, arguments={"msg": msg, "temperature": temperature})
                .execute()
                .result
            )

    class AgnoAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            call = FunctionCall(
                function=function, arguments={"msg": msg, "temperature": temperature}
            )
            return (await call.aexecute()).result

    return (Agno if colour == "sync" else AgnoAsync)()


def rows() -> dict[str, Callable[[], dict[str, Case]]]:
    found: dict[str, Callable[[], dict[str, Case]]] = {}
    for colour in COLOURS:
        found[f"P1 {colour}"] = lambda colour=colour: {  # type: ignore[misc]
            "by hand": floors.bare(colour), "agno": method(tool(colour), Expect(0, RESULT)),
        }  # fmt: skip
        found[f"P2 {colour}"] = lambda colour=colour: one_and_one(colour)  # type: ignore[misc]
        found[f"P4 {colour}"] = lambda colour=colour: five_deep(colour)  # type: ignore[misc]
    return found


def one_and_one(colour: Colour) -> dict[str, Case]:
    def pre(fc: Any) -> None:
        return None

    def post(fc: Any) -> None:
        return None

    case = method(tool(colour, pre_hook=pre, post_hook=post), Expect(2, RESULT), pre, post)
    return {"by hand": floors.one_and_one(colour, "sync"), "agno": case}


def five_deep(colour: Colour) -> dict[str, Case]:
    def layer() -> Function:
        def around(function_name: str, function_call: Function, arguments: dict[str, Any]) -> Any:
            return function_call(**arguments)

        async def aaround(
            function_name: str, function_call: Function, arguments: dict[str, Any]
        ) -> Any:
            return await function_call(**arguments)

        return around if colour == "sync" else aaround

    layers = [layer() for _ in range(5)]
    return {
        "by hand": floors.five_deep(colour),
        "agno": method(tool(colour, tool_hooks=layers), Expect(5, RESULT), *layers),
    }
