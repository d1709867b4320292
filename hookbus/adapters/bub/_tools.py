"""Hooks the runs of Bub's tools as `tool_call`."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from hookbus import Bus, HookError

from .._patches import Patches, carries
from .._vocabulary import hook_tool_call
from ._questions import Listeners

_CALL_ID: Final[ContextVar[str | None]] = ContextVar("hookbus_bub_call_id", default=None)
"""The model's id of the current call, which Bub uses only for tracing."""


def hook_tools(patches: Patches, bus: Bus, module: Any, errors: Any) -> None:
    """Hook the call between `before_tool_call` and `after_tool_call` as `tool_call`."""
    cls, listeners = module.ToolExecutor, Listeners(bus, "tool_call", "tool_call")
    stock, stock_traced = vars(cls)["_invoke_normalized"], vars(cls)["_trace_tool_response"]

    @carries("call", "executor")
    async def tool_call(
        name: str, arguments: dict[str, Any], call_id: str | None, kind: str, tool: Any,
        caller: Any, call: Any, executor: Any,
    ) -> Any:  # fmt: skip
        """Run a tool. Its exceptions were already converted to BubError. Only `arguments` can be
        changed."""
        if arguments is not call.arguments:
            call = module.replace(call, arguments=dict(arguments))
        return await executor(call, call.context)

    async def run_heard_call(executor: Any, tool: Any, call: Any) -> Any:
        agent = None if call.context is None else call.context.state.get("_runtime_agent")
        try:
            return await cls.tool_call(
                call.tool, call.arguments, _CALL_ID.get(), _kind_of(tool), tool, agent, call,
                partial(stock, executor, tool),
            )  # fmt: skip
        except HookError as failure:
            raise errors.BubError(errors.ErrorKind.TOOL, str(failure)) from failure

    def _invoke_normalized(executor: Any, tool_obj: Any, call: Any, context: Any) -> Any:
        if not patches.is_live or listeners.is_quiet():
            return stock(executor, tool_obj, call, context)
        return run_heard_call(executor, tool_obj, call)

    async def _trace_tool_response(
        executor: Any, tool: Any, arguments: Any, context: Any, call_id: Any
    ) -> Any:
        previous = _CALL_ID.get()
        try:
            _CALL_ID.set(call_id)
            return await stock_traced(executor, tool, arguments, context, call_id)
        finally:
            _CALL_ID.set(previous)

    patches.replace(cls, "tool_call", staticmethod(tool_call))
    patches.on_restore(hook_tool_call(cls, "tool_call", bus))
    patches.replace(cls, "_invoke_normalized", _invoke_normalized)
    patches.replace(cls, "_trace_tool_response", _trace_tool_response)


def _kind_of(tool: Any) -> str:
    own = getattr(sys.modules.get("bub.builtin.tools"), "run_subagent", None)
    return "agent" if own is not None and tool.handler is own.handler else "function"
