"""What runs the calls of one sender: written at the first call, and kept until who is connected
changes.
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
    """Return what runs a call with these values, and have the calls like it find it at once."""
    if not hook.is_looked_at:
        hook.bus._strangers.look(hook)
    place = Place(hook, values)  # before anything is read that its plan depends on
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
    """Say what a receiver that blocks does not wholly guard of a method."""
    if plan.site.attribute is not None:
        bus, name, cls = plan.hook.bus, plan.hook.name, own_class(sender)
        closing = (seat.receiver for seat in plan.seats() if seat.receiver.on_error == "block")
        receiver = next(closing, None)
        if receiver is not None and name not in bus._look_at(cls):
            say_overrides(bus, receiver.label, name, [cls], partial(log, WARNING))


def written_for(hook: Hook, site: Site, sender: Any) -> tuple[Plan, Written | None]:
    """Return the plan of a sender and the function that runs its calls; None where nobody is
    connected.
    """
    plan = build_plan(hook, site, sender)
    return plan, None if plan.is_empty else Writer(plan).written()


class Place:
    """Where one call belongs, taken down before its plan is made, so that a plan is never kept that
    came too late.

    Attributes:
        site: what the hookable is for it.
        sender: the sender of the call.
    """

    def __init__(self, hook: Hook, values: tuple[Any, ...]) -> None:
        self._hook, self._own_changed, self._table = hook, hook._own_changed, hook.table
        self._table.mark_used()
        self._first = hook.first_of(values)
        self._own = hook.box_of(self._first[0]) if self._first else None
        # Before anything else is read of them: a plan belongs to the MROs it was made for.
        self._mros = self._now()
        self.site, self.sender = hook.locate(values)

    def keep(self, run: Run) -> None:
        """Have `run` run the calls like this one, until who is connected changes, where that can
        be.
        """
        hook, table = self._hook, self._table
        if not self._first:
            table[ALL] = run
            return
        (first,) = self._first
        by_argument = hook.given.sender is not None
        if not (hook.function_signature.positional or by_argument) or (
            by_argument and type(first) is FunctionType
        ):
            return  # the first of `*args`, or a function: it is looked up each time
        if not all(hold(*line, hook) for line in self._mros):
            return
        if any(mro is not now for (_, mro), (_, now) in zip(self._mros, self._now())):
            return  # a thread or a signal handler has given it another class meanwhile
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
        """Have the methods below this one look again whose calls they run: they may have been
        called as the first of their name, before a class got this one.
        """
        for line in [mro for _, mro in self._mros] if self.site.attribute is not None else ():
            for _, other in hooks_in(line):
                is_below = other is not self._hook and other.name == self._hook.name
                if is_below and other.bus is self._hook.bus and other.runs_calls(*self._first):
                    other.forget()

    def _now(self) -> list[Line]:
        """Return the class of the first argument, and the one that it is, each with its MRO."""
        classes: list[type] = [type(first) for first in self._first]
        classes += [first for first in self._first if is_class(first)]
        return [(cls, mro_of(cls)) for cls in classes]
