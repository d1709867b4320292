"""What runs the calls of one sender: written at the first call, and kept until who is connected
changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .._connections.failures import WARNING, log
from .._connections.senders import own_class
from .._hooks.hook import Hook
from .._hooks.overrides import say_overrides
from .._hooks.place import Place
from .._hooks.site import Site
from .plan import Plan, build_plan
from .writer import Writer, Written


def choose(hook: Hook, values: tuple[Any, ...]) -> Callable[..., Any]:
    """Return what runs a call with these values, and have the calls like it find it at once."""
    if not hook.is_looked_at:
        hook.bus._unmet.look(hook)
    place = Place(hook, values)  # before anything is read that its plan depends on
    run = hook.body
    if place.site.is_owner:
        plan, written = written_for(hook, place.site, place.sender)
        _look_for_overrides(plan, place.sender)
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
    return plan, None if plan.is_empty else Writer(plan, sender).written()
