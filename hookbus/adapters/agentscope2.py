"""AgentScope 2: every call of a tool through hooks of hookbus.

Its agents have middlewares in place of the hooks of AgentScope 1, which `adapters.agentscope` is
for. A guard is asked inside of all middlewares, and after AgentScope's permissions: what those
refuse is nobody's call. What a tool gives in parts is given on once all of it was judged. A class
of tools that overrides `__call__` in place of `call` goes past the hook.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final

from hookbus import Bus, HookBlocked, default_bus

from ._patches import Between, Patches, Uninstall
from ._tools import Gate, Refusal, Results, ToolCall
from ._vocabulary import depth_of, refusal

SUPPORTED: Final = Between("2.0.6", "2.0.10")
"""Versions of agentscope."""


_CALL_ID: Final[ContextVar[str | None]] = ContextVar("hookbus_agentscope2_call_id", default=None)
"""The number of the call that a toolkit makes."""

_STATE: Final = "_agent_state"
"""What AgentScope gives a tool besides its arguments."""


def install(bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal) -> Uninstall:
    """Let the tools of AgentScope 2 run on hookbus, those there are and those to come.

    `tool_call` (sender: the `ToolBase`) is every call of a tool, by an agent, a toolkit or a
    program, of functions, builtins and MCP. A refused call is a `ToolChunk` with state error, which
    the model reads; the run goes on.

    Args:
        bus: the bus the signals live on.
        say: what a refused call is told as, given the `HookBlocked`; a model reads it.

    Returns:
        A function that puts AgentScope back as it was; twice is once.

    Raises:
        HookError: if agentscope is not installed, is another version, or runs on hookbus already.
    """
    with Patches("agentscope", SUPPORTED) as patches:
        tools = import_module("agentscope.tool")
        import_module("agentscope.agent")  # and the tools that are its own
        gate = Gate(patches, bus, Results(_shown, _packed, _refused), say=say)
        patches.wrap(tools.Toolkit, "call_tool", _numbered)
        patches.wrap(tools.ToolBase, "call", functools.partial(_called, gate))
    return patches.restore


def _numbered(owner: type, stock: Any) -> Any:
    @functools.wraps(stock)
    async def call_tool(toolkit: Any, tool_call: Any, state: Any, *args: Any) -> Any:
        async with aclosing(stock(toolkit, tool_call, state, *args)) as chunks:
            while True:
                token = _CALL_ID.set(tool_call.id)  # for who makes a chunk, not for who reads it
                try:
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
                finally:
                    _CALL_ID.reset(token)
                yield chunk

    return call_tool


def _called(gate: Gate, owner: type, stock: Any) -> Any:
    async def chunks_of(tool: Any, args: Any, kwargs: dict[str, Any]) -> list[Any]:
        more = {_STATE: kwargs.pop(_STATE)} if _STATE in kwargs else {}
        call = ToolCall(tool.name, kwargs, _CALL_ID.get(), _kind(tool), tool)

        async def body(arguments: dict[str, Any]) -> list[Any]:
            return await _whole(stock(tool, *args, **arguments, **more))

        found: list[Any] = await gate.run_async(call, body, depth_of(owner, tool))
        return found

    if inspect.isasyncgenfunction(stock):

        @functools.wraps(stock)
        async def call_in_parts(tool: Any, *args: Any, **kwargs: Any) -> Any:
            for chunk in await chunks_of(tool, args, kwargs):
                yield chunk

        return call_in_parts

    @functools.wraps(stock)
    async def call(tool: Any, *args: Any, **kwargs: Any) -> Any:
        chunks = await chunks_of(tool, args, kwargs)
        return chunks[0] if len(chunks) == 1 else _each(chunks)

    return call


async def _each(chunks: list[Any]) -> AsyncGenerator[Any, None]:
    for chunk in chunks:
        yield chunk


async def _whole(given: Any) -> list[Any]:
    """Return all that a tool gives: one chunk, or those of a generator."""
    if inspect.isawaitable(given):
        given = await given
    if isinstance(given, AsyncGenerator):
        async with aclosing(given) as chunks:
            return [chunk async for chunk in chunks]
    return [*given] if isinstance(given, Generator) else [given]


def _kind(tool: Any) -> str:
    if type(tool).__module__ == "agentscope.agent._structured_output_tool":
        return "output"
    return "mcp" if tool.is_mcp else "function"


def _shown(chunks: list[Any]) -> Any:
    """Return the text that a model reads of a result; blocks as data where not all are text."""
    whole = import_module("agentscope.tool").ToolResponse()
    for chunk in chunks:
        if not isinstance(chunk, import_module("agentscope.tool").ToolChunk):
            return chunks  # which its toolkit refuses
        whole.append_chunk(chunk)
    if all(block.type == "text" for block in whole.content):
        return "\n".join(block.text for block in whole.content)
    return [block.model_dump(mode="json") for block in whole.content]


def _packed(call: ToolCall, raw: list[Any] | None, value: Any) -> list[Any]:
    if isinstance(value, list):
        try:
            return [import_module("agentscope.tool").ToolChunk(content=value)]
        except ValueError:  # no blocks
            pass
    text = value if isinstance(value, str) else import_module("json").dumps(value, default=str)
    return [_chunk(text)]


def _refused(refused: Refusal) -> list[Any]:
    return [_chunk(refused.text, state="error")]


def _chunk(text: str, **more: Any) -> Any:
    block = import_module("agentscope.message").TextBlock(text=text)
    return import_module("agentscope.tool").ToolChunk(content=[block], **more)
