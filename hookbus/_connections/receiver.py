"""One connected callable: what it asks for, its role, its rank, its failure policy."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, MethodType
from typing import Any, Final

import attrs

from ..exceptions import HookError, did_you_mean
from .callables import is_async_callable, key_of, name_of, place_of, written
from .options import POLICIES, ROLES, Options
from .phases import ANSWER, OFFERED, Colour
from .wanted import Asks, Connectable, When

ReceiverKey = tuple[int, ...]
"""The identity of a receiver, as `key_of` tells it."""

_tally: Final = threading.RLock()
"""Held for the moment in which a receiver's counts change; by nobody who would call anything meanwhile."""


@attrs.define(eq=False, repr=False)
class Connected:
    """One connection of one callable to one sender.

    Attributes:
        signal_name: the signal it is connected to.
        phase: the phase of that signal, or None.
        role: modify, guard, observe; or around; or answer.
        on_error: what is done when it fails.
        place: the code that was written for it, or the module that defines it.
        sequence: its place among the connections of its signal.
        sender: a weak reference to the sender, or None for ANY.
        is_weak: whether the callable is held weakly.
        held: the callable; or what gives it, or None, where it is held weakly.
        key: its identity; a bound method is made anew at each access.
        failures: how often it failed.
        fail_opens: how often it failed and the call went on.
        last_failure: where it last failed: the type of the exception, its file and line.
    """

    signal_name: str
    phase: str | None
    options: Options
    role: str
    on_error: str
    name: str
    place: CodeType | str
    asks: Asks
    when: When | None
    is_async: bool
    sequence: int
    sender: weakref.ref[Any] | None
    is_weak: bool
    held: Any
    key: ReceiverKey
    is_enabled: bool = True
    has_fired: bool = False
    has_blocked: bool = False
    is_spent: bool = False
    failures: int = 0
    fail_opens: int = 0
    last_failure: str | None = None

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
        return self.phase != ANSWER

    @property
    def closes(self) -> bool:
        """Whether its failure stops the call."""
        return self.on_error != "isolate"

    @property
    def label(self) -> str:
        return f"{self.name} ({self.where})"

    @property
    def names(self) -> frozenset[str]:
        """What a `before=` or `after=` may call it: its name, or the last part of that."""
        return frozenset((self.name, self.name.rpartition(".")[2]))

    @property
    def _title(self) -> str:
        return f"{self.label} on {self.signal_name}"

    def claim(self) -> bool:
        """Take the only turn of a `once=True` receiver; False if it is taken."""
        with _tally:
            is_first, self.is_spent = not self.is_spent, True
        return is_first

    def become_answer(self) -> None:
        """Answer a question: its signal was only a name when this was connected. What it asked for in vain is a problem."""
        self.phase, self.role = ANSWER, "answer"
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
        at = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
        failure = f"{type(error).__name__}{at}"
        with _tally:
            self.failures += 1
            self.fail_opens += is_open
            self.last_failure = failure
            return self.failures

    def problem_with(self, hook_name: str, colour: Colour, arguments: tuple[str, ...]) -> str | None:
        """Say why this receiver cannot serve a hookable of this colour and with these arguments, or None if it can."""
        if self.phase == ANSWER and self.sender is not None:
            return f"{self._title} is never asked: it names a sender, and a question has none: leave sender= out"
        is_stream = "generator" in colour
        on_offer = _on_offer(arguments, self.phase)
        for asks, what in ((self.asks, "asks for"), (self.when and self.when.asks, "has a when= that asks for")):
            if asks and not asks.needed <= on_offer:
                lacking = asks.missing(on_offer)[0]
                return f"{self._title} {what} {lacking!r}, which {hook_name} does not have{did_you_mean(lacking, on_offer)}"
        if self.phase == ANSWER and self.options.role is not None:
            asked = f"{self._title} asks for role={self.options.role!r}"
            return f"{asked}, but a question is only answered: guard pre_{hook_name} instead"
        if self.is_async and "async" not in colour:
            return f"{self._title} is async, but {hook_name} is a plain def and cannot await it: write a plain def receiver"
        if is_stream and self.phase == "post" and self.role == "guard":
            return f"{self._title} would guard a stream after its items have left: guard item_{hook_name}, or hold back in around"
        if not is_stream and self.phase == "item":
            return f"{self._title} waits for items, but {hook_name} is not a generator: connect it to post_{hook_name}"
        return None


@lru_cache(maxsize=1024)
def _on_offer(arguments: tuple[str, ...], phase: str | None) -> frozenset[str]:
    """Return what can be asked for in a phase of a hookable with these arguments."""
    return frozenset((*arguments, *OFFERED.get(phase or "", ())))


def connection_of(
    signal_name: str, phase: str | None, function: Connectable, sender: weakref.ref[Any] | None,
    options: Options, weak: bool | None, sequence: int, bury: Callable[[ReceiverKey], None],
) -> Connected:  # fmt: skip
    """Check one connection and return it; nothing is registered yet. `bury` is told when a receiver dies.

    Raises:
        HookError: naming the receiver, where it stands, and what to write instead.
    """
    if not callable(function):
        raise HookError(f"{function!r:.60} cannot be connected to {signal_name}: it is not callable")
    role, on_error = _role_and_policy(function, options, phase, signal_name)
    is_own = sender is not None and inspect.ismethod(function) and function.__self__ is sender()
    closes = role == "guard" or (on_error != "isolate" and role in ("modify", "answer"))
    if weak and closes and not is_own:
        raise HookError(
            f"{_title(function, options, signal_name)} fails closed and cannot be held with weak=True: "
            "it would vanish and leave the door open"
        )
    is_weak, key = bool(weak) or (weak is None and is_own), key_of(function)
    # An own method ends with its sender, whose end the registry sees.
    held = _weakly(function, None if is_own else lambda _: bury(key)) if is_weak else function
    return Connected(
        signal_name, phase, options, role, on_error, options.name or name_of(function),
        place_of(function), Asks.of(function, with_sender=phase != ANSWER),
        When.of(options.when) if options.when is not None else None, is_async_callable(function),
        sequence, sender, is_weak, held, key,
    )  # fmt: skip


def _title(function: Connectable, options: Options, signal_name: str) -> str:
    return f"{options.name or name_of(function)} ({written(place_of(function))}) on {signal_name}"


def _role_and_policy(function: Connectable, options: Options, phase: str | None, signal_name: str) -> tuple[str, str]:
    roles = ROLES[phase]
    role = options.role or roles[0]
    has_none = phase in ("around", ANSWER)
    if role not in roles or (options.role is not None and has_none):
        instead = "has no roles: leave role= out" if has_none else f"takes {' or '.join(roles)}"
        title = _title(function, options, signal_name)
        raise HookError(f"{title} asks for role={options.role!r}, but the phase {phase!r} {instead}")
    on_error = options.on_error or POLICIES[role][0]
    if on_error not in POLICIES[role]:
        title = _title(function, options, signal_name)
        raise HookError(f"{title} asks for on_error={options.on_error!r}, but role {role} takes {' or '.join(POLICIES[role])}")
    return role, on_error


def _weakly(function: Connectable, on_death: Callable[[Any], None] | None) -> Callable[[], Any]:
    """Hold a callable weakly; of a method only its object: its class may be given another one meanwhile."""
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


Receiver = Connected
