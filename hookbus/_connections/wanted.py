"""What a callable asks for by name, and how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from itertools import takewhile
from types import MethodType
from typing import Any, Final, NamedTuple

from ..exceptions import HookError, did_you_mean
from .callables import code_of, is_plain, name_of, place_of, written

Connectable = Callable[..., Any]
Names = tuple[str, ...]

_STAR, _DOUBLE_STAR = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS
_STARS: Final = _STAR | _DOUBLE_STAR


class Asks(NamedTuple):
    """The names a callable asks for.

    Attributes:
        sender: the name of the parameter that takes the sender; None where `*args` takes it or nothing does.
        by_position: names that must be passed by position, after the sender.
        by_name: names that may be passed by keyword; the first `leading` of them may be passed by position, too.
        needed: the ones without a default of their own, which the others keep where the hook has no such name.
        takes_all: whether `**kwargs` gets every argument.
    """

    sender: str | None
    by_position: tuple[str, ...]
    by_name: tuple[str, ...]
    needed: frozenset[str]
    takes_all: bool
    leading: int = 0

    @classmethod
    def of(cls, function: Connectable, *, with_sender: bool = True) -> Asks:
        asks = _asked_by_code(function, with_sender) or _asked_by_signature(function, with_sender)
        if asks is None:
            raise HookError(
                f"{name_of(function)} ({written(place_of(function))}) takes no sender; "
                "write the object first: def receiver(agent, ...)"
            )
        return asks

    @property
    def names(self) -> tuple[str, ...]:
        return self.by_position + self.by_name

    def missing(self, known: Collection[str]) -> list[str]:
        """Return the names asked for that are not known and have no default of their own."""
        return [name for name in self.names if name not in known and name in self.needed]

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


class When(NamedTuple):
    """A `when=`: a predicate over named arguments, or globs for their texts, and the names it asks for."""

    condition: Callable[..., Any] | Mapping[str, str]
    asks: Asks

    @classmethod
    def of(cls, condition: Callable[..., Any] | Mapping[str, str]) -> When:
        if callable(condition):
            return cls(condition, Asks.of(condition, with_sender=False))
        return cls(dict(condition), Asks(None, (), tuple(condition), frozenset(condition), False))

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


def _asked_by_signature(function: Connectable, with_sender: bool) -> Asks | None:
    """Return what a callable asks for, or None where nothing takes the sender."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        instead = "lambda sender, ...: ..." if with_sender else "lambda argument, ...: ..."
        raise HookError(f"{name_of(function)} has no signature to read; write `{instead}` around it") from None
    kind = inspect.Parameter
    only, either, keyword_only, star, double_star = (
        tuple(p.name for p in parameters if p.kind is each)
        for each in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY, kind.VAR_POSITIONAL, kind.VAR_KEYWORD)
    )
    optional = frozenset(p.name for p in parameters if p.default is not p.empty)
    return _asking(only, either, keyword_only, optional, bool(star), bool(double_star), with_sender, is_plain(function))


def _asked_by_code(function: Any, with_sender: bool) -> Asks | None:
    """Read the same from the code of a plain function or method, which takes a fraction of the time."""
    code = code_of(function)
    if code is None:
        return None
    first, plain = (1, function.__func__) if type(function) is MethodType else (0, function)
    count, defaults, by_keyword = code.co_argcount, plain.__defaults__, plain.__kwdefaults__
    return _asked_by_shape(
        code.co_varnames[: count + code.co_kwonlyargcount], first, code.co_posonlyargcount, count,
        len(defaults) if defaults else 0, tuple(by_keyword) if by_keyword else (), code.co_flags & _STARS, with_sender,
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _asked_by_shape(
    names: Names, first: int, only_count: int, count: int, defaults: int, by_keyword: Names, stars: int, with_sender: bool
) -> Asks | None:
    """Return what functions of this shape ask for: they share it."""
    if first > count and not stars & _STAR:
        return None  # nothing takes the object of this method
    only, either, keyword_only = names[first:only_count], names[max(first, only_count) : count], names[count:]
    optional = frozenset(names[max(first, count - defaults) : count]).union(set(by_keyword).intersection(keyword_only))
    return _asking(only, either, keyword_only, optional, stars & _STAR != 0, stars & _DOUBLE_STAR != 0, with_sender, True)


def _asking(
    only: Names, either: Names, keyword_only: Names, optional: frozenset[str], has_star: bool, takes_all: bool,
    with_sender: bool, is_plain: bool,
) -> Asks | None:  # fmt: skip
    sender = None
    if with_sender:
        if only:
            sender, only = only[0], only[1:]
        elif either:
            sender, either = either[0], either[1:]
        elif not has_star:
            return None
    by_name = either + keyword_only
    leading = len(either) if is_plain and (sender or not with_sender) else 0
    return Asks(sender, only, by_name, frozenset(only + by_name) - optional, takes_all, leading)


def close_unawaited(awaitable: Any) -> None:
    """Close a coroutine nobody will await, so that it does not warn when it is collected."""
    close = getattr(awaitable, "close", None) or getattr(awaitable, "cancel", None)
    if close is not None:
        close()
