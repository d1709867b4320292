"""What runs the calls of one sender: looked up once, kept by class or by object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._hooks.hook import Hook, Site
from .._hooks.shell import HOT
from .call import Call
from .passage import make_passage
from .plan import Plan, build_plan
from .walk import walk

if TYPE_CHECKING:
    from .compile import Compiled

class Runner:
    """Runs the calls of one plan: walks it until it is hot, then by generated code.

    Attributes:
        run: what a call enters; it is called as the body is.
        walking: what it enters while some task has muted a signal of the hook.
        compiled: the generated code, where there is any.
        is_own: whether receivers are connected to this very object, so that the plan is for no other of its class.
    """

    def __init__(self, hook: Hook, site: Site, plan: Plan, *, is_own: bool) -> None:
        self.hook, self.site, self.plan, self.is_own = hook, site, plan, is_own
        self.compiled: Compiled | None = None
        self._calls = 0
        self._is_tried = False
        is_idle = plan.is_empty and not hook.bus.is_observed
        self.walking: Callable[..., Any] = hook.body if is_idle else self._entrance(self)
        self.run = self.walking

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        hook, site = self.hook, self.site
        values = hook.function_signature.gather(args, kwargs)
        sender = hook.shell if site.attribute is None else hook.function_signature.first_of(values)[0]
        self._calls += 1
        if not self._is_tried and self.is_hot() and not _is_muted(hook):
            self._is_tried = True
            self._compile(sender)
            if self.compiled is not None:
                return self.compiled.run(*args, **kwargs)
        return walk(Call(hook, site, self.plan, sender, values))

    def is_hot(self) -> bool:
        """Tell whether it is worth compiling. Generated code does not note who had a turn, so everyone has had one."""
        plan = self.plan
        seats = (*plan.pre, *plan.around, *plan.post, *plan.final)
        return self._calls >= HOT and all(seat.receiver.has_fired for seat in seats)

    def _compile(self, sender: Any) -> None:
        from .compile import compile_plan  # the rooms that write code are loaded with the first plan that is hot

        if not self.hook.bus.is_observed:
            self.compiled = compile_plan(self.hook, self.site, self.plan, sender)
        if self.compiled is not None:
            self.run = self._entrance(self.compiled.run)
            with self.hook.bus.lock:
                self.hook.look_again()

    def _entrance(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return what a call enters to get to `run`: a parent's hookable asks first whether `super()` brought it there."""
        return run if self.site.is_owner else make_passage(self.hook, self.site, run)


def choose(hook: Hook, values: tuple[Any, ...]) -> Callable[..., Any]:
    """Return what runs a call with these values, and have the calls like it find it at once."""
    version = hook.version
    site, sender = hook.locate(values)
    runner = runner_for(hook, site, sender)
    run = runner.walking if _is_muted(hook) else runner.run
    first = hook.function_signature.first_of(values)
    if first and not isinstance(first[0], type):
        hook.keep(first[0], run, version, is_own=runner.is_own)
    return run


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
        runner = Runner(hook, site, plan, is_own=is_own and not is_alone)
        with hook.bus.lock:
            # A connection that came meanwhile has dropped the plans already and would not see this one; one that is just
            # coming is for this sender and not for others of its class.
            if version == hook.version and (owner is sender or not plan.has_own(sender)):
                hook.plans.set(owner, runner)
                return runner


def _is_muted(hook: Hook) -> bool:
    """Tell whether any task or thread has muted a signal of this hook: then calls are walked."""
    return any(signal.is_muted_somewhere for signal in hook.bus._signals_of(hook.name))
