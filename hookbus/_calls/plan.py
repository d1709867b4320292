"""Who runs for one sender: one ordered, frozen list per phase. The call and `explain` read the same plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from .._connections.order import in_order
from .._connections.phases import PHASES
from .._connections.receiver import Receiver
from .._connections.signal import HookSignal
from .._hooks.hook import Hook, Site


@attrs.frozen(eq=False)
class Seat:
    """One receiver's place in a plan.

    Attributes:
        problem: why it cannot serve this hook, where that was not known when it was connected: it fails by its role.
        timeout: its deadline in seconds, its own or the bus's.
        is_twin: whether the same receiver sits further ahead and may have answered already.
    """

    receiver: Receiver
    signal: HookSignal
    phase: str
    timeout: float | None
    problem: str | None = None
    is_twin: bool = False


@attrs.frozen(eq=False)
class Phase:
    """The seats of one phase by role, each in order; an around sits under `modify`."""

    modify: tuple[Seat, ...] = ()
    guard: tuple[Seat, ...] = ()
    observe: tuple[Seat, ...] = ()

    def __iter__(self) -> Iterator[Seat]:
        yield from self.modify
        yield from self.guard
        yield from self.observe


@attrs.frozen(eq=False)
class Plan:
    """Everything that runs around one hookable for one sender.

    Attributes:
        unaskable: guards of a phase this hookable does not have. They close: a guard that cannot look has not said yes.
        awaits: whether anybody is awaited in whom a cancellation may get lost. Then who swallows one is watched; a call of
            which nobody is awaited but the method leaves the count to the call around it, as without hooks.
    """

    pre: Phase
    around: tuple[Seat, ...]
    item: Phase
    post: Phase
    error: Phase
    final: Phase
    unaskable: tuple[Seat, ...]
    is_empty: bool
    awaits: bool

    def phases(self) -> Iterator[tuple[str, tuple[Seat, ...]]]:
        yield "pre", tuple(self.pre)
        yield "around", self.around
        yield "item", tuple(self.item)
        yield "post", tuple(self.post)
        yield "error", tuple(self.error)
        yield "finally", tuple(self.final)

    def has_own(self, sender: Any) -> bool:
        """Tell whether someone in it is connected to this very sender."""
        seats = (*self.unaskable, *(seat for _, each in self.phases() for seat in each))
        return any((ref := seat.receiver.sender) is not None and ref() is sender for seat in seats)


NO_PHASE: Final = Phase()


def build_plan(hook: Hook, site: Site, sender: Any) -> Plan:
    """Settle who runs for this sender; a class stands for any of its instances."""
    signals = hook.bus._signals_of(hook.name)
    seats = {signal.phase: _seats(hook, site, sender, signal) for signal in signals}
    phases = {name: seats.get(name, NO_PHASE) for name in PHASES}
    missing = "post" if hook.is_stream else "item"
    unaskable = phases[missing].guard
    if hook.is_stream:
        phases["post"] = attrs.evolve(phases["post"], guard=())
    else:
        phases["item"] = NO_PHASE
    asked = (seat for name in ("pre", "post", "finally") for seat in phases[name])
    return Plan(
        pre=phases["pre"], around=phases["around"].modify, item=phases["item"], post=phases["post"],
        error=phases["error"], final=phases["finally"], unaskable=unaskable,
        is_empty=not unaskable and not any(seat for phase in phases.values() for seat in phase),
        awaits=bool(phases["around"].modify) or any(seat.receiver.is_async for seat in asked),
    )  # fmt: skip


def _seats(hook: Hook, site: Site, sender: Any, signal: HookSignal) -> Phase:
    arguments = (hook.function_signature if site.attribute is None else hook.method_signature).names
    by_role: dict[str, list[tuple[float, Receiver]]] = {}
    for distance, receiver in signal.matching(sender):
        by_role.setdefault("modify" if receiver.role == "around" else receiver.role, []).append((distance, receiver))
    return Phase(**{
        role: tuple(
            Seat(r, signal, signal.phase or "", r.options.timeout or hook.bus.timeout,
                 r.problem_with(hook.name, hook.colour, arguments), is_twin)
            for r, is_twin in _without_doubles(in_order(found))
        )
        for role, found in by_role.items()
    })  # fmt: skip


def _without_doubles(receivers: list[Receiver]) -> Iterator[tuple[Receiver, bool]]:
    """Leave out a receiver that sits further ahead already; say so where that one may not answer for it.

    One with a `when=` may not be asked, and one that fails open does not stand for one that closes.
    """
    ahead: dict[tuple[int, ...], list[Receiver]] = {}
    for receiver in receivers:
        before = ahead.setdefault(receiver.key, [])
        if not any(r.when is None and (r.closes or not receiver.closes) for r in before):
            yield receiver, bool(before)
        before.append(receiver)
