"""A connected callable: its parameters, role, order and failure policy."""

from __future__ import annotations

import inspect
import weakref
from _thread import start_new_thread
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

from blinker import ANY

from .._callables.callables import (
    ASYNC,
    YIELDS,
    code_of,
    is_async_callable,
    is_generator_callable,
    key_of,
    name_of,
    place_of,
    written,
)
from .._callables.parameters import Connectable, Parameters, When
from .._ground.errors import did_you_mean
from ..exceptions import HookError
from .failures import ERROR, WARNING, log
from .options import PLAIN, PLAIN_ROLES, Options, resolve_role
from .phases import ANSWER, EXTRA_NAMES, PHASES, Served
from .senders import NamedSender
from .tally import Tally

if TYPE_CHECKING:
    from .protocols import Signal

ReceiverKey = tuple[int, ...]
"""The identity of a receiver, as returned by `key_of`."""

_FIRST: Final = ("agent", "sender", "owner", "the_sender")
"""Suggested names for the sender: the first of these that is not an argument of the hook."""

class Connected(Tally):
    """The connection of one callable to one sender.

    Attributes:
        signal: the signal of the connection.
        sender: a function that returns the sender without keeping it alive, or None for ANY.
        declared_options: the options of `connect`. `options` also includes an operator's changes.
        sequence: the position among the connections of the signal.
        place: the code of the callable, or the name of the module that defines it.
        role: modify, guard, observe, around or answer.
        on_error: the failure policy of the receiver.
        is_weak: whether the callable is weakly referenced.
        held: the callable, or for a weak reference, a function that returns the callable or None.
        key: the identity of the callable. A bound method is a new object at each access.
        entry: the key of this connection in its scope. It is `key` if the connection has no handle.
        module_spec: the spec of the callable's module at the time of the connection.
        is_on: whether the program has enabled the receiver. An operator sets `is_switched_off`.
        is_by_name: whether a listener takes the event only as a keyword argument.
        lost_results: for an around, the number of times that it returned None although `call_next`
            returned a result.
        seals_broken: the number of blocked calls in which the receiver ran and contents changed
            after a verdict.
        is_logged: whether a failure of the receiver has been logged.
        is_met: whether the receiver was part of any call so far, with any outcome.
    """

    is_on = True
    is_by_name = is_weak = has_fired = has_blocked = is_spent = False
    is_logged = is_met = is_switched_off = False
    lost_results = seals_broken = 0
    when: When | None = None
    module_spec: Any = None

    def __init__(
        self, signal: Signal, function: Connectable, sender: Callable[[], Any] | None,
        options: Options, sequence: int,
    ) -> None:  # fmt: skip
        """Check the connection without registering it.

        Raises:
            HookError: with a message that names the receiver and its location, and says what to
                write instead.
        """
        if not callable(function):
            raise HookError(
                f"{function!r:.60} cannot be connected to {signal.name}, because it is not "
                "callable: pass the function itself"
            )
        self.signal, self.held, self.sender, self.sequence = signal, function, sender, sequence
        self.options, self.declared_options = options, options
        phase, code = signal.phase, code_of(function)
        if code is None or type(function) is MethodType:
            self.key, self.name = key_of(function), name_of(function)
        else:  # the most frequent case
            self.key, self.name = (id(function),), function.__qualname__
        self.entry: tuple[Any, ...] = self.key
        self.place = code or place_of(function)
        (self.role, self.on_error), problem = PLAIN_ROLES[phase], ""
        if options is not PLAIN:
            problem = self._apply(options)
        self.parameters = parameters = Parameters.of(function, phase != ANSWER, code)
        if phase == "around" and "call_next" not in (parameters.sender, *parameters.names):
            instead = f"a modifier of pre_{signal.hook} that returns Replace(result)"
            asked = "does not take call_next: write (agent, call_next)"
            problem = problem or f"{asked}, or connect {instead}"
        has_yield = is_generator_callable(function) if code is None else code.co_flags & YIELDS
        if has_yield and phase in PHASES and phase != "around":
            problem = "contains a yield, so none of its code would run: use return instead"
        if problem:
            raise HookError(f"{self._title} {problem}")
        self.is_async = is_async_callable(function) if code is None else code.co_flags & ASYNC != 0

    def _apply(self, options: Options) -> str:
        """Apply options that are not the defaults. Return a problem, or an empty string."""
        self.name, phase = options.name or self.name, self.signal.phase
        self.role, self.on_error, problem = resolve_role(phase, options.role, options.on_error)
        if options.shadow:
            self.on_error = "isolate"
        if options.when is not None:
            self.when = When.of(options.when)
        if options.background and self.role != "observe":
            only = 'only a receiver with role="observe" can run in the background'
            return f"has background=True: {only}"
        if options.kinds is not None and self.signal is not self.signal._bus.events:
            return "has kinds=, which selects events: connect to bus.events instead"
        if options.timeout is not None and phase == "around":
            return "has a timeout, which an around cannot have: use asyncio.timeout inside it"
        return problem

    def hold(self, weak: bool | None, drop_dead: Callable[[ReceiverKey], None]) -> None:
        """Reference the callable weakly if this is requested, or if the callable is a method of the
        sender.

        `drop_dead` is called when the callable is freed. The function must not reference this
        connection, because that would create a reference cycle.

        Raises:
            HookError: if the receiver fails closed, because calls would be unguarded after the
                receiver is freed.
        """
        function, sender = self.held, self.sender
        # A class with a name may be redefined, and the new class may need its guards.
        is_own = (
            sender is not None and inspect.ismethod(function)
            and function.__self__ is sender() and not isinstance(sender, NamedSender)
        )  # fmt: skip
        if weak and not is_own and self.closes and self.role != "around":
            raise HookError(
                f"{self._title} fails closed, so weak=True is not allowed: "
                "calls would be allowed once the receiver is garbage collected"
            )
        if weak or (weak is None and is_own):
            # A method of the sender is freed with the sender; the registry handles that.
            key, self.is_weak = self.key, True
            self.held = _weakly(function, None if is_own else lambda _: drop_dead(key))

    @property
    def function(self) -> Connectable | None:
        """The callable, or None if it was weakly referenced and has been freed."""
        function: Connectable | None = self.held() if self.is_weak else self.held
        return function

    @property
    def is_enabled(self) -> bool:
        return self.is_on and not self.is_switched_off

    @property
    def owner(self) -> Any:
        """The sender of the connection, or `ANY`. None means that the sender has been freed."""
        return ANY if self.sender is None else self.sender()

    @property
    def where(self) -> str:
        """The `file:line` of the callable, or the name of the module that defines it."""
        return written(self.place)

    @property
    def binds(self) -> bool:
        """Whether the receiver guards every call of its sender, because it is an enforced guard
        without a condition.
        """
        return self.role == "guard" and not self.options.shadow and self.options.when is None

    @property
    def closes(self) -> bool:
        """Whether a failure of the receiver blocks or ends the call."""
        return self.on_error != "isolate"

    @property
    def is_unmet_guard(self) -> bool:
        """Whether the receiver is meant to block calls, but was not part of any call so far."""
        is_guard = self.role == "guard" or self.on_error == "block"
        return is_guard and not (self.is_met or self.has_fired)

    @property
    def label(self) -> str:
        return f"{self.name} ({self.where})"

    @property
    def names(self) -> tuple[str, str]:
        """The names for `before=` and `after=`: the name, and the last part of the name."""
        return self.name, self.name.rpartition(".")[2]

    @property
    def _title(self) -> str:
        return f"{self.label} on {self.signal.name}"

    def become_answer(self) -> None:
        """Turn this receiver into a receiver of a question, because its hookspec was declared after
        the connection. Options that a question does not allow are reported later.
        """
        self.role = "answer"
        if self.options.role == "guard":
            self.on_error = "block"
        function = self.function
        if function is not None:
            self.parameters = Parameters.of(function, False, code_of(function))

    def log_failure(self, what_then: str, *, is_open: bool) -> None:
        """Log the first failure that no listener receives."""
        if self.is_logged:
            return
        self.is_logged = True  # set first, because a log handler may call this again
        try:
            is_told = self._log(what_then, is_open)
        except RecursionError:
            is_told = False
        if not is_told:  # the stack is exhausted here, but a new thread has its own
            with suppress(Exception):
                start_new_thread(self._log, (what_then, is_open))

    def _log(self, what_then: str, is_open: bool) -> bool:
        once = "(further failures of this receiver are not logged)"
        message = f"{self._title} failed{what_then}: {self.last_failure} {once}"
        return log(WARNING if is_open else ERROR, message)

    def problem_with(self, served: Served) -> str | None:
        """Return the reason why this receiver does not suit a hookable, or None."""
        phase, (hook, kind, arguments, sender, awaits) = self.signal.phase, served
        problem = self._lacks(hook, _available(arguments, phase), sender)
        is_async, is_awaited = "async" in kind, phase != "around" and not self.options.background
        if phase == ANSWER and self.sender is not None:
            none = "a hookspec has none: leave out sender="
            problem = f"is never called: it has a sender, but {none}"
        elif problem is None and phase == ANSWER and self.options.role is not None:
            role = f"has role={self.options.role!r}"
            problem = f"{role}, but receivers of a hookspec have no role: guard pre_{hook} instead"
        elif problem is None and self.is_async and not (is_async or (awaits and is_awaited)):
            cannot = f"is async, but {hook} is a plain def, which cannot await it"
            problem = f"{cannot}: write a plain def receiver"
        elif problem is None and phase == "post" and self.role == "guard" and "generator" in kind:
            instead = f"guard item_{hook}, or hold the items back in an around"
            problem = f"would guard a stream after its items were passed on: {instead}"
        elif problem is None and phase == "item" and "generator" not in kind:
            problem = f"expects items, but {hook} is not a generator: connect it to post_{hook}"
        return problem and f"{self._title} {problem}"

    def _lacks(self, hook: str, available: frozenset[str], sender: str | None) -> str | None:
        taken = self.parameters.sender
        if self.signal.phase != ANSWER and taken in available - {sender} and taken.strip("_"):
            others = {*available, *self.parameters.names}
            first = next((name for name in _FIRST if name not in others), f"not_{taken}")
            write = ", ".join((first, taken, *self.parameters.names))
            sender_first = "the first parameter is always the sender"
            return f"would get the sender as {taken!r}: {sender_first}, so write ({write})"
        of_when = (self.when and self.when.parameters, "has a when= that needs")
        for parameters, what in ((self.parameters, "has a parameter"), of_when):
            if parameters and not parameters.needed <= available:
                lacking = parameters.missing(available)[0]
                meant = did_you_mean(lacking, available)
                return f"{what} {lacking!r}, which {hook} does not have{meant}"
        if self.is_weak and self.role == "guard" and self.function is None:
            return "guards an object that is being freed, but the guard was freed first"
        return None


@lru_cache(maxsize=1024)
def _available(arguments: tuple[str, ...], phase: str | None) -> frozenset[str]:
    """Return the names that a receiver may have as parameters in a phase, for a hook with these
    arguments.
    """
    return frozenset((*arguments, *EXTRA_NAMES.get(phase or "", ())))


def _weakly(function: Connectable, on_death: Callable[[Any], None] | None) -> Callable[[], Any]:
    """Reference a callable weakly. For a method, reference only its object, because the class of
    the object may change.
    """
    try:
        if not inspect.ismethod(function):
            return weakref.ref(function, on_death)
        plain, owner = function.__func__, weakref.ref(function.__self__, on_death)
    except TypeError:
        raise HookError(
            f"weak=True is not possible for {name_of(function)}: it supports no weak references"
        ) from None

    def method() -> Connectable | None:
        alive = owner()
        return None if alive is None else MethodType(plain, alive)

    return method
