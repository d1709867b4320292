"""One connected callable: what it asks for, its role, its rank, its failure policy."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable
from functools import lru_cache
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

from ..exceptions import HookError, did_you_mean
from .callables import ASYNC, code_of, is_async_callable, key_of, name_of, place_of, written
from .options import POLICIES, ROLES, Options
from .phases import ANSWER, OFFERED, Colour
from .wanted import Asks, Connectable, When

if TYPE_CHECKING:
    from .signal import HookSignal

ReceiverKey = tuple[int, ...]
"""The identity of a receiver, as `key_of` tells it."""

_tally: Final = threading.RLock()
"""Held for the moment in which a receiver's counts change; by nobody who would call anything
meanwhile.
"""


class Connected:
    """One connection of one callable to one sender.

    Attributes:
        signal: the signal it is connected to.
        sender: a weak reference to the sender, or None for ANY.
        sequence: its place among the connections of its signal.
        place: the code that was written for it, or the module that defines it.
        role: modify, guard, observe; or around; or answer.
        on_error: what is done when it fails.
        is_weak: whether the callable is held weakly.
        held: the callable; or what gives it, or None, where it is held weakly.
        key: its identity; a bound method is made anew at each access.
        is_by_name: whether a listener takes the event by its name only.
        is_layer: whether it stands in front of others of the same callable, which are there again
            when it goes.
        failures: how often it failed.
        fail_opens: how often it failed and the call went on.
        last_failure: where it last failed: the type of the exception, its file and line.
    """

    is_enabled = True
    is_by_name = is_weak = is_layer = has_fired = has_blocked = is_spent = False
    failures = fail_opens = 0
    last_failure: str | None = None
    when: When | None = None

    def __init__(
        self, signal: HookSignal, function: Connectable, sender: weakref.ref[Any] | None,
        options: Options, sequence: int,
    ) -> None:  # fmt: skip
        """Check one connection; nothing is registered yet.

        Raises:
            HookError: naming the receiver, where it stands, and what to write instead.
        """
        if not callable(function):
            raise HookError(
                f"{function!r:.60} cannot be connected to {signal.name}: it is not callable"
            )
        self.signal, self.held, self.sender, self.options = signal, function, sender, options
        self.sequence, self.key = sequence, key_of(function)
        code = code_of(function)
        self.name = options.name or name_of(function)
        self.place = place_of(function) if code is None else code
        self.role, self.on_error, problem = _standing(signal.phase, options.role, options.on_error)
        if options.timeout is not None and signal.phase == "around":
            problem = "asks for a timeout: no deadline on an around: use asyncio.timeout in it"
        if problem:
            raise HookError(f"{self._title} {problem}")
        self.asks = Asks.of(function, with_sender=self.takes_sender)
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
        is_own = sender is not None and inspect.ismethod(function) and function.__self__ is sender()
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
    def where(self) -> str:
        """`file:line` of the callable, or the module that defines it."""
        return written(self.place)

    @property
    def takes_sender(self) -> bool:
        """Whether it is called with the sender first; a question has none."""
        return self.signal.phase != ANSWER

    @property
    def closes(self) -> bool:
        """Whether its failure stops the call."""
        return self.on_error != "isolate"

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

    def claim(self) -> bool:
        """Take the only turn of a `once=True` receiver; False if it is taken."""
        with _tally:
            is_first, self.is_spent = not self.is_spent, True
        return is_first

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

    def count_failure(self, error: BaseException, *, is_open: bool) -> int:
        """Count a failure, and return which one it was."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        failure = type(error).__name__
        if trace is not None:
            failure += f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        with _tally:
            self.failures += 1
            self.fail_opens += is_open
            self.last_failure = failure
            return self.failures

    def problem_with(self, hook: str, colour: Colour, arguments: tuple[str, ...]) -> str | None:
        """Say why this receiver cannot serve a hookable of this colour and with these arguments, or
        None.
        """
        phase = self.signal.phase
        problem = self._lacks(hook, _on_offer(arguments, phase))
        if phase == ANSWER and self.sender is not None:
            none = "a question has none: leave sender= out"
            problem = f"is never asked: it names a sender, and {none}"
        elif problem is None and phase == ANSWER and self.options.role is not None:
            role = f"asks for role={self.options.role!r}"
            problem = f"{role}, but a question is only answered: guard pre_{hook} instead"
        elif problem is None and self.is_async and "async" not in colour:
            instead = "write a plain def receiver"
            problem = f"is async, but {hook} is a plain def and cannot await it: {instead}"
        elif problem is None and phase == "post" and self.role == "guard" and "generator" in colour:
            instead = f"guard item_{hook}, or hold back in around"
            problem = f"would guard a stream after its items have left: {instead}"
        elif problem is None and phase == "item" and "generator" not in colour:
            problem = f"waits for items, but {hook} is not a generator: connect it to post_{hook}"
        return problem and f"{self._title} {problem}"

    def _lacks(self, hook: str, on_offer: frozenset[str]) -> str | None:
        when = self.when and self.when.asks
        for asks, what in ((self.asks, "asks for"), (when, "has a when= that asks for")):
            if asks and not asks.needed <= on_offer:
                lacking = asks.missing(on_offer)[0]
                meant = did_you_mean(lacking, on_offer)
                return f"{what} {lacking!r}, which {hook} does not have{meant}"
        if self.is_weak and self.role == "guard" and self.function is None:
            return "guards an object that is dying, and has died before it"
        return None


@lru_cache(maxsize=1024)
def _on_offer(arguments: tuple[str, ...], phase: str | None) -> frozenset[str]:
    """Return what can be asked for in a phase of a hookable with these arguments."""
    return frozenset((*arguments, *OFFERED.get(phase or "", ())))


@lru_cache(maxsize=1024)
def _standing(phase: str | None, role: str | None, on_error: str | None) -> tuple[str, str, str]:
    """Return the role and the policy of a receiver that asks for these, and what is wrong with
    them, if anything.
    """
    roles, problem = ROLES[phase], ""
    found = role or roles[0]
    if found not in roles or (role is not None and phase in ("around", ANSWER)):
        has_none = phase in ("around", ANSWER)
        takes = "has no roles: leave role= out" if has_none else f"takes {' or '.join(roles)}"
        return found, "", f"asks for role={role!r}, but the phase {phase!r} {takes}"
    policies = POLICIES[found]
    if on_error is not None and on_error not in policies:
        problem = f"asks for on_error={on_error!r}, but role {found} takes {' or '.join(policies)}"
    return found, on_error or policies[0], problem


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
