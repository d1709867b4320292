"""Strands Agents: hooks around every call to a tool, a model and an agent.

`tool_call` (sender: the `AgentTool`) covers every `stream` of a tool, by an agent, a swarm, a graph
or `agent.tool`, after all changes by hooks and middleware. The parts before the result are passed
on immediately. `model_call` (sender: the `Model`) covers every `stream` of a model; its result is a
dict with `content`, and `model_stream` gets the events. `agent_stream` (sender: the `Agent`) covers
`stream_async`, which every call of an agent uses. A blocked call returns a tool result with status
error.

Not covered: direct calls to a decorated function, direct calls to a model's `structured_output`,
and tools that the model's provider runs. Receivers of `tool_call` do not see the parts that a tool
yields before its result. If a guard blocks the result of a swarm's hand-off, the hand-off has
already happened.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from importlib import import_module
from typing import Any, Final

from ._answers import STRANDS
from ._injected import split
from ._patches import Between
from .kit import Adapter, Gate, Refusal, ToolCall, kind_by_class

SUPPORTED: Final = Between("1.45.0", "1.62.0")
"""Versions of strands-agents."""

_kind_by_class: Final = kind_by_class({
    "*.MCPAgentTool": "mcp", "*._AgentAsTool": "agent", "*.Subagent": "agent",
    "*.StructuredOutputTool": "output",
})  # fmt: skip


# -- results ---------------------------------------------------------------------------------------


def _events() -> Any:
    return import_module("strands.types._events")


def _result(last: Any) -> Any:
    """Return a tool's last part, which is the result or contains the result."""
    return getattr(last, "tool_result", last)


def _shown(raw: Any) -> Any:
    """Return the text of a result that contains only text, and otherwise its content and structured
    content."""
    if not isinstance(raw, dict) or "content" not in raw:
        return raw
    more = {key: each for key, each in raw.items() if key not in ("toolUseId", "status")}
    blocks = raw["content"]
    if len(more) > 1:
        return more
    if all([*block] == ["text"] for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks[0]["json"] if [[*block] for block in blocks] == [["json"]] else blocks


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if isinstance(value, dict) and "content" in value:
        held = value
    elif isinstance(value, list) and isinstance(_shown(raw), list):
        held = {"content": value}
    else:
        held = {"content": [{"text": value} if isinstance(value, str) else {"json": value}]}
    status = raw.get("status", "success") if isinstance(raw, dict) else "success"
    return {"status": status, **held, "toolUseId": call.call_id}


def _refused(refused: Refusal) -> Any:
    call = refused.call
    if call.context is not None:  # a denied output was already taken
        call.context.results.pop(call.call_id, None)
    return {
        "toolUseId": call.call_id,
        "status": "error",
        "content": [{"text": refused.text}],
    }


# -- tools -----------------------------------------------------------------------------------------


class _Interrupted(Exception):
    """A tool waits for a person's answer and has no result yet."""


_ADAPTER: Final = Adapter(
    "strands-agents", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.strands",
)  # fmt: skip
_ADAPTER.words("tool_call")
_ADAPTER.pauses(_Interrupted, "strands.interrupt:InterruptException")


class _Stream:
    """A running tool call, whose task is not the task that reads the parts.

    The tool runs in the same task as its receivers, and continues when the reader requests another
    part.
    """

    def __init__(self, gate: Gate, depth: int, call: ToolCall, run: Callable[..., Any]) -> None:
        self._gate, self._depth, self._call, self._run = gate, depth, call, run
        self._parts: asyncio.Queue[Any] = asyncio.Queue()
        self._ended, self._last = object(), None

    async def parts(self) -> AsyncGenerator[Any, None]:
        """Yield the parts of the tool, and then the result of the hooked call."""
        task = asyncio.ensure_future(self._gate.run_async(self._call, self._body, self._depth))
        task.add_done_callback(lambda _: self._parts.put_nowait(self._ended))
        try:
            while (part := await self._parts.get()) is not self._ended:
                yield part
                self._parts.task_done()
            result = await task
            if result is not _result(self._last):
                yield _events().ToolResultEvent(result)
            elif self._last is not None:
                yield self._last
        except _Interrupted:
            yield self._last
        finally:
            if task.cancel():
                await asyncio.wait({task})

    async def _body(self, arguments: dict[str, Any]) -> Any:
        events = _events()
        async with aclosing(self._run(arguments)) as parts:
            async for part in parts:
                before, self._last = self._last, part
                if before is not None:
                    await self._give(before)
                if isinstance(part, events.ToolInterruptEvent):
                    raise _Interrupted
                if isinstance(part, events.ToolResultEvent):
                    break
                if isinstance(part, events.ToolStreamEvent):
                    self._last = None
                    await self._give(part)
        return _result(self._last)

    async def _give(self, part: Any) -> None:
        self._parts.put_nowait(part)
        await self._parts.join()


@_ADAPTER.also
def _hook_tools(gate: Gate) -> None:
    def streamed(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        def stream(tool: Any, tool_use: Any, invocation_state: Any, **options: Any) -> Any:
            # A program that calls `agent.tool` may pass the agent, or its context.
            found = split(tool_use.get("input") or {}, lambda: ("agent", _context_of(tool)))

            def run(arguments: dict[str, Any]) -> Any:
                use = {**tool_use, "input": found.whole(arguments)}
                return stock(tool, use, invocation_state, **options)

            call = ToolCall(
                tool_use["name"], found.shown, tool_use.get("toolUseId"),
                _kind(tool, tool_use["name"]), tool, (invocation_state or {}).get("agent"),
                options.get("structured_output_context"),
            )  # fmt: skip
            return _Stream(gate, type(tool).__mro__.index(owner), call, run).parts()

        return stream

    base = import_module("strands.types.tools").AgentTool
    gate.patches.wrap(base, "stream", streamed)


def _context_of(tool: Any) -> str:
    return getattr(getattr(tool, "_metadata", None), "_context_param", None) or "tool_context"


@_ADAPTER.wrap("strands.tools.executors._executor:_run_tool", optional=True)
def _run_tool(gate: Gate, stock: Any, ctx: Any, *args: Any, **kwargs: Any) -> Any:
    """Run the hooks for calls to tools that an agent does not have. Older releases answer such
    calls in another function."""
    if ctx.tool is not None:
        return stock(ctx, *args, **kwargs)
    use = ctx.tool_use
    call = ToolCall(use["name"], dict(use.get("input") or {}), use.get("toolUseId"), "unknown",
                    ctx.agent, ctx.agent)  # fmt: skip
    return _Stream(gate, 0, call, lambda arguments: stock(ctx, *args, **kwargs)).parts()


def _kind(tool: Any, name: str) -> str:
    return "handoff" if name == "handoff_to_agent" else _kind_by_class(tool)


# -- models and agents -----------------------------------------------------------------------------

_ADAPTER.model().stream(
    "strands.models.model:Model.stream", **STRANDS._asdict(), is_async=True
)
_ADAPTER.run("strands.agent.agent:Agent.stream_async", input="prompt", stream=True)

install = _ADAPTER.install
