"""The fast path: a plan as generated code, which tells the story as long as it goes as usual.

As usual means that receivers answer None, a patch or a new result, and that nobody raises. At anything else the generated
code stops, and the walk takes over at that place (`_resume`): what a failure or a verdict means is said in one room only.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction, ismethod
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import attrs

from ._codegen import maker
from ._hook import OFFERED, Hook, Site
from ._plan import Phase, Plan, Seat
from ._resume import Resumption
from ._source import Form, Part, Source

MOST_PARTS: Final = 200
"""A plan of more parts than this is walked: to compile it would take too long."""


@attrs.frozen(eq=False)
class Compiled:
    """A plan as a function.

    Attributes:
        run: runs the calls of the plan; it is called as the body is.
        source: its text, in which receivers have short names.
        named: those names, and what they stand for.
    """

    run: Callable[..., Any]
    source: str
    named: dict[str, Any]


def compile_plan(hook: Hook, site: Site, plan: Plan, sender: Any) -> Compiled | None:
    """Return a plan as generated code, or None where it has to be walked."""
    seats = [seat for _, each in plan.phases() for seat in each]
    if hook.is_stream or plan.unaskable or not all(_is_plain(seat, hook) for seat in seats):
        return None
    before = _parts(hook, site, sender, 0, ("pre", plan.pre))
    body = sum(len(part.seats) for part in before)
    arounds = _parts(hook, site, sender, body, ("around", Phase(modify=plan.around)))
    after = _parts(hook, site, sender, body + 1, ("post", plan.post), ("finally", plan.final))
    places = {seat: place for part in (*before, *after) for seat, place in part.places()}
    text = Source(hook, site, Resumption(hook, site, plan, places, body), [*before, *arounds, *after])
    if text.is_ambiguous or len(before) + len(plan.around) + len(after) > MOST_PARTS:
        return None
    text.write(before, body, arounds, after, is_simple=not any(plan.error) and not any(plan.final))
    source, given = str(text), text.given
    return Compiled(maker(source)(**given), source, {name: value for name, value in given.items() if name[-1].isdigit()})


def _is_plain(seat: Seat, hook: Hook) -> bool:
    """Tell whether a seat needs nothing but a call: no clock, no condition, nothing that is found out at its turn."""
    receiver = seat.receiver
    if seat.problem or seat.is_twin or seat.timeout is not None or receiver.when or receiver.options.once:
        return False
    is_coroutine = iscoroutinefunction(receiver.function)
    if seat.phase == "around":
        return receiver.is_async == is_coroutine == hook.is_async and (not receiver.is_weak or ismethod(receiver.function))
    return not (receiver.is_async and receiver.role == "observe") or (is_coroutine and "ctx" not in receiver.asks.names)


def _parts(hook: Hook, site: Site, sender: Any, place: int, *phases: tuple[str, Phase]) -> list[Part]:
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
    step = phase if receiver.role == "modify" else "beside" if receiver.is_async and receiver.role == "observe" else "look"
    return Form(
        step, phase, receiver.asks.written({name: name for name in (*arguments, *OFFERED[phase])}),
        receiver.is_async, "own" if is_own else "weak" if receiver.is_weak else "strong",
    )  # fmt: skip
