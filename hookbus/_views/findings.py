"""Findings of `report` about hooks and receivers: conditions that are probably mistakes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from types import CodeType, MethodType
from typing import Any

from .._bus import Bus
from .._callables.callables import code_of
from .._callables.instructions import awaits, returns_nothing
from .._checks.coverage import check_guarded, may_block
from .._checks.fit import may_call
from .._checks.misplaced import likely_target
from .._connections.options import odd_timeout
from .._connections.phases import EXTRA_NAMES, PHASES
from .._connections.receiver import Connected
from .._connections.senders import describe, name_of_sender
from .._connections.signal import ORPHANED, HookSignal
from .._ground.errors import did_you_mean, undeclared
from .._hooks.hook import Hook
from .._hooks.statics import is_method
from .._hooks.switchboard import buses
from ..exceptions import HookError


class Note(str):
    """A finding that is not a mistake, but may be useful to know."""


_TAKEN = frozenset(name for names in EXTRA_NAMES.values() for name in names)


def arguments(hook: Hook) -> tuple[str, ...]:
    """Return the arguments of a hook that a receiver can request as parameters."""
    return hook.served(as_method=is_method(hook)).arguments


def of_hook(hook: Hook) -> Iterator[str]:
    """Yield a message for each argument that a receiver cannot request as a parameter in every
    phase.
    """
    for name in () if hook.is_question else arguments(hook):
        if name in _TAKEN:
            yield Note(
                f"{hook.body.__qualname__} has an argument named {name!r}: in a phase with a value "
                f"of that name, receivers must read it as ctx.kwargs[{name!r}]"
            )


def pending(bus: Bus, signal: HookSignal) -> str:
    """Return the probable reason why nothing emits a signal, or an empty string."""
    if signal.phase is not None and any(
        other._switchboard.declared(signal.hook) for other in buses() if other is not bus
    ):
        there = f"a hook {signal.hook!r} is on another bus"
        return f"; {there}: connect to the signal of that bus"
    names = bus.hook_names()
    likely = [found for name in names if (found := likely_target(signal, name))]
    unknown = "" if signal.phase else f"; the phases are {', '.join(PHASES)}"
    if likely:
        (nearest,) = get_close_matches(signal.name, likely, n=1, cutoff=0)
        return f"{unknown}; did you mean {nearest!r}?"
    questions = [name for name in names if bus._switchboard.declared(name)[0].is_question]
    if signal.phase or not questions:
        questions = [f"{signal.phase or 'pre'}_{name}" for name in names]
    return (undeclared if signal.phase else did_you_mean)(signal.name, questions)


def unreached(bus: Bus, receiver: Connected, declared: list[Hook]) -> str:
    """Return the reason why a receiver can never fire, if its sender calls none of these hooks."""
    sender = receiver.sender() if receiver.sender is not None else None
    if sender is None or not declared or may_call(sender, declared):
        return ""
    name = declared[0].name
    classes = [cls for hook in declared if (cls := bus._checks.class_of(hook)) is not None]
    owners = {cls.__qualname__ for cls in classes}
    have = f"; {' and '.join(sorted(owners))} has" if owners else ""
    return f": it is connected to {describe(sender)}, which has no hookable {name!r}{have}"


def repeated(signal: HookSignal, receivers: Iterable[Connected]) -> Iterator[str]:
    """Yield a message for receivers that one line of code connected several times.
    """
    alike: dict[Any, list[Connected]] = {}
    for each in receivers:
        if isinstance(each.place, CodeType) and not isinstance(each.function, MethodType):
            key = each.where, each.name, each.role, each.sender and id(each.sender())
            alike.setdefault(key, []).append(each)
    for same in alike.values():
        if len(same) > 1:
            yield (
                f"{same[0].label} is connected {len(same)} times to {signal.name}: "
                "connect it once, outside of code that runs repeatedly"
            )


def died(signal: HookSignal) -> Iterator[str]:
    """Yield a message if weakly referenced receivers were freed before any call."""
    count, label = signal._lost_uncalled
    if count:
        more = f", and {count - 1} more" if count > 1 else ""
        yield (
            f"{label} on {signal.name} was connected with weak=True and garbage collected before "
            f"any call{more}: keep a reference to it, or leave out weak="
        )


def of_around(receiver: Connected, it: str, declared: list[Hook]) -> Iterator[str]:
    """Yield a message if an around loses the result of `call_next`."""
    if receiver.lost_results:
        times = "once" if receiver.lost_results == 1 else f"{receiver.lost_results} times"
        yield f"{it} returned None, but call_next returned a result, {times}: return the result"
    code = code_of(receiver.function)
    hooks = [hook for hook in declared if not hook.is_stream]
    if code is None or not hooks or code.co_flags & (inspect.CO_GENERATOR | 0x200):
        return
    if receiver.is_async and not awaits(code):
        yield f"{it} never awaits what call_next returns: write return await call_next()"
    elif returns_nothing(code) and not all(returns_nothing(_code(hook)) for hook in hooks):
        wait = "await " if receiver.is_async else ""
        yield f"{it} never returns the result of call_next: write return {wait}call_next()"


def _code(hook: Hook) -> CodeType | None:
    return getattr(inspect.unwrap(hook.body), "__code__", None)


def of_itself(receiver: Connected, it: str) -> Iterator[str]:
    """Yield the findings that a receiver reports in its attribute `findings`, if it has this
    attribute.
    """
    own: Callable[[], Iterable[str]] | None = getattr(receiver.function, "findings", None)
    if callable(own):
        try:
            yield from [f"{it}: {each}" for each in own()]
        except Exception as error:  # the code of a receiver must not make the report fail
            yield f"{it} has an attribute findings that failed: {type(error).__name__}"


def unguarded(bus: Bus, hook: Hook) -> Iterator[str]:
    """Yield a message if the calls to a hook with `require_guard=True` are blocked because it has
    no guard.
    """
    if hook.settings.require_guard:
        try:
            check_guarded([hook], bus._switchboard.signals_of(hook.name), "pre")
        except HookError as error:
            yield f"require_guard=True blocks calls: {error}"


def opens(receiver: Connected) -> bool:
    """Return whether a modifier fails open although it has returned a block or can return one."""
    return receiver.role == "modify" and not receiver.closes and may_block(receiver)


def of_seconds(receiver: Connected, it: str) -> Iterator[str]:
    """Yield a message about an observer that delayed a call or blocked the event loop."""
    if not receiver.held_up:
        return
    times = "once" if receiver.held_up == 1 else f"{receiver.held_up} times"
    if receiver.role == "observe":
        yield f"{it} delayed a call, {times}, for {receiver.longest:.2g} s: give it a timeout="
    else:
        instead = "write an async def, or give it a timeout=, which runs it in a thread"
        yield f"{it} blocked the event loop, {times}, for {receiver.longest:.2g} s: {instead}"


def of_answers(receiver: Connected, it: str) -> Iterator[str]:
    """Yield a message about unusual answers of a receiver."""
    for remark, count in [*(receiver.remarks or {}).items()]:
        yield f"{it} {remark} ({'once' if count == 1 else f'{count} times'})"


def of_timeout(receiver: Connected, it: str) -> Iterator[str]:
    """Yield a message about a deadline that was probably meant in milliseconds."""
    if odd := odd_timeout(receiver.options.timeout):
        yield f"{it}: {odd}"


def orphaned(signal: HookSignal) -> Iterator[str]:
    """Yield a message about each guard whose object was freed before any call."""
    for label, count in [*signal._orphans.items()]:
        times = "" if count == 1 else f", {count} times"
        yield f"{label} on {signal.name} {ORPHANED}{times}"


def of_seals(receiver: Connected, it: str) -> Iterator[str]:
    """Yield a message about a receiver that may have changed contents after the guards checked
    them.
    """
    if receiver.seals_broken:
        times = "once" if receiver.seals_broken == 1 else f"{receiver.seals_broken} times"
        yield (
            f"{it} ran after the guards in a call that was blocked because contents were changed "
            f"in place, {times}: return a changed copy from a modifier instead"
        )


def left_behind(bus: Bus, receiver: Connected, signal: HookSignal) -> Iterator[str]:
    """Yield a message about each class that a guard does not cover although a guarded class has the
    same name.
    """
    guarded = receiver.sender() if receiver.role == "guard" and receiver.sender else None
    name = name_of_sender(guarded) if isinstance(guarded, type) else None
    for cls in bus._switchboard.looked_at.owners() if name else ():
        if name_of_sender(cls) == name and all(r is not receiver for _, r in signal._matching(cls)):
            yield (
                f"{receiver.label} on {signal.name} does not guard another {describe(cls)} of "
                f"{cls.__module__}: if the class was defined again, connect the guard to the new "
                "one"
            )
