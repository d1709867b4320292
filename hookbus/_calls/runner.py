"""Compile the function that runs the calls of one sender. It is compiled at the first call, and
cached until connections change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .._connections.failures import WARNING, log
from .._connections.senders import own_class
from .._hooks.hook import Hook
from .._hooks.placement import Placement
from .._hooks.site import Site
from .plan import Plan, build_plan
from .writer import CompiledPlan, Writer


class Runner:
    """Finds the functions that run the calls of one bus."""

    def __init__(self, bus: Any) -> None:
        self._bus, self._board = bus, bus._switchboard

    def make_run(self, hook: Hook, values: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the function that runs a call with these values, and cache the function for
        similar calls.
        """
        if not hook.is_looked_at:
            self._bus._checks.report_misplaced(hook)
        place = Placement(hook, values)  # created before reading anything that the plan depends on
        run = hook.body
        hook.see(values)
        if place.site.is_owner:
            for other in place.below():
                self._board.discard_plans(other)
            plan, compiled = compile_plan(hook, place.site, place.sender)
            self._meet(plan, place.sender)
            run = run if compiled is None else compiled.run
        place.keep(run)
        return run

    def _meet(self, plan: Plan, sender: Any) -> None:
        """Record that these receivers take part in a call. For the first receiver that can block,
        log the overrides whose calls bypass it.
        """
        closing = None
        for seat in plan.seats():
            seat.receiver.is_met = True
            if closing is None and seat.receiver.on_error == "block":
                closing = seat.receiver
        if closing is not None and plan.site.attribute is not None:
            cls, name = own_class(sender), plan.hook.name
            if name not in self._board.look_at(cls):
                say = partial(log, WARNING)
                self._bus._checks.report_overrides(closing, name, [cls], say)


def compile_plan(hook: Hook, site: Site, sender: Any) -> tuple[Plan, CompiledPlan | None]:
    """Return the plan of a sender and the function that runs its calls. The function is None if
    there are no receivers.
    """
    plan = build_plan(hook, site, sender)
    is_empty = not plan.listened_kinds and not plan.seats()
    return plan, None if is_empty else Writer(plan).compile()
