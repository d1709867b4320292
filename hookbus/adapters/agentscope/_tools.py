"""Hooks the tools of AgentScope's toolkits as `tool_call`, inside the toolkit's middlewares."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from hookbus import Bus

from .._arguments import text_of
from .._patches import Patches
from .._tools import Gate, Refusal, Results, ToolCall

_PHASES: Final = ("pre", "around", "post", "error", "finally")


def hook_tools(patches: Patches, bus: Bus, module: Any) -> None:
    """Route every tool call through the hook `tool_call` if any receiver or listener is connected.

    In this case, the parts of a streaming tool are collected before the agent gets them, because a
    `post` receiver may still block the result.

    Args:
        patches: the patches of the adapter.
        bus: the bus to declare the hooks on.
        module: AgentScope's toolkit module.
    """
    gate = Gate(patches, bus, _results(module.ToolResponse, module.TextBlock))
    signals = [bus.signal(f"{phase}_tool_call") for phase in _PHASES]
    stock = inspect.unwrap(module.Toolkit.call_tool_function)

    def is_listened_to(tool: Any) -> bool:
        is_connected = any(each._has_shared or each._has_own(tool) for each in signals)
        return is_connected or bus._switchboard.is_observed

    @functools.wraps(stock)
    async def call_tool_function(toolkit: Any, tool_call: Any) -> Any:
        tool = toolkit.tools.get(tool_call["name"], toolkit)
        if not patches.is_live or not is_listened_to(tool):
            return await stock(toolkit, tool_call)

        async def body(arguments: dict[str, Any]) -> list[Any]:
            async with aclosing(await stock(toolkit, {**tool_call, "input": arguments})) as parts:
                return [part async for part in parts]

        call = ToolCall(
            tool_call["name"], dict(tool_call.get("input") or {}), tool_call.get("id"),
            "unknown" if tool is toolkit else _kind(tool), tool,
        )  # fmt: skip
        return _given(await gate.run_async(call, body))

    # Inside AgentScope's wrapper, so that changes by its middlewares are seen.
    hooked = module.trace_toolkit(module._apply_middlewares(call_tool_function))
    hooked.__hookable__ = gate.vocabulary.hookable("tool_call", is_async=True)
    patches.replace(module.Toolkit, "call_tool_function", hooked)


def _kind(tool: Any) -> str:
    if getattr(tool, "source", "") == "mcp_server":
        return "mcp"
    home = getattr(getattr(tool, "original_func", None), "__qualname__", "")
    return "output" if home == "ReActAgent.generate_response" else "function"


def _results(response: Any, text_block: Any) -> Results:
    def of_text(text: str) -> list[Any]:
        return [response(content=[text_block(type="text", text=text)])]

    def packed(call: ToolCall, parts: Any, value: Any) -> list[Any]:
        if isinstance(value, list) and all(isinstance(each, dict) for each in value):
            new = [response(content=value)]
        else:
            new = of_text(text_of(value))
        if parts:  # An interrupted run still counts as a run.
            new[0].is_interrupted = parts[-1].is_interrupted
        return new

    def refused(refusal: Refusal) -> list[Any]:
        return of_text(refusal.text)

    return Results(shown=_shown, packed=packed, refused=refused)


def _shown(parts: list[Any]) -> Any:
    """Return the text of a result, or its blocks if a block is not text. The last part contains all
    earlier parts."""
    blocks = parts[-1].content if parts else []
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


async def _given(parts: list[Any]) -> AsyncGenerator[Any, None]:
    for part in parts:
        yield part
