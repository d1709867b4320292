"""The function that runs the calls of one sender: compiled at the first call, and cached until
connections change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

from .._connections.failures import WARNING, log
from .._connections.senders import is_class, own_class
from .._hooks.hook import Hook, hooks_in
from .._hooks.identity import ALL, HEAP_TYPE, Line, Run, hold, mro_of
from .._hooks.overrides import say_overrides
from .._hooks.site import Site
from .plan import Plan, build_plan
from .writer import Writer, Written


def choose(hook: Hook, values: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the function that runs a call with these values, and cache it for similar calls."""
    if not hook.is_looked_at:
        hook.bus._strangers.look(hook)
    place = Place(hook, values)  # before reading anything that its plan depends on
    run = hook.body
    hook.see(values)
    if place.site.is_owner:
        place.take_over()
        plan, written = written_for(hook, place.site, place.sender)
        _look_for_overrides(plan, place.sender)
        for seat in plan.seats():
            seat.receiver.is_met = True
        run = run if written is None else written.run
    place.keep(run)
    return run


def _look_for_overrides(plan: Plan, sender: Any) -> None:
    """Warn if a receiver that blocks does not see everything of a method that it guards."""
    if plan.site.attribute is not None:
        bus, name, cls = plan.hook.bus, plan.hook.name, own_class(sender)
        closing = (seat.receiver for seat in plan.seats() if seat.receiver.on_error == "block")
        receiver = next(closing, None)
        if receiver is not None and name not in bus._look_at(cls):
            say_overrides(bus, receiver.label, name, [cls], partial(log, WARNING))


def written_for(hook: Hook, site: Site, sender: Any) -> tuple[Plan, Written | None]:
    """Return the plan of a sender and the function that runs its calls; None if there are no
    receivers.
    """
    plan = build_plan(hook, site, sender)
    return plan, None if plan.is_empty else Writer(plan).written()


class Place:
    """Where one call belongs. It is recorded before the plan is made, so that an outdated plan is
    never cached.

    Attributes:
        site: what the hookable is for this call.
        sender: the sender of the call.
    """

    def __init__(self, hook: Hook, values: tuple[Any, ...]) -> None:
        self._hook, self._own_changed, self._table = hook, hook._own_changed, hook.table
        self._table.mark_used()
        self._first = hook.first_of(values)
        self._own = hook.box_of(self._first[0]) if self._first else None
        # Before anything else of them is read: a plan belongs to the MROs it was made for.
        self._mros = self._now()
        self.site, self.sender = hook.locate(values)

    def keep(self, run: Run) -> None:
        """Cache `run` for calls like this one, until connections change, if that is possible."""
        hook, table = self._hook, self._table
        if not self._first:
            table[ALL] = run
            return
        (first,) = self._first
        by_argument = hook.given.sender is not None
        if not (hook.function_signature.positional or by_argument) or (
            by_argument and type(first) is FunctionType
        ):
            return  # the first item of `*args`, or a function: looked up each time
        if not all(hold(*line, hook) for line in self._mros):
            return
        if any(mro is not now for (_, mro), (_, now) in zip(self._mros, self._now())):
            return  # a thread or signal handler has changed its class meanwhile
        (cls, mro), *of_class = self._mros
        is_function = self.site.attribute is None and not by_argument
        if is_function and any(each.__flags__ & HEAP_TYPE for each, _ in self._mros):
            run = hook._shell.while_function(run, first)
        if self._own is not None:
            self._own.keep(cls, mro, run)
        elif of_class:
            table.keep_of_class(run, hook._shell.by_class, *self._mros)
        elif hook._own_changed is self._own_changed and not hook.has_own(first):
            table.keep(cls, mro, run)

    def take_over(self) -> None:
        """Make the methods below this one look up their plans again: they may have been called as
        the first of their name, before a class got this one.
        """
        for line in [mro for _, mro in self._mros] if self.site.attribute is not None else ():
            for _, other in hooks_in(line):
                is_below = other is not self._hook and other.name == self._hook.name
                if is_below and other.bus is self._hook.bus and other.runs_calls(*self._first):
                    other.forget()

    def _now(self) -> list[Line]:
        """Return the class of the first argument, and the argument if it is a class, with MROs."""
        classes: list[type] = [type(first) for first in self._first]
        classes += [first for first in self._first if is_class(first)]
        return [(cls, mro_of(cls)) for cls in classes]
