"""One connected callable: what it asks for, its role, its rank, its failure policy."""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from itertools import takewhile
from types import FunctionType
from typing import Any

import attrs

from ._hook import ANSWER, OFFERED, Colour
from ._options import POLICIES, ROLES, Options
from .exceptions import HookError, did_you_mean

Connectable = Callable[..., Any]
_KINDS = inspect.Parameter


@attrs.frozen
class Asks:
    """The names a callable asks for.

    Attributes:
        sender: the name of the parameter that takes the sender; None where `*args` takes it or nothing does.
        by_position: names that must be passed by position, after the sender.
        by_name: names that may be passed by keyword; the first `leading` of them may be passed by position, too.
        optional: the ones that have a default of their own and keep it where the hook has no such name.
        takes_all: whether `**kwargs` gets every argument.
    """

    sender: str | None
    by_position: tuple[str, ...]
    by_name: tuple[str, ...]
    optional: frozenset[str]
    takes_all: bool
    leading: int = 0

    @classmethod
    def of(cls, function: Connectable, *, with_sender: bool = True) -> Asks:
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            raise HookError(f"{name_of(function)} has no signature to read; connect `lambda sender, ...: ...`") from None
        sender = None
        if with_sender:
            if not parameters or parameters[0].kind in (_KINDS.KEYWORD_ONLY, _KINDS.VAR_KEYWORD):
                raise HookError(
                    f"{name_of(function)} ({location_of(function)}) takes no sender; "
                    "write the object first: def receiver(agent, ...)"
                )
            if parameters[0].kind is not _KINDS.VAR_POSITIONAL:
                sender = parameters.pop(0).name
        stars = (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD)
        named = [p for p in parameters if p.kind not in stars]
        leading = sum(p.kind is _KINDS.POSITIONAL_OR_KEYWORD for p in named)
        return cls(
            sender=sender,
            by_position=tuple(p.name for p in named if p.kind is _KINDS.POSITIONAL_ONLY),
            by_name=tuple(p.name for p in named if p.kind is not _KINDS.POSITIONAL_ONLY),
            optional=frozenset(p.name for p in named if p.default is not p.empty),
            takes_all=any(p.kind is _KINDS.VAR_KEYWORD for p in parameters),
            leading=leading if _is_plain(function) and (sender or not with_sender) else 0,
        )

    @property
    def names(self) -> tuple[str, ...]:
        return self.by_position + self.by_name

    def missing(self, known: Iterable[str]) -> list[str]:
        """Return the names asked for that are not known and have no default of their own."""
        have = frozenset(known)
        return [name for name in self.names if name not in have and name not in self.optional]

    def serve(self, arguments: Mapping[str, Any], offered: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments; what the phase offers goes before an argument of the same name."""
        values = {**arguments, **offered}
        lacking = self.missing(values)
        if lacking:
            raise HookError(f"there is no {lacking[0]!r} to ask for{did_you_mean(lacking[0], values)}")
        args = [values[name] for name in self.by_position if name in values]
        kwargs = {name: values[name] for name in self.by_name if name in values}
        if self.takes_all:
            private = {"ctx", "call_next", self.sender, *self.by_position}
            kwargs = {**{name: v for name, v in values.items() if name not in private or name in kwargs}, **kwargs}
        return args, kwargs

    def written(self, known: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """Return what `serve` passes where these names are known, as pairs: the keyword, or "" by position, and the name."""
        args, kwargs = self.serve({name: name for name in known}, {})
        candidates = self.by_name[: self.leading] if len(args) == len(self.by_position) else ()
        leading = [*takewhile(kwargs.__contains__, candidates)]
        named = ((name, value) for name, value in kwargs.items() if name not in leading)
        return (*(("", name) for name in (*args, *leading)), *named)


@attrs.frozen
class When:
    """A `when=`: a predicate over named arguments, or globs for their texts, and the names it asks for."""

    condition: Callable[..., Any] | Mapping[str, str]
    asks: Asks

    @classmethod
    def of(cls, condition: Callable[..., Any] | Mapping[str, str]) -> When:
        if callable(condition):
            return cls(condition, Asks.of(condition, with_sender=False))
        return cls(dict(condition), Asks(None, (), tuple(condition), frozenset(), False))

    def holds(self, args: list[Any], named: dict[str, Any]) -> bool:
        """Judge the values it asked for; whatever it raises is its receiver's failure."""
        if not callable(self.condition):
            return all(fnmatchcase(str(named[name]), glob) for name, glob in self.condition.items())
        answer = self.condition(*args, **named)
        if inspect.isawaitable(answer):
            close_unawaited(answer)
            raise HookError("an async when= cannot be judged in time; write a plain predicate")
        return bool(answer)


@attrs.define(eq=False)
class Receiver:
    """One connection of one callable to one sender.

    Attributes:
        signal_name: the signal it is connected to.
        phase: the phase of that signal, or None.
        role: modify, guard, observe; or around.
        on_error: what is done when it fails.
        sequence: its place among the connections of its signal.
        sender: a weak reference to the sender, or None for ANY.
        is_weak: whether the callable is held weakly.
        get: gives the callable, or None where it was held weakly and died.
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
    where: str
    asks: Asks
    when: When | None
    is_async: bool
    sequence: int
    sender: weakref.ref[Any] | None
    is_weak: bool
    get: Callable[[], Connectable | None]
    key: tuple[int, ...]
    is_enabled: bool = True
    has_fired: bool = False
    has_blocked: bool = False
    is_spent: bool = False
    failures: int = 0
    fail_opens: int = 0
    last_failure: str | None = None
    _lock: threading.Lock = attrs.field(factory=threading.Lock, repr=False)

    @property
    def function(self) -> Connectable | None:
        """The callable, or None if it was held weakly and died."""
        return self.get()

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

    def claim(self) -> bool:
        """Take the only turn of a `once=True` receiver; False if it is taken."""
        with self._lock:
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

    def count_failure(self, error: BaseException, *, is_open: bool) -> None:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        at = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
        with self._lock:
            self.failures += 1
            self.fail_opens += is_open
            self.last_failure = f"{type(error).__name__}{at}"

    def problem_with(self, hook_name: str, colour: Colour, arguments: tuple[str, ...]) -> str | None:
        """Say why this receiver cannot serve a hookable of this colour and with these arguments, or None if it can."""
        where = f"{self.label} on {self.signal_name}"
        is_stream = "generator" in colour
        known = (*arguments, *OFFERED.get(self.phase or "", ()))
        for asks, what in ((self.asks, "asks for"), (self.when and self.when.asks, "has a when= that asks for")):
            lacking = asks.missing(known) if asks else []
            if lacking:
                return f"{where} {what} {lacking[0]!r}, which {hook_name} does not have{did_you_mean(lacking[0], known)}"
        if self.phase == ANSWER and self.options.role is not None:
            return f"{where} asks for role={self.options.role!r}, but a question is only answered: guard pre_{hook_name} instead"
        if self.is_async and "async" not in colour:
            return f"{where} is async, but {hook_name} is a plain def and cannot await it: write a plain def receiver"
        if is_stream and self.phase == "post" and self.role == "guard":
            return f"{where} would guard a stream after its items have left: guard item_{hook_name}, or hold back in around"
        if not is_stream and self.phase == "item":
            return f"{where} waits for items, but {hook_name} is not a generator: connect it to post_{hook_name}"
        return None


def _is_plain(function: Any) -> bool:
    """Tell whether a callable is a function or a method whose parameters are the ones it shows."""
    function = getattr(function, "__func__", function)
    return isinstance(function, FunctionType) and not hasattr(function, "__wrapped__") and not hasattr(function, "__signature__")


def make_receiver(
    signal_name: str, phase: str | None, function: Connectable, sender: Any, options: Options,
    *, weak: bool | None, sequence: int, sender_ref: weakref.ref[Any] | None, on_death: Callable[[], None],
) -> Receiver:  # fmt: skip
    """Check one connection and return it; nothing is registered yet.

    Raises:
        HookError: naming the receiver, where it stands, and what to write instead.
    """
    if not callable(function):
        raise HookError(f"{function!r:.60} cannot be connected to {signal_name}: it is not callable")
    label = f"{options.name or name_of(function)} ({location_of(function)}) on {signal_name}"
    role, on_error = _role_and_policy(options, phase, label)
    when = When.of(options.when) if options.when is not None else None
    is_own_method = inspect.ismethod(function) and sender_ref is not None and function.__self__ is sender
    if weak and (role == "guard" or (on_error != "isolate" and role in ("modify", "answer"))) and not is_own_method:
        raise HookError(f"{label} fails closed and cannot be held with weak=True: it would vanish and leave the door open")
    is_weak = bool(weak) or (weak is None and is_own_method)
    return Receiver(
        signal_name, phase, options, role, on_error, options.name or name_of(function), location_of(function),
        Asks.of(function, with_sender=phase != ANSWER), when, is_async_callable(function), sequence, sender_ref, is_weak,
        _holder(function, is_weak=is_weak, on_death=(lambda: None) if is_own_method else on_death), key_of(function),
    )  # fmt: skip


def _role_and_policy(options: Options, phase: str | None, label: str) -> tuple[str, str]:
    roles = ROLES[phase]
    role = options.role or roles[0]
    has_none = phase in ("around", ANSWER)
    if role not in roles or (options.role is not None and has_none):
        instead = "has no roles: leave role= out" if has_none else f"takes {' or '.join(roles)}"
        raise HookError(f"{label} asks for role={options.role!r}, but the phase {phase!r} {instead}")
    on_error = options.on_error or POLICIES[role][0]
    if on_error not in POLICIES[role]:
        raise HookError(f"{label} asks for on_error={options.on_error!r}, but {role} takes {' or '.join(POLICIES[role])}")
    return role, on_error


def _holder(function: Connectable, *, is_weak: bool, on_death: Callable[[], None]) -> Callable[[], Connectable | None]:
    if not is_weak:
        return lambda: function
    try:
        if inspect.ismethod(function):
            return weakref.WeakMethod(function, lambda _: on_death())
        return weakref.ref(function, lambda _: on_death())
    except TypeError:
        raise HookError(f"{name_of(function)} cannot be held with weak=True: it has no weak references") from None


def key_of(function: Connectable) -> tuple[int, ...]:
    """Identify a callable: a bound method is made anew at each access, so by its function and its object."""
    if inspect.ismethod(function):
        return id(function.__func__), id(function.__self__)
    return (id(function),)


def name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else type(function).__qualname__


def location_of(function: Any) -> str:
    """Return `file:line` of a callable, or the module that defines it."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None) or getattr(_call_of(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else str(getattr(function, "__module__", "?"))


def is_async_callable(function: Any) -> bool:
    """Tell whether a callable is known to be async, a generator or not; what cannot be known shows when it is called."""
    while isinstance(function, functools.partial):
        function = function.func
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return any(is_kind(each) for is_kind in kinds for each in (function, _call_of(function)))


def _call_of(function: Any) -> Any:
    return getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is wanted, not whether it is there


def close_unawaited(awaitable: Any) -> None:
    """Close a coroutine nobody will await, so that it does not warn when it is collected."""
    close = getattr(awaitable, "close", None) or getattr(awaitable, "cancel", None)
    if close is not None:
        close()
