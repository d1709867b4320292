"""What runs the calls of one sender: looked up once, kept by class or by object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._hooks.hook import Hook, Site
from .plan import Plan, build_plan
from .writer import Writer, Written


class Runner:
    """A plan and the function that runs its calls."""

    def __init__(self, plan: Plan, sender: Any, *, is_own: bool) -> None:
        self.plan, self.is_own = plan, is_own
        self.written: Written | None = None if plan.is_empty else Writer(plan, sender if is_own else None).written()
        self.run: Callable[..., Any] = plan.hook.body if self.written is None else self.written.run


def choose(hook: Hook, values: tuple[Any, ...]) -> Callable[..., Any]:
    """Return what runs a call with these values, and have the calls like it find it at once."""
    version = hook.version
    site, sender = hook.locate(values)
    if not site.is_owner:
        return hook.body
    runner = runner_for(hook, site, sender)
    first = hook.function_signature.first_of(values)
    if first and not isinstance(first[0], type):
        hook.keep(first[0], runner.run, version, is_own=runner.is_own)
    return runner.run


def runner_for(hook: Hook, site: Site, sender: Any) -> Runner:
    """Return what runs the calls of a sender, made where something has changed."""
    signals = hook.bus._signals_of(hook.name)
    is_alone = site.attribute is None or isinstance(sender, type)
    while True:
        version = hook.version
        is_own = any(signal.has_own(sender) for signal in signals)
        owner = sender if is_own or is_alone else type(sender)
        runner: Runner | None = hook.plans.get(owner)
        if runner is not None:
            return runner
        plan = build_plan(hook, site, sender)
        runner = Runner(plan, sender, is_own=is_own and not is_alone)
        with hook.bus.lock:
            if version == hook.version:
                hook.plans.set(owner, runner)
                return runner
