"""AgentScope 2: calls of tools that do not exist."""

from __future__ import annotations

import functools
from contextlib import aclosing
from importlib import import_module
from typing import Any

from ._tools import Gate
from ._unknown import call_of


def hook_agentscope2(gate: Gate, toolkit: Any) -> None:
    """Hook missing tools in calls of a toolkit by a program, and in an agent's check before."""
    responses = import_module("agentscope.tool")
    blocks = import_module("agentscope.message")

    def told(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        async def _handle_error_tool_call(
            agent: Any, tool_call: Any, message: Any, *args: Any, **kwargs: Any
        ) -> Any:
            if message == _not_there(tool_call):
                call = call_of(tool_call.name, tool_call.input, tool_call.id, agent, agent)
                chunk = responses.ToolChunk(content=[blocks.TextBlock(text=message)])
                found = await gate.run_async(call, functools.partial(_given, [chunk]))
                message = "".join(block.text for each in found for block in each.content)
            async with aclosing(stock(agent, tool_call, message, *args, **kwargs)) as events:
                async for event in events:
                    yield event

        return _handle_error_tool_call

    def hooked(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        async def call_tool(own: Any, tool_call: Any, *args: Any, **kwargs: Any) -> Any:
            text = _not_there(tool_call)
            async with aclosing(stock(own, tool_call, *args, **kwargs)) as items:
                async for item in items:
                    if [getattr(each, "text", None) for each in item.content] != [text]:
                        yield item
                        continue
                    call = call_of(tool_call.name, tool_call.input, tool_call.id, own, None)
                    chunk, whole = item, responses.ToolResponse(id=tool_call.id)
                    for each in await gate.run_async(call, functools.partial(_given, [chunk])):
                        yield each
                        whole.append_chunk(each)
                    yield whole
                    return

        return call_tool

    gate.patches.wrap(toolkit, "call_tool", hooked)
    agent = import_module("agentscope.agent").Agent
    gate.patches.wrap(agent, "_handle_error_tool_call", told)


async def _given(chunks: Any, arguments: dict[str, Any]) -> Any:
    return chunks


def _not_there(tool_call: Any) -> str:
    return f"ToolNotFoundError: The tool named '{tool_call.name}' doesn't exist."
