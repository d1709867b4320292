"""How the turns of a plan can be written: the ones that are written alike follow each other in one part."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import iscoroutinefunction, ismethod
from itertools import groupby
from operator import itemgetter
from typing import Any

import attrs

from .._connections.phases import OFFERED
from .._hooks.hook import Hook, Site
from .plan import Phase, Seat


@attrs.frozen
class Form:
    """How the turn of a receiver is written.

    Attributes:
        step: what its answer may be: `pre` or `post` for their modifiers, `look` for who may only answer None, `beside` for
            observers that are awaited side by side, `around`.
        phase: the phase it belongs to.
        wanted: what it is called with: pairs of a keyword (empty for a positional argument) and a name of the call.
        is_async: whether it is awaited.
        held: `strong`, `weak`, or `own` for a method of the very sender.
    """

    step: str
    phase: str
    wanted: tuple[tuple[str, str], ...]
    is_async: bool
    held: str

    @property
    def wants_ctx(self) -> bool:
        return any(name == "ctx" for _, name in self.wanted)


@attrs.frozen(eq=False)
class Part:
    """Turns in a row that are written alike; `place` is that of the first."""

    form: Form
    seats: tuple[Seat, ...]
    place: int

    def places(self) -> Iterator[tuple[Seat, int]]:
        yield from zip(self.seats, range(self.place, self.place + len(self.seats)), strict=True)

    def functions(self) -> list[Any]:
        """Return what is called for each seat; for one that is held weakly, what gives it."""
        held = [seat.receiver for seat in self.seats]
        if self.form.held == "weak":
            return [receiver.held for receiver in held]
        return [getattr(r.function, "__func__", None) if self.form.held == "own" else r.function for r in held]


def is_plain(seat: Seat, hook: Hook) -> bool:
    """Tell whether a seat needs nothing but a call: no clock, no condition, nothing that is found out at its turn."""
    receiver = seat.receiver
    if seat.problem or seat.is_twin or seat.timeout is not None or receiver.when or receiver.options.once:
        return False
    is_coroutine = iscoroutinefunction(receiver.function)
    if seat.phase == "around":
        return receiver.is_async == is_coroutine == hook.is_async
    return not (receiver.is_async and receiver.role == "observe") or (is_coroutine and "ctx" not in receiver.asks.names)


def parts_of(hook: Hook, site: Site, sender: Any, place: int, *phases: tuple[str, Phase]) -> list[Part]:
    """Return the turns of these phases in the order they are taken, those in a row that are written alike together."""
    parts: list[Part] = []
    for name, phase in phases:
        beside = sorted(phase.observe, key=lambda seat: seat.receiver.is_async)  # who is awaited begins after the others
        for seats in (phase.modify, phase.guard, beside):
            forms = [_form(hook, site, sender, name, seat) for seat in seats]
            for form, same in groupby(zip(forms, seats, strict=True), key=itemgetter(0)):
                parts.append(Part(form, tuple(seat for _, seat in same), place))
                place += len(parts[-1].seats)
    return parts


def _form(hook: Hook, site: Site, sender: Any, phase: str, seat: Seat) -> Form:
    receiver = seat.receiver
    arguments = (hook.function_signature if site.attribute is None else hook.method_signature).names
    held = receiver.function
    is_own = receiver.is_weak and ismethod(held) and held.__self__ is sender
    step = phase if receiver.role in ("modify", "around") else "look"
    if receiver.is_async and receiver.role == "observe":
        step = "beside"
    return Form(
        step, phase, receiver.asks.written({name: name for name in (*arguments, *OFFERED[phase])}),
        receiver.is_async, "own" if is_own else "weak" if receiver.is_weak else "strong",
    )  # fmt: skip
