"""LangChain: middleware around tool calls, composed by `create_agent`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.tools import tool
from langgraph.prebuilt.tool_node import ToolCallRequest

from tests.bench.calls import method
from tests.bench.harness import Case, Expect
from tests.bench.parts import BODY, COLOURS, RESULT, Colour

from . import floors


class Passing(AgentMiddleware):  # type: ignore[type-arg]
    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place

    @property
    def name(self) -> str:
        return f"passing {self.place}"

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)


@tool
def reply(msg: str, temperature: float) -> str:
    """Reply."""
    return msg


def rows() -> dict[str, Callable[[], dict[str, Case]]]:
    return {f"P4 {colour}": partial(five_deep, colour) for colour in COLOURS}


def five_deep(colour: Colour) -> dict[str, Case]:
    """Run the chain that `create_agent` gives its tool node around a call of the bare method."""
    agent = create_agent(
        FakeListChatModel(responses=["hi"]), [reply],
        middleware=[Passing(place) for place in range(5)],
    )  # fmt: skip
    node: Any = agent.nodes["tools"].bound
    chain, body = (
        (node._wrap_tool_call if colour == "sync" else node._awrap_tool_call),
        BODY[colour],
    )

    def request(msg: Any, temperature: float) -> Any:
        call = {
            "name": "reply", "id": "1", "args": {"msg": msg, "temperature": temperature},
            "type": "tool_call",
        }  # fmt: skip
        return ToolCallRequest(tool_call=call, tool=reply, state={}, runtime=None)

    def execute(request: Any) -> Any:
        return body(None, **request.tool_call["args"])

    async def aexecute(request: Any) -> Any:
        return await body(None, **request.tool_call["args"])

    class LangChain:
        def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return chain(request(msg, temperature), execute)

    class LangChainAsync:
        async def reply(self, msg: Any, temperature: float = 0.7) -> Any:
            return await chain(request(msg, temperature), aexecute)

    counted = Passing.wrap_tool_call if colour == "sync" else Passing.awrap_tool_call
    owner = (LangChain if colour == "sync" else LangChainAsync)()
    return {
        "by hand": floors.five_deep(colour),
        "langchain": method(owner, Expect(5, RESULT), counted),
    }
