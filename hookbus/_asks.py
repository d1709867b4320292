"""What a callable asks for by name, and what can be known of one without calling it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from types import FunctionType
from typing import Any

import attrs

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
            from fnmatch import fnmatchcase

            return all(fnmatchcase(str(named[name]), glob) for name, glob in self.condition.items())
        answer = self.condition(*args, **named)
        if inspect.isawaitable(answer):
            close_unawaited(answer)
            raise HookError("an async when= cannot be judged in time; write a plain predicate")
        return bool(answer)


def _is_plain(function: Any) -> bool:
    """Tell whether a callable is a function or a method whose parameters are the ones it shows."""
    function = getattr(function, "__func__", function)
    return isinstance(function, FunctionType) and not hasattr(function, "__wrapped__") and not hasattr(function, "__signature__")


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
