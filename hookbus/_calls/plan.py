"""The plan for the calls of one sender: its receivers in an ordered, immutable list for each phase.
Calls and `explain` read the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import ismethod
from typing import Any, Final, NamedTuple

import attrs

from .._callables.callables import place_of
from .._connections.options import options_of
from .._connections.order import in_order
from .._connections.phases import PHASES, Served
from .._connections.receiver import Connected
from .._connections.senders import describe, description_of
from .._connections.signal import HookSignal
from .._connections.verdicts import Block
from .._hooks.hook import Hook
from .._hooks.signature import Signature
from .._hooks.site import Site
from .._hooks.statics import inherited
from ..events import default_fields


@attrs.frozen(eq=False)
class Seat:
    """The position of one receiver in a plan.

    Attributes:
        receiver: the connection of the receiver. A callable has several seats if it is connected in
            several scopes with different options.
        problem: the reason why the receiver does not suit this hook, if the reason was unknown at
            the connection. In that case, the receiver fails according to its role.
        timeout: the receiver's own deadline in seconds, or the default of the bus.
        is_muted_somewhere: whether any task or thread has muted the signal. In that case, each call
            must check.
        holding: how the code of a call refers to the receiver: `strong`, `weak`, or `own` for a
            method of the sender. The sender exists at least as long as its calls.
    """

    receiver: Connected
    signal: HookSignal
    phase: str
    timeout: float | None
    problem: str | None = None
    is_muted_somewhere: bool = False
    holding: str = "strong"

    @property
    def conditions(self) -> set[str]:
        """The conditions of `story` under which a call may skip the receiver."""
        receiver, is_weak = self.receiver, self.holding == "weak"
        may_skip = is_weak or receiver.when or receiver.options.once or self.is_muted_somewhere
        if self.problem is not None or not may_skip:
            return set()
        return {"conditional", "weak"} if is_weak else {"conditional"}


class Phase(NamedTuple):
    """The seats of one phase by role, in order within each role. Arounds are in `modify`."""

    modify: tuple[Seat, ...] = ()
    guard: tuple[Seat, ...] = ()
    observe: tuple[Seat, ...] = ()


@attrs.frozen(eq=False)
class Plan:
    """All receivers that run around a hookable for one sender, and the facts that its calls need.

    Attributes:
        unaskable: the guards of a phase that this hookable does not have. They block every call,
            because they cannot check the call.
        listened_kinds: the kinds of events that have a listener.
        shows_values: whether events contain values.
        signature: the parameters that receivers may have. For a method, they do not include the
            first parameter.
        answers: the receivers of a question.
        turns: for each receiver, a function that calls only this receiver. It is needed if a mode
            selects receivers.
        describe_sender: a function that returns the description of the sender for events.
        templates: for each kind of event with a listener, the fields that are the same in every
            call.
    """

    hook: Hook
    site: Site
    phases: dict[str, Phase]
    unaskable: tuple[Seat, ...]
    listened_kinds: frozenset[Any]
    shows_values: bool
    signature: Signature
    answers: tuple[Seat, ...] = ()
    describe_sender: Callable[[Any], str] = describe
    turns: dict[Seat, Any] = attrs.field(factory=dict)
    templates: dict[Any, dict[str, Any]] = attrs.field(factory=dict)

    def seats(self) -> tuple[Seat, ...]:
        """Return the seat of every receiver."""
        seats = self.unaskable
        for phase in self.phases.values():
            seats += phase.modify + phase.guard + phase.observe
        return seats + self.answers


NO_PHASE: Final = Phase()


def build_plan(hook: Hook, site: Site, sender: Any, *, is_late: bool = False) -> Plan:
    """Determine the receivers that run for this sender. A class represents any of its instances.

    Args:
        is_late: whether the call has begun already. Then `require_guard=True` has been checked.
    """
    bus = hook.bus
    more: list[Any] = []
    if site.attribute is None or not (hook.is_alone and site.is_owner):
        site, more = inherited(hook, site, sender)
    is_method = site.attribute is not None
    served = hook.served(as_method=is_method)
    phases: dict[str, Phase] = dict.fromkeys(PHASES, NO_PHASE)
    for signal in bus._switchboard.signals_of(hook.name):
        phases[signal.phase] = _phase(hook, served, sender, signal, more)
    missing = "post" if hook.is_stream else "item"
    unaskable = phases[missing].guard
    if hook.is_stream:
        phases["post"] = phases["post"]._replace(guard=())
    else:
        phases["item"] = NO_PHASE
    guards = phases["pre"].guard
    if site.is_guarded and not is_late and not any(seat.receiver.binds for seat in guards):
        phases["pre"] = phases["pre"]._replace(guard=(*guards, _closing_seat(hook)))
    signature = hook.method_signature if is_method else hook.function_signature
    listened_kinds = bus.events.listened_kinds
    return Plan(
        hook, site, phases, unaskable, listened_kinds, bus.values, signature,
        describe_sender=description_of(sender, is_named=hook.settings.sender is not None),
        templates={kind: _template(kind, hook.name, signature.names) for kind in listened_kinds},
    )  # fmt: skip


def _template(kind: Any, hook: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a kind of event that are the same in every call."""
    known: dict[str, Any] = {"hook": hook, "arguments": names}
    return {name: known.get(name, each) for name, each in default_fields(kind).items()}


def _closing_seat(hook: Hook) -> Seat:
    """Return the seat of a guard that blocks every call, because the hook has `require_guard=True`
    but no guard.
    """
    signal = hook.bus.signal(f"pre_{hook.name}")

    def block_unguarded(_: object) -> Block:
        return Block(
            f"{hook.name} has require_guard=True, but no guard covers this call: connect a guard "
            f"to {signal.name}, for the class or ANY, enforced and without when="
        )

    return seat_of_guard(signal, block_unguarded, hook.body, name="require_guard=True")


def seat_of_guard(
    signal: HookSignal, function: Callable[..., Any], written: Any, **options: Any
) -> Seat:
    """Return the seat of an internal guard. Messages show the location of `written` as the location
    of this guard.
    """
    receiver = Connected(signal, function, None, options_of(role="guard", **options), 0)
    receiver.place = place_of(written)
    return Seat(receiver, signal, "pre", receiver.options.timeout)


def _phase(
    hook: Hook, served: Served, sender: Any, signal: HookSignal, more: list[Any]
) -> Phase:  # fmt: skip
    """Return the seats of the connections that match a sender, followed by the seats of further
    senders.
    """
    by_role: dict[str, list[tuple[float, Connected]]] = {}
    seen: set[int] = set()
    for far, each in enumerate((sender, *more)):
        for distance, receiver in signal._matching(each):
            if id(receiver) not in seen:
                seen.add(id(receiver))
                role = "modify" if receiver.role == "around" else receiver.role
                by_role.setdefault(role, []).append((distance + far, receiver))
    seats: dict[str, tuple[Seat, ...]] = {}
    for role, found in by_role.items():
        seats[role] = seats_of(hook, signal, found, served, sender)
    return Phase(**seats)


def seats_of(
    hook: Hook, signal: HookSignal, found: Iterable[tuple[float, Connected]], served: Served,
    sender: Any = None,
) -> tuple[Seat, ...]:  # fmt: skip
    """Return the seats of receivers at a hook, in order. Each receiver is passed together with the
    distance of its scope.
    """
    seats: list[Seat] = []
    for receiver in in_order(found):
        # The default deadline of the bus applies only to receivers that a call waits for.
        has_default = receiver.role != "around" and not receiver.options.background
        timeout = receiver.options.timeout or (hook.bus.timeout if has_default else None)
        problem = receiver.problem_with(served)
        is_muted = bool(signal._muted_by) and receiver.role != "guard"
        holding = "strong"
        if receiver.is_weak:
            held = receiver.function
            is_own = ismethod(held) and held.__self__ is sender and receiver.owner is sender
            holding = "own" if is_own else "weak"
        phase = signal.phase or ""
        seats.append(Seat(receiver, signal, phase, timeout, problem, is_muted, holding))
    return tuple(seats)
