"""Hooks AgentScope 2's calls to unknown tools: calls by a program through a toolkit, and calls that
an agent rejects before they reach the toolkit.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from importlib import import_module
from typing import Any

from ._tools import Gate
from ._unknown import call_of


async def report_missing_tool(
    gate: Gate, stock: Any, agent: Any, tool_call: Any, message: Any, *args: Any, **kwargs: Any
) -> AsyncGenerator[Any, None]:
    if message == _not_there(tool_call):
        call = call_of(tool_call.name, tool_call.input, tool_call.id, agent, agent)
        blocks = import_module("agentscope.message")
        chunk = _responses().ToolChunk(content=[blocks.TextBlock(text=message)])
        found = await gate.run_async(call, partial(_given, [chunk]))
        message = "".join(block.text for each in found for block in each.content)
    async with aclosing(stock(agent, tool_call, message, *args, **kwargs)) as events:
        async for event in events:
            yield event


async def call_missing_tool(
    gate: Gate, stock: Any, own: Any, tool_call: Any, *args: Any, **kwargs: Any
) -> AsyncGenerator[Any, None]:
    text = _not_there(tool_call)
    async with aclosing(stock(own, tool_call, *args, **kwargs)) as items:
        async for item in items:
            if [getattr(each, "text", None) for each in item.content] != [text]:
                yield item
                continue
            call = call_of(tool_call.name, tool_call.input, tool_call.id, own, None)
            chunk, whole = item, _responses().ToolResponse(id=tool_call.id)
            for each in await gate.run_async(call, partial(_given, [chunk])):
                yield each
                whole.append_chunk(each)
            yield whole
            return


async def _given(chunks: Any, arguments: dict[str, Any]) -> Any:
    return chunks


def _responses() -> Any:
    return import_module("agentscope.tool")


def _not_there(tool_call: Any) -> str:
    return f"ToolNotFoundError: The tool named '{tool_call.name}' doesn't exist."
