"""A guard asks, and the run is interrupted as for a tool that needs approval.

So it is for what runs as a function tool: those of MCP servers and agents as tools among them. What
else is asked about is blocked, until the store has its answer.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._pauses import Pause, answered
from .._tools import Gate, ToolCall
from ._words import module

if TYPE_CHECKING:
    from hookbus.approvals import Request


class _Call(NamedTuple):
    """A call that is under way in the SDK: its tool, its number, and what looks for an approval."""

    tool: Any
    call_id: str
    look: Callable[[], Any]


_UNDER_WAY: Final[ContextVar[_Call | None]] = ContextVar("hookbus_openai_call", default=None)


class _Waits(Exception):
    """Raised where a call would run that waits for a yes."""

    def __init__(self, result: Any) -> None:
        super().__init__("the call waits for a yes")
        self.result = result


def hook_approvals(gate: Gate) -> None:
    """Have calls interrupted that the pause of `BY_RUN_STATE` says wait."""
    home, patches = module("run_internal.tool_execution"), gate.patches
    executor = patches.look_for(home, "_FunctionToolBatchExecutor")
    approve = patches.look_for(executor, "_maybe_execute_tool_approval")
    execute = patches.look_for(executor, "_execute_single_tool_body")

    @functools.wraps(approve)
    async def approve_first(own: Any, *, func_tool: Any, tool_call: Any, **given: Any) -> Any:
        async def look() -> Any:
            asking = copy.copy(func_tool)
            asking.needs_approval = True
            afresh = dict.fromkeys(given.keys() & {"approval_evaluation"})
            found = await approve(own, func_tool=asking, tool_call=tool_call, **given | afresh)
            if found is not None:
                found.tool = func_tool
            return found

        _UNDER_WAY.set(_Call(func_tool, tool_call.call_id, look))
        return await approve(own, func_tool=func_tool, tool_call=tool_call, **given)

    @functools.wraps(execute)
    async def execute_or_wait(own: Any, *, tool_call: Any, **given: Any) -> Any:
        try:
            return await execute(own, tool_call=tool_call, **given)
        except _Waits as waits:  # it has not begun, whatever the SDK has noted
            own.context_wrapper._tool_invocations[tool_call.call_id].executed = False
            return waits.result

    patches.replace(executor, "_maybe_execute_tool_approval", approve_first)
    patches.replace(executor, "_execute_single_tool_body", execute_or_wait)


async def _approved(call: ToolCall, request: Request, is_new: bool) -> Any:
    """Return the approval that the run was resumed with, or have it interrupted."""
    found = _UNDER_WAY.get()
    if found is None or found.tool is not call.tool or found.call_id != call.call_id:
        return None  # no run makes this call
    waits = await found.look()
    if waits is not None:
        raise _Waits(waits)
    if is_new:  # somebody approved of it, or of all calls, before this was asked
        return None
    said = {"id": request.id, "approved": True}
    return answered(said, request, by="whoever approved the RunState")


BY_RUN_STATE: Final = Pause(lambda call: call.call_id, _approved)
