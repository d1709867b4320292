"""One connected callable: its parameters, role, order and failure policy."""

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
from .._callables.parameters import Asks, Connectable, When
from .._ground.errors import did_you_mean
from ..exceptions import HookError
from .failures import ERROR, WARNING, log
from .options import Options, standing
from .phases import ANSWER, OFFERED, Colour, Served
from .senders import Bearer
from .tally import Tally

if TYPE_CHECKING:
    from .signal import HookSignal

ReceiverKey = tuple[int, ...]
"""The identity of a receiver, as returned by `key_of`."""

_FIRST: Final = ("agent", "sender", "owner", "the_sender")
"""Suggested names for the sender: the first of these that is not an argument of the hook."""

class Connected(Tally):
    """One connection of one callable to one sender.

    Attributes:
        signal: the signal that it is connected to.
        sender: returns the sender without keeping it alive; None for ANY.
        said: the options that it was connected with; `options` includes an operator's changes.
        sequence: its place among the connections of its signal.
        place: the code that was written for it, or the module that defines it.
        role: modify, guard or observe; or around; or answer.
        on_error: what happens when it fails.
        is_weak: whether the callable is weakly referenced.
        held: the callable; or, if weakly referenced, a function that returns it or None.
        key: its identity; a bound method is a new object at each access.
        load: the spec of its module when it was connected.
        is_on: whether the program has it enabled; `is_switched_off` belongs to the operator.
        is_by_name: whether a listener takes the event only by its name.
        is_layer: whether it covers other connections of the same callable, which apply again when
            it is removed.
        lost_results: how often it returned None as an around, although `call_next` returned more.
        seals_broken: how often it ran between a verdict and a block because contents were changed
            in between.
        is_logged: whether a failure of it was logged.
        is_met: whether any call has had it among its receivers, with any outcome.
    """

    is_on = True
    is_by_name = is_weak = is_layer = has_fired = has_blocked = is_spent = False
    is_logged = is_met = is_switched_off = False
    lost_results = seals_broken = 0
    when: When | None = None
    load: Any = None

    def __init__(
        self, signal: HookSignal, function: Connectable, sender: Callable[[], Any] | None,
        options: Options, sequence: int,
    ) -> None:  # fmt: skip
        """Check one connection; nothing is registered yet.

        Raises:
            HookError: with a message that names the receiver, where it is written, and what to
                write instead.
        """
        if not callable(function):
            raise HookError(
                f"{function!r:.60} cannot be connected to {signal.name}, because it is not "
                "callable: pass the function itself"
            )
        self.signal, self.held, self.sender, self.sequence = signal, function, sender, sequence
        self.options, self.said, self.key = options, options, key_of(function)
        code = code_of(function)
        self.name = options.name or name_of(function)
        self.place = place_of(function) if code is None else code
        self.role, self.on_error, problem = standing(signal.phase, options.role, options.on_error)
        if options.shadow:
            self.on_error = "isolate"
        if options.timeout is not None and signal.phase == "around":
            problem = "has a timeout, which an around cannot have: use asyncio.timeout inside it"
        if options.background and self.role != "observe":
            only = 'only a receiver with role="observe" can run in the background'
            problem = f"has background=True: {only}"
        self.asks = asks = Asks.of(function, with_sender=signal.phase != ANSWER)
        if signal.phase == "around" and "call_next" not in (asks.sender, *asks.names):
            instead = f"a modifier of pre_{signal.hook} that returns Replace(result)"
            asked = "does not take call_next: write (agent, call_next)"
            problem = problem or f"{asked}, or connect {instead}"
        has_yield = is_generator_callable(function) if code is None else code.co_flags & YIELDS
        if has_yield and signal.phase in _ANSWERING:
            problem = "contains a yield, so none of its code would run: use return instead"
        if problem:
            raise HookError(f"{self._title} {problem}")
        is_async = is_async_callable(function) if code is None else code.co_flags & ASYNC
        self.is_async = bool(is_async)
        if options.when is not None:
            self.when = When.of(options.when)

    def hold(self, weak: bool | None, bury: Callable[[ReceiverKey], None]) -> None:
        """Reference the callable weakly, if that is requested or it is a method of the sender.

        `bury` is called when it is freed. It must not reference this connection, because that would
        be a cycle.

        Raises:
            HookError: for a receiver that fails closed, because guarding would end when it is
                freed.
        """
        function, sender = self.held, self.sender
        # A class known by its name may be redefined, and the new one may need its guards.
        is_own = (
            sender is not None and inspect.ismethod(function)
            and function.__self__ is sender() and not isinstance(sender, Bearer)
        )  # fmt: skip
        if weak and not is_own and self.closes and self.role != "around":
            raise HookError(
                f"{self._title} fails closed, so weak=True is not allowed: "
                "calls would be let through once the receiver is garbage collected"
            )
        if weak or (weak is None and is_own):
            # A method of the sender ends with the sender, which the registry notices.
            key, self.is_weak = self.key, True
            self.held = _weakly(function, None if is_own else lambda _: bury(key))

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
        """The sender that it is connected to, or `ANY`; None if the sender has been freed."""
        return ANY if self.sender is None else self.sender()

    @property
    def where(self) -> str:
        """`file:line` of the callable, or the module that defines it."""
        return written(self.place)

    @property
    def takes_sender(self) -> bool:
        """Whether the sender is its first argument; a question has none."""
        return self.signal.phase != ANSWER

    @property
    def binds(self) -> bool:
        """Whether it guards every call that it sees: a guard that is enforced and has no condition.
        """
        return self.role == "guard" and not self.options.shadow and self.options.when is None

    @property
    def closes(self) -> bool:
        """Whether its failure blocks the call."""
        return self.on_error != "isolate"

    @property
    def is_unmet_guard(self) -> bool:
        """Whether it should be able to block calls, but no call has had it among its receivers."""
        is_guard = self.role == "guard" or self.on_error == "block"
        return is_guard and not (self.is_met or self.has_fired)

    @property
    def label(self) -> str:
        return f"{self.name} ({self.where})"

    @property
    def names(self) -> tuple[str, str]:
        """The names for it in `before=` and `after=`: its name, or the last part of that."""
        return self.name, self.name.rpartition(".")[2]

    @property
    def _title(self) -> str:
        return f"{self.label} on {self.signal.name}"

    def become_answer(self) -> None:
        """Turn this into a receiver of a question: when it was connected, its signal was only a
        name. Options that do not fit are a problem.
        """
        self.role = "answer"
        if self.options.role == "guard":
            self.on_error = "block"
        function = self.function
        if function is not None:
            self.asks = Asks.of(function, with_sender=False)

    def log_failure(self, what_then: str, *, is_open: bool) -> None:
        """Log its first failure that has no listener."""
        if self.is_logged:
            return
        self.is_logged = True  # first, because a log handler may get here again
        try:
            is_told = self._log(what_then, is_open)
        except RecursionError:
            is_told = False
        if not is_told:  # no stack is left here, but a thread has its own
            with suppress(Exception):
                start_new_thread(self._log, (what_then, is_open))

    def _log(self, what_then: str, is_open: bool) -> bool:
        once = "(further failures of this receiver are not logged)"
        said = f"{self._title} failed{what_then}: {self.last_failure} {once}"
        return log(WARNING if is_open else ERROR, said)

    def problem_with(self, served: Served) -> str | None:
        """Return why this receiver does not fit a hookable, or None."""
        phase, (hook, colour, arguments, sender, awaits) = self.signal.phase, served
        problem = self._lacks(hook, _on_offer(arguments, phase), sender)
        if phase == ANSWER and self.sender is not None:
            none = "a hookspec has none: leave out sender="
            problem = f"is never called: it has a sender, but {none}"
        elif problem is None and phase == ANSWER and self.options.role is not None:
            role = f"has role={self.options.role!r}"
            problem = f"{role}, but receivers of a hookspec have no role: guard pre_{hook} instead"
        elif problem is None and self.is_async and not self._is_awaited(colour, awaits):
            instead = "write a plain def receiver"
            problem = f"is async, but {hook} is a plain def, which cannot await it: {instead}"
        elif problem is None and phase == "post" and self.role == "guard" and "generator" in colour:
            instead = f"guard item_{hook}, or hold the items back in an around"
            problem = f"would guard a stream after its items were passed on: {instead}"
        elif problem is None and phase == "item" and "generator" not in colour:
            problem = f"expects items, but {hook} is not a generator: connect it to post_{hook}"
        return problem and f"{self._title} {problem}"

    def _is_awaited(self, colour: Colour, awaits: bool) -> bool:
        is_waited_for = self.role != "around" and not self.options.background
        return "async" in colour or (awaits and is_waited_for)

    def _lacks(self, hook: str, on_offer: frozenset[str], sender: str | None) -> str | None:
        when = self.when and self.when.asks
        taken = self.asks.sender
        if self.signal.phase != ANSWER and taken in on_offer - {sender} and taken.strip("_"):
            others = {*on_offer, *self.asks.names}
            first = next((name for name in _FIRST if name not in others), f"not_{taken}")
            write = ", ".join((first, taken, *self.asks.names))
            sender_first = "the first parameter is always the sender"
            return f"would get the sender as {taken!r}: {sender_first}, so write ({write})"
        for asks, what in ((self.asks, "asks for"), (when, "has a when= that asks for")):
            if asks and not asks.needed <= on_offer:
                lacking = asks.missing(on_offer)[0]
                meant = did_you_mean(lacking, on_offer)
                return f"{what} {lacking!r}, which {hook} does not have{meant}"
        if self.is_weak and self.role == "guard" and self.function is None:
            return "guards an object that is being freed, but the guard was freed first"
        return None


_ANSWERING: Final = ("pre", "item", "post", "error", "finally")
"""The phases in which receivers answer with their return value."""


@lru_cache(maxsize=1024)
def _on_offer(arguments: tuple[str, ...], phase: str | None) -> frozenset[str]:
    """Return the names that a receiver may have as parameters in a phase, with these arguments."""
    return frozenset((*arguments, *OFFERED.get(phase or "", ())))


def _weakly(function: Connectable, on_death: Callable[[Any], None] | None) -> Callable[[], Any]:
    """Reference a callable weakly; of a method only its object, because its class may change."""
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
