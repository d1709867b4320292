"""Interrupts the run if a guard requires approval, as the SDK does for tools that need approval.

The SDK can interrupt function tools (including tools of MCP servers and agents as tools), custom
and shell tools, and a patch of one operation. Any other call is blocked until the store has an
answer.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._pauses import Pause, answered
from .._tools import Gate, ToolCall
from ._words import module

if TYPE_CHECKING:
    from hookbus.approvals import Request


class _Call(NamedTuple):
    """A call in progress in the SDK, with its tool, its id, and a function that looks for an
    approval."""

    tool: Any
    call_id: str | None
    look: Callable[[], Any]


_UNDER_WAY: Final[ContextVar[_Call | None]] = ContextVar("hookbus_openai_call", default=None)


class _Waits(Exception):
    """A call requires approval and therefore does not run."""

    def __init__(self, result: Any) -> None:
        super().__init__("the call requires approval")
        self.result = result


class Interrupted(BaseException):
    """Raised if a call of one of the SDK's own tools requires approval. It is a `BaseException`,
    because the SDK would report an `Exception` to the model as a failed tool."""


async def run_or_interrupt(
    run: Awaitable[Any], call: ToolCall, tool_call: Any, context: Any
) -> Any:
    """Await a call to one of the SDK's own tools.

    Args:
        run: the awaitable that runs the call.
        call: the call as receivers see it.
        tool_call: the model's request for the call.
        context: the context of the run, which contains the approvals.

    Raises:
        Interrupted: if the call requires approval.
    """
    item = module("items").ToolApprovalItem(
        agent=call.caller, raw_item=tool_call, tool_name=call.name
    )

    async def look() -> Any:
        said = context.get_approval_status(call.name, call.call_id, current_invocation=item)
        return None if said else item

    _UNDER_WAY.set(_Call(call.tool, call.call_id, look))
    try:
        return await run
    except _Waits:
        _has_not_begun(context, call.call_id)
        raise Interrupted from None


def _has_not_begun(context: Any, call_id: Any) -> None:
    """Remove the SDK's record of a running call."""
    record = context._tool_invocations.get(call_id)
    if record is not None:
        record.executed = False


def hook_approvals(gate: Gate) -> None:
    """Interrupt the run for calls that `BY_RUN_STATE` pauses, if the adapter has an approver."""
    if gate.pause is None:
        return
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
        except _Waits as waits:
            _has_not_begun(own.context_wrapper, tool_call.call_id)
            return waits.result

    patches.replace(executor, "_maybe_execute_tool_approval", approve_first)
    patches.replace(executor, "_execute_single_tool_body", execute_or_wait)


def _interruptible(call: ToolCall) -> _Call | None:
    """Return the record of a call if its run can be interrupted at this call."""
    found = _UNDER_WAY.get()
    is_it = found is not None and found.tool is call.tool and found.call_id == call.call_id
    return found if is_it else None


def _whose(call: ToolCall) -> str | None:
    """Return the id of a call that can be interrupted. Other calls are repeated with a new id after
    they are answered."""
    return call.call_id if _interruptible(call) else None


async def _approved(call: ToolCall, request: Request, is_new: bool) -> Any:
    """Return the approval with which the run was resumed, or interrupt the run."""
    found = _interruptible(call)
    if found is None:
        return None
    waits = await found.look()
    if waits is not None:
        raise _Waits(waits)
    if is_new:  # it, or every call, was approved before this request
        return None
    said = {"id": request.id, "approved": True}
    return answered(said, request, by="the approver of the RunState")


BY_RUN_STATE: Final = Pause(_whose, _approved)
