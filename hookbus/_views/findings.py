"""What `report` finds by looking at hooks and receivers themselves: what cannot be meant so."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from types import CodeType, MethodType
from typing import Any

from .._bus import Bus
from .._connections.callables import code_of
from .._connections.instructions import awaits, returns_nothing
from .._connections.options import odd_timeout
from .._connections.phases import OFFERED, PHASES
from .._connections.receiver import Connected
from .._connections.senders import describe, name_of_sender
from .._connections.signal import ORPHANED, HookSignal
from .._hooks.holders import may_call
from .._hooks.hook import Hook
from .._hooks.requirement import check_guarded, may_block
from .._hooks.statics import is_method
from .._hooks.strangers import buses, meant_by
from ..exceptions import HookError, did_you_mean, undeclared


class Note(str):
    """A finding that is worth knowing and no mistake."""


_TAKEN = frozenset(name for names in OFFERED.values() for name in names)


def arguments(hook: Hook) -> tuple[str, ...]:
    """Return what receivers of a hook may ask for."""
    return hook.served(as_method=is_method(hook)).arguments


def of_hook(hook: Hook) -> Iterator[str]:
    """Name the arguments that a receiver cannot always ask for by name."""
    for name in () if hook.is_question else arguments(hook):
        if name in _TAKEN:
            yield Note(
                f"{hook.body.__qualname__} has an argument called {name!r}: where a phase has its "
                f"own, receivers read it as ctx.kwargs[{name!r}]"
            )


def pending(bus: Bus, signal: HookSignal) -> str:
    """Say why nobody emits a signal, as far as that can be seen."""
    if signal.phase is not None and any(
        other._declared(signal.hook) for other in buses() if other is not bus
    ):
        return f"; a hook {signal.hook!r} lives on another bus: connect to the signal of that one"
    names = bus.hook_names()
    meant = [found for name in names if (found := meant_by(signal, name))]
    unknown = "" if signal.phase else f"; the phases are {', '.join(PHASES)}"
    if meant:
        (nearest,) = get_close_matches(signal.name, meant, n=1, cutoff=0)
        return f"{unknown}; did you mean {nearest!r}?"
    questions = [name for name in names if bus._declared(name)[0].is_question]
    if signal.phase or not questions:
        questions = [f"{signal.phase or 'pre'}_{name}" for name in names]
    return (undeclared if signal.phase else did_you_mean)(signal.name, questions)


def unreached(bus: Bus, receiver: Connected, declared: list[Hook]) -> str:
    """Say why a receiver can never fire, where its sender calls none of these hooks."""
    sender = receiver.sender() if receiver.sender is not None else None
    if sender is None or not declared or may_call(sender, declared):
        return ""
    name = declared[0].name
    owners = {cls.__qualname__ for hook in declared if (cls := bus._class_of(hook)) is not None}
    have = f"; {' and '.join(sorted(owners))} has" if owners else ""
    return f": it waits for {describe(sender)}, which has no hookable {name!r}{have}"


def repeated(signal: HookSignal, receivers: Iterable[Connected]) -> Iterator[str]:
    """Name what one line made that is connected several times: it was probably run again."""
    alike: dict[Any, list[Connected]] = {}
    for each in receivers:
        if isinstance(each.place, CodeType) and not isinstance(each.function, MethodType):
            key = each.where, each.name, each.role, each.sender and id(each.sender())
            alike.setdefault(key, []).append(each)
    for same in alike.values():
        if len(same) > 1:
            yield (
                f"{same[0].label} is connected {len(same)} times to {signal.name}: "
                "connect it once, outside of what runs again"
            )


def died(signal: HookSignal) -> Iterator[str]:
    """Name the last receiver that nobody held and that died before it had a turn."""
    count, label = signal._died
    if count:
        more = f", and {count - 1} more" if count > 1 else ""
        yield (
            f"{label} on {signal.name} was held with weak=True and died before its first turn"
            f"{more}: keep it, or leave weak= out"
        )


def of_around(receiver: Connected, it: str, declared: list[Hook]) -> Iterator[str]:
    """Name an around that loses what `call_next` gives."""
    if receiver.lost_results:
        times = "once" if receiver.lost_results == 1 else f"{receiver.lost_results} times"
        yield f"{it} returned None where call_next gave a result, {times}: return it"
    code = code_of(receiver.function)
    hooks = [hook for hook in declared if not hook.is_stream]
    if code is None or not hooks or code.co_flags & (inspect.CO_GENERATOR | 0x200):
        return
    if receiver.is_async and not awaits(code):
        yield f"{it} never awaits what call_next gives: write return await call_next()"
    elif returns_nothing(code) and not all(returns_nothing(_code(hook)) for hook in hooks):
        wait = "await " if receiver.is_async else ""
        yield f"{it} never returns what call_next gives: write return {wait}call_next()"


def _code(hook: Hook) -> CodeType | None:
    return getattr(inspect.unwrap(hook.body), "__code__", None)


def of_itself(receiver: Connected, it: str) -> Iterator[str]:
    """Say what a receiver has found out: the texts that its attribute `findings` gives, if it has
    one.
    """
    told: Callable[[], Iterable[str]] | None = getattr(receiver.function, "findings", None)
    if callable(told):
        try:
            yield from [f"{it}: {each}" for each in told()]
        except Exception as error:  # a stranger's code, and a report is no place to fail
            yield f"{it} could not say what it found: {type(error).__name__}"


def unguarded(bus: Bus, hook: Hook) -> Iterator[str]:
    """Say of a hook with `require_guard=True` whose calls are blocked as no guard watches over them."""
    if hook.given.require_guard:
        try:
            check_guarded([hook], bus._signals_of(hook.name), "pre")
        except HookError as error:
            yield f"guarded, and so blocked: {error}"


def opens(receiver: Connected) -> bool:
    """Tell whether a modifier that fails open has blocked, or makes a block that it could return.
    """
    return receiver.role == "modify" and not receiver.closes and may_block(receiver)


def of_seconds(receiver: Connected, it: str) -> Iterator[str]:
    """Name an observer that holds calls up, and what blocks the event loop."""
    if not receiver.held_up:
        return
    times = "once" if receiver.held_up == 1 else f"{receiver.held_up} times"
    if receiver.role == "observe":
        yield f"{it} held a call up, {times}, for {receiver.longest:.2g} s: give it a timeout="
    else:
        instead = "write an async def, or give it a timeout=, which runs it in a thread"
        yield f"{it} blocked the event loop, {times}, for {receiver.longest:.2g} s: {instead}"


def of_answers(receiver: Connected, it: str) -> Iterator[str]:
    """Say what is odd of what a receiver has answered."""
    for said, count in [*(receiver.remarks or {}).items()]:
        yield f"{it} {said} ({'once' if count == 1 else f'{count} times'})"


def of_timeout(receiver: Connected, it: str) -> Iterator[str]:
    """Name a deadline that was probably meant in milliseconds."""
    if odd := odd_timeout(receiver.options.timeout):
        yield f"{it}: {odd}"


def orphaned(signal: HookSignal) -> Iterator[str]:
    """Name what guarded an object that died before it was ever called."""
    for label, count in [*signal._orphans.items()]:
        times = "" if count == 1 else f", {count} times"
        yield f"{label} on {signal.name} {ORPHANED}{times}"


def of_seals(receiver: Connected, it: str) -> Iterator[str]:
    """Name what may have changed contents that guards had judged."""
    if receiver.seals_broken:
        times = "once" if receiver.seals_broken == 1 else f"{receiver.seals_broken} times"
        yield (
            f"{it} ran between a guard's verdict and a call that was blocked because contents were "
            f"changed in place meanwhile, {times}: return a changed copy from a modifier instead"
        )


def left_behind(bus: Bus, receiver: Connected, signal: HookSignal) -> Iterator[str]:
    """Name the classes that have the name of the one a guard is connected to, and not the guard.
    """
    guarded = receiver.sender() if receiver.role == "guard" and receiver.sender else None
    name = name_of_sender(guarded) if isinstance(guarded, type) else None
    for cls in bus._looked_at.owners() if name else ():
        if name_of_sender(cls) == name and all(r is not receiver for _, r in signal._matching(cls)):
            yield (
                f"{receiver.label} on {signal.name} does not guard another {describe(cls)} of "
                f"{cls.__module__}: if it was made anew, connect the guard to the new one"
            )
