"""What runs the calls of one sender: written at the first call, and kept until who is connected changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._hooks.hook import Hook, Site
from .plan import Plan, build_plan
from .writer import Writer, Written


def choose(hook: Hook, values: tuple[Any, ...]) -> Callable[..., Any]:
    """Return what runs a call with these values, and have the calls like it find it at once."""
    place = hook.place(values)
    if not place.site.is_owner:
        place.keep(hook.body)
        return hook.body
    is_alone = place.site.attribute is None or isinstance(place.sender, type)
    owner = place._own if place._own is not None else place.sender if is_alone else type(place.sender)
    plan = build_plan(hook, place.site, place.sender)
    runner = Runner(hook, place.site, plan, is_own=place._own is not None)
    runner.table, runner.box = weakref.ref(place._table), id(place._own)
    run = runner.walking if _is_muted(hook) else runner.run
    if place.keep(run):
        place._table.plans.set(owner, runner)
    return run


def runner_for(hook: Hook, site: Site, sender: Any) -> Runner:
    """Return what runs the calls of a sender, made where something has changed."""
    owner = hook.fill(sender)
    if owner is None:
        owner = sender if site.attribute is None or isinstance(sender, type) else type(sender)
    runner = hook.table.plans.get(owner)
    if isinstance(runner, Runner):
        return runner
    return Runner(hook, site, build_plan(hook, site, sender), is_own=hook.fill(sender) is not None)


def _is_muted(hook: Hook) -> bool:
    """Tell whether any task or thread has muted a signal of this hook: then calls are walked."""
    return any(signal.is_muted_somewhere for signal in hook.bus._signals_of(hook.name))
