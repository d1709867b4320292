"""One connected callable: what it asks for, its role, its rank, its failure policy."""

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

from ..exceptions import HookError, did_you_mean
from .callables import (
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
from .failures import ERROR, WARNING, log
from .options import Options, standing
from .phases import ANSWER, OFFERED, Colour, Served
from .senders import Bearer
from .tally import Tally
from .wanted import Asks, Connectable, When

if TYPE_CHECKING:
    from .signal import HookSignal

ReceiverKey = tuple[int, ...]
"""The identity of a receiver, as `key_of` tells it."""

_FIRST: Final = ("agent", "sender", "owner", "the_sender")
"""What the sender may be called: the first of these that is no argument of the hook."""

class Connected(Tally):
    """One connection of one callable to one sender.

    Attributes:
        signal: the signal it is connected to.
        sender: gives the sender, which it does not keep alive; None for ANY.
        said: the options it was connected with; `options` are what an operator has left.
        sequence: its place among the connections of its signal.
        place: the code that was written for it, or the module that defines it.
        role: modify, guard, observe; or around; or answer.
        on_error: what is done when it fails.
        is_weak: whether the callable is held weakly.
        held: the callable; or what gives it, or None, where it is held weakly.
        key: its identity; a bound method is made anew at each access.
        load: the spec of the module that it was in when it was connected.
        is_on: whether the program wants it called; `is_switched_off` is the operator's word.
        is_by_name: whether a listener takes the event by its name only.
        is_layer: whether it stands in front of others of the same callable, which are there again
            when it goes.
        lost_results: how often it was seen, as an around, to give None where `call_next` gave more.
        seals_broken: how often it ran between a verdict and a call that was blocked because of
            contents changed meanwhile.
        is_logged: whether a failure of it was logged.
        is_met: whether a call found it among its receivers, whatever became of that.
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
            HookError: naming the receiver, where it stands, and what to write instead.
        """
        if not callable(function):
            raise HookError(
                f"{function!r:.60} cannot be connected to {signal.name}: it is not callable, "
                "give the function itself"
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
            problem = "asks for a timeout: no deadline on an around: use asyncio.timeout in it"
        if options.background and self.role != "observe":
            only = 'only what role="observe" says decides nothing and need not be waited for'
            problem = f"asks for background=True: {only}"
        self.asks = asks = Asks.of(function, with_sender=self.takes_sender)
        if signal.phase == "around" and "call_next" not in (asks.sender, *asks.names):
            instead = f"a modifier of pre_{signal.hook} that returns Replace(result)"
            asked = "does not ask for call_next: write (agent, call_next)"
            problem = problem or f"{asked}, or connect {instead}"
        has_yield = is_generator_callable(function) if code is None else code.co_flags & YIELDS
        if has_yield and signal.phase in _ANSWERING:
            problem = "has a yield, so that nothing in it would run: write return instead"
        if problem:
            raise HookError(f"{self._title} {problem}")
        is_async = is_async_callable(function) if code is None else code.co_flags & ASYNC
        self.is_async = bool(is_async)
        if options.when is not None:
            self.when = When.of(options.when)

    def hold(self, weak: bool | None, bury: Callable[[ReceiverKey], None]) -> None:
        """Hold the callable weakly where that is asked for, or it is a method of the very sender.

        `bury` is told when it dies; it does not lead to this connection, which would be a circle.

        Raises:
            HookError: for what fails closed: it would vanish and leave the door open.
        """
        function, sender = self.held, self.sender
        # Of what is known by its name another one may take over, and need its guards.
        is_own = (
            sender is not None and inspect.ismethod(function)
            and function.__self__ is sender() and not isinstance(sender, Bearer)
        )  # fmt: skip
        if weak and not is_own and self.closes and self.role != "around":
            raise HookError(
                f"{self._title} fails closed and cannot be held with weak=True: "
                "it would vanish and leave the door open"
            )
        if weak or (weak is None and is_own):
            # An own method ends with its sender, whose end the registry sees.
            key, self.is_weak = self.key, True
            self.held = _weakly(function, None if is_own else lambda _: bury(key))

    @property
    def function(self) -> Connectable | None:
        """The callable, or None if it was held weakly and died."""
        function: Connectable | None = self.held() if self.is_weak else self.held
        return function

    @property
    def is_enabled(self) -> bool:
        return self.is_on and not self.is_switched_off

    @property
    def owner(self) -> Any:
        """Whom it is connected to: `ANY`, or the sender; None where that one is gone."""
        return ANY if self.sender is None else self.sender()

    @property
    def where(self) -> str:
        """`file:line` of the callable, or the module that defines it."""
        return written(self.place)

    @property
    def takes_sender(self) -> bool:
        """Whether it is called with the sender first; a question has none."""
        return self.signal.phase != ANSWER

    @property
    def binds(self) -> bool:
        """Whether it watches over every call it is asked about: a guard, enforced and without a
        condition.
        """
        return self.role == "guard" and not self.options.shadow and self.options.when is None

    @property
    def closes(self) -> bool:
        """Whether its failure stops the call."""
        return self.on_error != "isolate"

    @property
    def is_unmet_guard(self) -> bool:
        """Whether it was to stop calls, and no call has found it among its receivers."""
        is_guard = self.role == "guard" or self.on_error == "block"
        return is_guard and not (self.is_met or self.has_fired)

    @property
    def label(self) -> str:
        return f"{self.name} ({self.where})"

    @property
    def names(self) -> tuple[str, str]:
        """What a `before=` or `after=` may call it: its name, or the last part of that."""
        return self.name, self.name.rpartition(".")[2]

    @property
    def _title(self) -> str:
        return f"{self.label} on {self.signal.name}"

    def become_answer(self) -> None:
        """Answer a question: its signal was only a name when this was connected. What it asked for
        in vain is a problem.
        """
        self.role = "answer"
        if self.options.role == "guard":
            self.on_error = "block"
        function = self.function
        if function is not None:
            self.asks = Asks.of(function, with_sender=False)

    def log_failure(self, what_then: str, *, is_open: bool) -> None:
        """Log its first failure that nobody hears."""
        if self.is_logged:
            return
        self.is_logged = True  # first: a handler of the log may come by here again
        try:
            is_told = self._log(what_then, is_open)
        except RecursionError:
            is_told = False
        if not is_told:  # there is no stack left for it here, but a thread has its own
            with suppress(Exception):
                start_new_thread(self._log, (what_then, is_open))

    def _log(self, what_then: str, is_open: bool) -> bool:
        said = f"{self._title} failed{what_then}: {self.last_failure}; said once"
        return log(WARNING if is_open else ERROR, said)

    def problem_with(self, served: Served) -> str | None:
        """Say why this receiver cannot serve a hookable, or None."""
        phase, (hook, colour, arguments, sender, awaits) = self.signal.phase, served
        problem = self._lacks(hook, _on_offer(arguments, phase), sender)
        if phase == ANSWER and self.sender is not None:
            none = "a question has none: leave sender= out"
            problem = f"is never asked: it names a sender, and {none}"
        elif problem is None and phase == ANSWER and self.options.role is not None:
            role = f"asks for role={self.options.role!r}"
            problem = f"{role}, but a question is only answered: guard pre_{hook} instead"
        elif problem is None and self.is_async and not self._is_awaited(colour, awaits):
            instead = "write a plain def receiver"
            problem = f"is async, but {hook} is a plain def and cannot await it: {instead}"
        elif problem is None and phase == "post" and self.role == "guard" and "generator" in colour:
            instead = f"guard item_{hook}, or hold back in around"
            problem = f"would guard a stream after its items have left: {instead}"
        elif problem is None and phase == "item" and "generator" not in colour:
            problem = f"waits for items, but {hook} is not a generator: connect it to post_{hook}"
        return problem and f"{self._title} {problem}"

    def _is_awaited(self, colour: Colour, awaits: bool) -> bool:
        is_waited_for = self.role != "around" and not self.options.background
        return "async" in colour or (awaits and is_waited_for)

    def _lacks(self, hook: str, on_offer: frozenset[str], sender: str | None) -> str | None:
        when = self.when and self.when.asks
        taken = self.asks.sender
        if self.takes_sender and taken in on_offer - {sender} and taken.strip("_"):
            others = {*on_offer, *self.asks.names}
            first = next((name for name in _FIRST if name not in others), f"not_{taken}")
            write = ", ".join((first, taken, *self.asks.names))
            return f"takes the sender as {taken!r}, which is asked for by name: write ({write})"
        for asks, what in ((self.asks, "asks for"), (when, "has a when= that asks for")):
            if asks and not asks.needed <= on_offer:
                lacking = asks.missing(on_offer)[0]
                meant = did_you_mean(lacking, on_offer)
                return f"{what} {lacking!r}, which {hook} does not have{meant}"
        if self.is_weak and self.role == "guard" and self.function is None:
            return "guards an object that is dying, and has died before it"
        return None


_ANSWERING: Final = ("pre", "item", "post", "error", "finally")
"""The phases whose receivers answer by what they return."""


@lru_cache(maxsize=1024)
def _on_offer(arguments: tuple[str, ...], phase: str | None) -> frozenset[str]:
    """Return what can be asked for in a phase of a hookable with these arguments."""
    return frozenset((*arguments, *OFFERED.get(phase or "", ())))


def _weakly(function: Connectable, on_death: Callable[[Any], None] | None) -> Callable[[], Any]:
    """Hold a callable weakly; of a method only its object: its class may be given another one
    meanwhile.
    """
    try:
        if not inspect.ismethod(function):
            return weakref.ref(function, on_death)
        plain, owner = function.__func__, weakref.ref(function.__self__, on_death)
    except TypeError:
        raise HookError(
            f"{name_of(function)} cannot be held with weak=True: it has no weak references"
        ) from None

    def method() -> Connectable | None:
        alive = owner()
        return None if alive is None else MethodType(plain, alive)

    return method
