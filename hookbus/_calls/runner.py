"""What runs the calls of one sender: written at the first call, and kept until who is connected
changes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from .._connections.senders import own_class
from .._hooks.hook import Hook
from .._hooks.overrides import log_overrides
from .._hooks.site import Site
from .plan import Plan, build_plan
from .writer import Writer, Written


def choose(hook: Hook, values: tuple[Any, ...]) -> Callable[..., Any]:
    """Return what runs a call with these values, and have the calls like it find it at once."""
    if not hook.is_looked_at:
        hook.bus._unmet.look(hook)
    place = hook.place(values)
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
        closing = (seat.receiver for seat in plan.seats() if seat.receiver.on_error == "block")
        for receiver in islice(closing, 1):
            log_overrides(plan.hook.bus, receiver.label, plan.hook.name, own_class(sender))


def written_for(hook: Hook, site: Site, sender: Any) -> tuple[Plan, Written | None]:
    """Return the plan of a sender and the function that runs its calls; None where nobody is
    connected.
    """
    plan = build_plan(hook, site, sender)
    return plan, None if plan.is_empty else Writer(plan, sender).written()
