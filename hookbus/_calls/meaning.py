"""Interpret the answers of receivers. Every kind of function uses the same implementation.

The template of a call (`story.txt`) handles the usual cases inline. It calls this module in all
other cases. A function of this module raises to end the call, and returns to continue the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType, CoroutineType, NoneType
from typing import Any, Final, NoReturn

from .._callables.parameters import close_unawaited, is_awaitable, not_awaited
from .._connections.failures import is_of_engine
from .._connections.verdicts import VERDICTS, Ask, Block, Drop, Replace
from .._contents.read_only import read_only
from .._ground.errors import article, name_of_class
from .._hooks.ports import advice_of
from ..exceptions import HookError
from .context import Call, ReadOnly
from .emitting import ONLY_A_MODIFIER, emit_change, emit_failed
from .outcome import block, emit_block, on_error
from .plan import Seat

DROPPED: Final = object()
"""Represents an item that does not reach the consumer."""

PLAIN: Final = frozenset({str, int, float, bytes, dict, list, tuple, set, type(None)})
"""Types of answers that need no second check: neither verdicts nor awaitables. A bool is not
included, because it may be meant as a verdict on the result.
"""

READY: Final = PLAIN.union(VERDICTS, [bool])
"""Types of answers that are never awaitable."""


def apply_pre_answer(
    call: Call, seat: Seat, answer: Any, values: tuple[Any, ...], draft: Any = None
) -> tuple[Any, ...]:
    """Return the arguments after a `pre` modifier. The arguments result from the modifier's draft
    and its answer.
    """
    signature, kind = call.plan.signature, type(answer)
    before = dict(zip(signature.names, values))
    after = dict(before if draft is None else draft)
    if kind is dict:  # the usual answer
        after.update(answer)
        is_known = draft is None and len(after) == len(before)
        if not is_known or signature.star or signature.double_star:
            signature.check(after)
        return _changed_values(call, seat, before, after)
    if issubclass(kind, Mapping):
        after.update(answer)
    elif issubclass(kind, Ask):
        block_asking(call, seat, answer)
    elif not issubclass(kind, (NoneType, Block, Replace)):
        wrong_return(seat, answer, "None, a mapping of arguments, Replace(result) or Block(reason)")
    if issubclass(kind, Replace):
        check_items(call, seat, answer)
    signature.check(after)
    if issubclass(kind, Block):
        block(call, seat, answer)
    changed = _changed_values(call, seat, before, after)
    if issubclass(kind, Replace):
        emit_change(call, seat, "result", None, answer.result)
    return changed


def apply_patch(
    call: Call, seat: Seat, values: tuple[Any, ...], patch: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return the arguments after a patch. Check the patch, and emit the changes."""
    signature = call.plan.signature
    before = dict(zip(signature.names, values))
    after = {**before, **patch}
    signature.check(after)
    return _changed_values(call, seat, before, after)


def _changed_values(
    call: Call, seat: Seat, before: dict[str, Any], after: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the values of the changed arguments. Record and emit the changes."""
    shown, is_approval = call.plan.hook.settings.read_only, seat.receiver.role == "guard"
    for name, value in before.items():
        if after[name] is not value:
            may_lose = not is_approval and issubclass(type(value), dict)  # an approver may remove
            if may_lose and (advice := advice_of(call.plan.hook.bus)) is not None:
                advice.with_keys(seat, name, value, after[name])
            if name in shown:  # its contents are read-only for receivers
                after[name] = read_only(after[name], name)
    values = []
    for name, value in before.items():
        values.append(after[name])
        if after[name] is not value:
            emit_change(call, seat, name, value, after[name])
    return tuple(values)


def apply_post_answer(
    call: Call, seat: Seat, answer: Any, before: Any, index: int | None = None
) -> Any:
    """Return the value after an answer in `post` or `item`, or `DROPPED`."""
    after = answer if type(answer) in PLAIN else value_of_answer(call, seat, answer)
    is_turned = type(answer) is bool and type(before) is not bool
    if is_turned and (advice := advice_of(call.plan.hook.bus)) is not None:
        advice.note_bool(seat, before)
    if after is not before:
        dropped = after is DROPPED
        shown, name = None if dropped else after, "item" if seat.phase == "item" else "result"
        emit_change(call, seat, name, before, shown, index, dropped)
    return after


def value_of_answer(call: Call, seat: Seat, answer: Any) -> Any:
    """Return the value that an answer in `post`, in `item` or of an around represents, or
    `DROPPED`.
    """
    kind = type(answer)
    if issubclass(kind, Block):
        block(call, seat, answer)
    if issubclass(kind, Ask):
        block_asking(call, seat, answer)
    is_item = seat.phase == "item"
    is_drop = issubclass(kind, Drop) and not is_item
    if is_verdict_class(answer) or is_drop:
        new = "the new item, Drop()" if is_item else "the new result, Replace(result)"
        wrong_return(seat, answer, f"None, {new} or Block(reason)")
    if issubclass(kind, Drop):
        return DROPPED
    if not call.plan.hook.is_async:
        not_to_await(answer)
    elif kind is CoroutineType and seat.phase == "around" and _is_attempt(answer.cr_code):
        close_unawaited(answer)
        write = "write return await call_next()"
        raise HookError(f"{seat.receiver.label} returned call_next() without await; {write}")
    return answer.result if issubclass(kind, Replace) else answer


def block_asking(call: Call, seat: Seat, answer: Ask) -> NoReturn:
    """Block the call, because a receiver that is not a `pre` guard returned `Ask`. hookbus does not
    send such an answer to an approver, and the call must not continue as if it were approved.
    """
    try:
        wrong_return(seat, answer, "None or Block(reason)")
    except HookError as error:
        call.said = "failed"
        said = emit_failed(call, seat, error, "blocked")
    block(call, seat, Block(f"{seat.receiver.role} failed: {said}"))


def apply_guard_answer(call: Call, seat: Seat, answer: Any) -> None:
    """Apply the answer of a guard. If the answer is invalid, the guard has failed, and the call is
    blocked.
    """
    if issubclass(type(answer), Block):
        if not seat.receiver.options.shadow:
            block(call, seat, answer)
        emit_block(call, seat, answer)
        return
    try:
        wrong_return(seat, answer, "None or Block(reason)")
    except Exception as error:  # the answer may be any object, so its own code may raise
        on_error(call, seat, error)


def check_observer_answer(call: Call, seat: Seat, answer: Any) -> None:
    """Raise HookError if an observer returns a verdict or a patch. Ignore any other answer."""
    kind = type(answer)
    if kind in PLAIN and (kind is not dict or seat.phase != "pre"):
        return
    is_patch = seat.phase == "pre" and issubclass(kind, Mapping)
    if issubclass(kind, VERDICTS) or is_verdict_class(answer) or is_patch:
        instead = "an observer cannot decide anything; connect it as a guard or a modifier"
        wrong_return(seat, answer, f"nothing: {instead}")
    if not call.plan.hook.is_async:
        not_to_await(answer)


def _is_attempt(code: CodeType) -> bool:
    """Return whether `call_next` created a coroutine with this code."""
    return is_of_engine(code) and code.co_name.startswith("next_")


def apply_rescue(call: Call, seat: Seat, answer: Any) -> Replace:
    """Check the answer of an `error` receiver, and return the verdict that rescues the call."""
    if not issubclass(type(answer), Replace):
        wrong_return(seat, answer, "None or Replace(result)")
    check_items(call, seat, answer)
    emit_change(call, seat, "result", None, answer.result)
    rescue: Replace = answer
    return rescue


def check_items(call: Call, seat: Seat, verdict: Replace) -> None:
    """Raise HookError if the hook is a stream and the result of a `Replace` is not iterable."""
    hook = call.plan.hook
    if hook.is_stream and hook.whole is None:
        kinds = ("__iter__", "__aiter__") if hook.is_async else ("__iter__",)
        if not any(hasattr(type(verdict.result), kind) for kind in kinds):
            wrong_return(seat, verdict.result, "Replace(iterable): the hook is a stream")


def check_untampered(seat: Seat, view: ReadOnly, answer: Any = None) -> None:
    """Raise HookError if a receiver wrote to read-only arguments."""
    if view.tampered:
        if is_awaitable(answer):
            close_unawaited(answer)
        is_around = seat.phase == "around"
        instead = "; write call_next(name=value)" if is_around else f", {ONLY_A_MODIFIER}"
        raise HookError(f"{seat.receiver.label} wrote to ctx.kwargs{instead}")


def wrong_return(seat: Seat, value: Any, allowed: str) -> NoReturn:
    not_to_await(value)
    kind = article(name_of_class(type(value)))
    if is_verdict_class(value):
        kind = f"the class {name_of_class(value)} itself"
    elif issubclass(type(value), Ask):
        only = f"only a guard of pre_{seat.signal.hook} may return Ask"
        allowed = f"{allowed}; {only}: connect it there with role='guard'"
    raise HookError(f"{seat.receiver.label} returned {kind}; return {allowed}")


def is_verdict_class(value: Any) -> bool:
    """Return whether a value is a verdict class and not an instance."""
    return issubclass(type(value), type) and issubclass(value, VERDICTS)


def not_to_await(value: Any, who_gave: str = "it returned") -> Any:
    """Return a value in a plain call. Raise HookError if the value is awaitable."""
    if not is_awaitable(value):
        return value
    but = "but the hook is a plain def, which cannot await it: write a plain def receiver"
    return not_awaited(value, f"{who_gave} an awaitable, {but}")


async def await_if_needed(answer: Any) -> Any:
    """Return the answer of a plain receiver of an async hook. If the answer is awaitable, await it
    first.
    """
    return await answer if is_awaitable(answer) else answer


def reject_late_awaitable(answer: Any) -> Any:
    """Return an answer while a coroutine is being closed. Raise HookError for an awaitable, because
    a closing coroutine cannot await anything.
    """
    return not_awaited(answer, "the call is being closed, so it cannot await anything anymore")


def raise_problem(seat: Seat) -> NoReturn:
    """Raise HookError with the reason why a receiver does not suit this hook. The receiver then
    fails.
    """
    raise HookError(seat.problem or "it guards a phase that this hook does not have")


def claimed(seat: Seat) -> bool:
    """Claim the only call of a receiver with `once=True`. Return False if another call has claimed
    it.
    """
    if not seat.receiver.claim():
        return False
    seat.signal._drop(seat.receiver)
    return True
