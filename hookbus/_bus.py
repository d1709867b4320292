"""The bus: its signals by name, its events, its hooks, and its background observers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from ._connections.options import Act, check_max_background, check_timeout, odd_timeout
from ._connections.signal import HookSignal
from ._events.listeners import EventSignal
from ._ground.errors import warn
from ._ground.keywords import named_options
from ._hooks.hook import Hook
from ._hooks.ports import Port
from ._hooks.switchboard import Switchboard
from ._marks.marks import marked
from .exceptions import HookError

if TYPE_CHECKING:
    from ._advice.advice import Advice
    from ._background.running import BackgroundTasks
    from ._calls.writer import Runner
    from ._checks.checks import Checks
    from ._dispatch import Dispatch
    from ._marks.globs import Globs
    from ._outgoing.redaction import Redaction
    from ._program.operator import Operator
    from ._waiting.loop_thread import Waiting

A = TypeVar("A")


@named_options
class Bus:
    """A set of hooks and signals that belong together. `default_bus` always exists; create another
    bus to isolate tests or tenants.

    Args:
        timeout: the time limit in seconds for receivers without their own `timeout=`. None means no
            limit.
        values: whether events contain arguments and results. By default, they contain only names.
        max_background: the maximum number of observers with `background=True` that run at once.

    Attributes:
        events: the signal that delivers events. After `bus.events.connect(listener)`, the bus calls
            `listener(bus, event)`.
        plugins: the `Plugins` object that `load_plugins` returned for this bus, or None.
    """

    timeout: float | None
    values: bool

    _advice: Port[Advice] = Port("hookbus._advice.advice", "Advice")
    _runner: Port[Runner] = Port("hookbus._calls.writer", "Runner")
    _background: Port[BackgroundTasks] = Port("hookbus._background.starting", "Background")
    _checks: Port[Checks] = Port("hookbus._checks.checks", "Checks")
    _operator: Port[Operator] = Port("hookbus._program.operator", "Operator")
    _dispatch: Port[Dispatch] = Port("hookbus._dispatch", "Dispatch")
    _globs: Port[Globs] = Port("hookbus._marks.globs", "Globs")
    _waiting: Port[Waiting] = Port("hookbus._waiting.loop_thread", "Waiting")
    _redaction: Port[Redaction] = Port("hookbus._outgoing.redaction", "Redaction")

    def __init__(
        self, timeout: float | None = None, values: bool = False, max_background: int = 1000
    ) -> None:
        check_timeout(timeout)
        check_max_background(max_background)
        if odd := odd_timeout(timeout):
            warn(odd)
        self.timeout, self.values, self._max_background = timeout, values, max_background
        self._signals: dict[str, HookSignal] = {}
        self._switchboard = Switchboard()
        self.events: EventSignal = EventSignal(self)
        self._switchboard.emit_to(self.events)
        self._approver: Any = None
        self.plugins: Any = None

    def __reduce__(self) -> str:
        if self is not default_bus:
            raise HookError(
                "only default_bus can be pickled: create other buses in the process that uses them"
            )
        return "default_bus"

    def __copy__(self) -> Bus:
        return self

    def __deepcopy__(self, memo: object) -> Bus:
        return self

    def signal(self, name: str, doc: str | None = None) -> HookSignal:
        """Return the signal with this name: a signal of a hook, such as `pre_reply`, or a signal of
        your own. The first call creates it, with `doc` as its docstring.

        Raises:
            HookError: if the name is not an identifier.
        """
        if not isinstance(name, str) or not name.isidentifier():
            message = f"a signal's name must be an identifier, such as 'pre_reply', not {name!r}"
            if "*" in str(name):
                message += "; to listen to every hook, use bus.events"
            raise HookError(message)
        if (found := self._signals.get(name)) is not None:
            return found
        made = HookSignal(name, self, doc)
        if made.phase is not None:
            # Set this first, because other threads may find the signal and connect to it.
            of_hook = self._switchboard.signals.setdefault(made.hook, {})
            made = of_hook.setdefault(made.phase, made)
        return self._signals.setdefault(name, made)

    def hook_names(self) -> list[str]:
        """Return the names of the hooks declared on this bus."""
        return sorted({hook.name for hook in self._switchboard.hooks()})

    def signals(self) -> list[HookSignal]:
        """Return every signal that has been created so far, sorted by name."""
        return [signal for _, signal in sorted(self._signals.items())]

    def register(self, plugin: object) -> Callable[[], None]:
        """Connect every method of the object `plugin` that is marked with `receives`. Return a
        function that disconnects them.

        A mark with a glob, such as `pre_send_*`, applies to every matching hook, including hooks
        that are declared later.

        Raises:
            HookError: if no method is marked, or if a method cannot be connected. Then no method is
                connected.
        """
        with ExitStack() as registered:
            for attribute, name, options in marked(plugin):
                receiver = getattr(plugin, attribute)
                registered.callback(self._globs.connect(name, receiver, options))
            if (note_bus := getattr(type(plugin), "_note_bus", None)) is not None:
                note_bus(plugin, self)  # a guard that knows the tools of its bus
            return registered.pop_all().close

    @named_options
    def require_guard(
        self, hook: str, *, sender: Any = None, phase: Literal["pre", "item", "post"] = "pre"
    ) -> None:
        """Check at start-up that every call to a hook has a guard.

        A guard is sufficient if it is connected to the class that declares the hook, to a base of
        that class, or to `ANY`. It must be enabled and enforced, and must not have a `when=`.

        Args:
            hook: the name of the hook.
            sender: a class, an object or a function. For an object, guards that are connected to
                the object are also sufficient. None means every class and every function that
                declares the hook.
            phase: `"pre"`, `"item"` or `"post"`.

        Raises:
            HookError: if a class or function has no sufficient guard, if the hook is not declared,
                or if overrides of it are not hooked. The message names the class or function, and
                says why each existing guard is not sufficient. For `tool_call` without a sender,
                the error is also raised if an imported agent framework has no installed adapter.
        """
        coverage = import_module("hookbus._checks.coverage")
        coverage.check_required(self, hook, phase, sender, default_bus)

    @named_options
    def approver(self, approver: A, *, timeout: float | None = None) -> A:
        """Set the approver of this bus. It decides about calls for which a guard returns `Ask`.

        Without an approver, these calls are blocked. You can use this method as a decorator.

        Args:
            approver: a function that takes an `approvals.Request` and returns `Approved`, `Denied`
                or `Parked`. The function may be async if the hook is async. The approver can also
                be an `Inbox`, a `Store` or the `terminal`. None removes the current approver.
            timeout: the time limit for the approver in seconds. Afterwards, the call is denied.

        Returns:
            The approver.

        Raises:
            HookError: if the bus already has another approver, if the object cannot be an approver,
                or if the extra `approvals` is not installed.
        """
        made, before = None, self._approver
        if approver is not None:
            made = import_module("hookbus.approvals._answering").answering(approver, timeout)
            if before is not None:
                if timeout is None and (made.key, made.name) == (before.key, before.name):
                    return approver
                raise HookError(
                    f"this bus already has an approver, {before.name}: call bus.approver(None) "
                    "first to remove it"
                )
        self._approver = made
        for name in self._switchboard.hook_names():  # the code of guarded calls depends on it
            self._switchboard.discard(name)
        return approver

    async def drain(self, seconds: float) -> int:
        """Wait until no background observer is running, on any event loop or thread.

        If a background observer calls this method, the method waits only for the other observers.

        Args:
            seconds: the maximum time to wait, in seconds. 0 means no wait.

        Returns:
            The number of observers that are still running.

        Raises:
            HookError: if no asyncio event loop is running, or if `seconds` is not a valid time.
        """
        return await self._background.drain(seconds)

    def drain_sync(self, seconds: float) -> int:
        """Wait as `drain` does, in code that is not async.

        Args:
            seconds: the maximum time to wait, in seconds. 0 means no wait.

        Returns:
            The number of observers that are still running.

        Raises:
            HookError: if an event loop is running in this thread, because waiting would block it,
                or if `seconds` is not a valid time.
        """
        return self._background.drain_sync(seconds)

    @named_options
    def redact(
        self, *, names: str | Iterable[str] = (), patterns: str | Iterable[str] = (),
        guards: Any = None, function: Callable[[str, Any], Any] | None = None,
    ) -> Callable[[], None]:  # fmt: skip
        """Remove secrets from events before listeners receive the events. Calls, their arguments
        and their results stay unchanged. After a call of this method, values in events are plain
        data, as in `as_dict`. If the redaction of a value fails, the event contains
        `<could not be redacted>` instead.

        Args:
            names: globs for names at any depth, such as `"*password*"`. Upper and lower case are
                equal.
            patterns: regular expressions. If the library `regex` is installed (`hookbus[guards]`),
                the patterns of one event have a time limit of 0.1 seconds. Without this library,
                they have no time limit.
            guards: a `hookbus.guards.redact`, which redacts strings of at most 4,000 characters.
            function: a function that takes the name of a value and the value, which is a string, a
                number, True, False or None. The function returns the replacement.

        Returns:
            A function that stops this redaction.

        Raises:
            HookError: if a glob or pattern is invalid, or if no argument is given.
        """
        return self._redaction.add(names, patterns, guards, function)

    @named_options
    def switch(self, receiver: str, act: Act, *, by: str) -> list[str]:
        """Switch all receivers with this name while the program runs. This method is for operators.
        The switch applies from the next call on, until the operator switches again. It also applies
        to receivers that are connected with this name later, for example after a reload. The
        program cannot undo the switch by connecting, disabling or enabling receivers. An event
        `Switched` is emitted for each existing connection.

        Args:
            receiver: the name of the receiver, or the last part of the name.
            act: `"disable"` stops all calls to the receiver. `"shadow"`, for guards only, runs the
                guard without blocking. `"enable"` restores the options that the program set.
            by: the name of the operator, for the event.

        Returns:
            The receivers that were switched, each with its signal and location. The list is empty
            if no connected receiver has the name.

        Raises:
            HookError: if no receiver has or had the name, or if one of the receivers is locked or
                cannot be in shadow mode. In that case, no receiver is switched.
        """
        return self._operator.switch(receiver, act, by)

    def _declare(self, hook: Hook) -> None:
        """Add a hook, and connect the receivers whose globs match its name."""
        if (checks := vars(self).get("_checks")) is not None:
            checks.expect(hook)
        self._switchboard.declare(hook)
        if (globs := vars(self).get("_globs")) is not None:
            globs.declared(hook.name)


default_bus: Final = Bus()
"""The bus that `hookable`, `instrument` and `signal` use unless you pass another one."""


def signal(name: str, doc: str | None = None) -> HookSignal:
    """Return the signal with this name on `default_bus`. The first call creates it, with `doc` as
    its docstring.

    Raises:
        HookError: if the name is not an identifier.
    """
    return default_bus.signal(name, doc)
