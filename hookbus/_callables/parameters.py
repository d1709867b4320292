"""Read the parameters of a callable, and determine how to call it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from functools import lru_cache
from inspect import CO_VARARGS, CO_VARKEYWORDS, Parameter
from types import CodeType, CoroutineType, GeneratorType, MethodType
from typing import Any, NamedTuple

from .._ground.errors import did_you_mean
from .._ground.signatures import signature_of
from ..exceptions import HookError
from .callables import code_of, is_plain, name_of, place_of, written

Connectable = Callable[..., Any]


class Parameters(NamedTuple):
    """The parameters of a callable.

    Attributes:
        sender: the parameter that takes the sender. None if `*args` takes the sender or if there is
            no sender.
        by_position: the arguments after the sender that can be passed only by position.
        by_name: the arguments that can be passed by keyword. The first `leading` of these arguments
            can also be passed by position.
        needed: the names of parameters without a default. Other parameters use their default if the
            hook does not have the argument.
        takes_all: whether `**kwargs` takes every argument.
    """

    sender: str | None
    by_position: tuple[str, ...]
    by_name: tuple[str, ...]
    needed: frozenset[str]
    takes_all: bool
    leading: int = 0

    @classmethod
    def of(cls, function: Connectable, with_sender: bool, code: CodeType | None) -> Parameters:
        """Return the parameters of a callable. `code` is its code, as returned by `code_of`."""
        plain: Any = function
        if is_bound := type(plain) is MethodType:
            plain = plain.__func__
            is_odd = code is not None and not (code.co_argcount or code.co_flags & CO_VARARGS)
            code = None if is_odd else code
        if code is None:
            parameters = _asked(function, with_sender)
        else:
            defaults, by_keyword = len(plain.__defaults__ or ()), plain.__kwdefaults__
            by_keyword = tuple(by_keyword) if by_keyword else ()
            parameters = _asked_by_code(code, defaults, by_keyword, is_bound, with_sender)
        if parameters is None:
            raise HookError(
                f"{name_of(function)} ({written(place_of(function))}) has no parameter for the "
                "sender; write it first: def receiver(agent, ...)"
            )
        return parameters

    @property
    def names(self) -> tuple[str, ...]:
        return self.by_position + self.by_name

    def missing(self, available: Collection[str]) -> list[str]:
        """Return the required names that are not available."""
        if self.needed.issubset(available):
            return []
        return [name for name in self.names if name not in available and name in self.needed]

    def written(self, available: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """Return the arguments to pass if these names are available. Each is a pair of a keyword
        and a name; the keyword is "" for an argument by position.
        """
        found = tuple(available)
        lacking = self.missing(found)
        if lacking:
            raise HookError(f"there is no argument {lacking[0]!r}{did_you_mean(lacking[0], found)}")
        passed = [("", name) for name in self.by_position if name in found]
        may_lead = len(passed) == len(self.by_position)
        for place, name in enumerate(self.by_name):
            may_lead = may_lead and place < self.leading and name in found
            passed += [("" if may_lead else name, name)] if name in found else []
        if self.takes_all:
            private = {"ctx", "call_next", "baggage", self.sender, *self.names}
            passed += [(name, name) for name in found if name not in private]
        return tuple(passed)


class When(NamedTuple):
    """The condition of `when=`: a predicate or a mapping of globs, with the names of the arguments
    that it needs.
    """

    condition: Callable[..., Any] | Mapping[str, str]
    parameters: Parameters

    @classmethod
    def of(cls, condition: Callable[..., Any] | Mapping[str, str]) -> When:
        if callable(condition):
            return cls(condition, Parameters.of(condition, False, code_of(condition)))
        parameters = Parameters(None, (), tuple(condition), frozenset(condition), False)
        return cls(dict(condition), parameters)


@lru_cache(maxsize=1024)
def _asked_by_code(
    code: CodeType, defaults: int, by_keyword: tuple[str, ...], is_bound: bool, with_sender: bool
) -> Parameters | None:
    """Return the parameters that all functions with this code share. The values of defaults do not
    affect the parameters.
    """
    names, count, only = code.co_varnames, code.co_argcount, code.co_posonlyargcount
    first = 1 if is_bound and count else 0
    optional = {*names[max(0, count - defaults) : count], *by_keyword}
    return _with_sender(
        with_sender, names[first:only], names[max(first, only) : count],
        bool(code.co_flags & CO_VARARGS), names[count : count + code.co_kwonlyargcount],
        bool(code.co_flags & CO_VARKEYWORDS), optional, leads=True,
    )  # fmt: skip


def _asked(function: Connectable, with_sender: bool) -> Parameters | None:
    """Return the parameters of a callable, or None if no parameter can take the sender."""
    try:
        parameters = list(signature_of(function).parameters.values())
    except (TypeError, ValueError):
        instead = "lambda sender, ...: ..." if with_sender else "lambda argument, ...: ..."
        raise HookError(
            f"{name_of(function)} has no readable signature; wrap it as `{instead}`"
        ) from None
    only, either, star, keyword_only, double_star = by_kind(parameters)
    optional = {p.name for p in parameters if p.default is not p.empty}
    return _with_sender(
        with_sender, only, either, bool(star), keyword_only, bool(double_star), optional,
        leads=is_plain(function),
    )  # fmt: skip


def _with_sender(
    with_sender: bool, only: tuple[str, ...], either: tuple[str, ...], has_star: bool,
    keyword_only: tuple[str, ...], takes_all: bool, optional: set[str], *, leads: bool,
) -> Parameters | None:  # fmt: skip
    """Return these parameters, with the first as the parameter of the sender. Return None if no
    parameter can take the sender. `leads` means that arguments are passed by position where
    possible, even if keywords are allowed.
    """
    sender = None
    if with_sender and only:
        sender, only = only[0], only[1:]
    elif with_sender and either:
        sender, either = either[0], either[1:]
    elif with_sender and not has_star:
        return None
    by_name = either + keyword_only
    leading = len(either) if leads and (sender or not with_sender) else 0
    needed = frozenset(only + by_name) - optional
    return Parameters(sender, only, by_name, needed, takes_all, leading)


def by_kind(parameters: Collection[Parameter]) -> list[tuple[str, ...]]:
    """Return the names of parameters by kind: positional only, positional or keyword, `*args`,
    keyword only, `**kwargs`.
    """
    kinds = (
        Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL,
        Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD,
    )  # fmt: skip
    return [tuple(p.name for p in parameters if p.kind is kind) for kind in kinds]


def is_awaitable(value: Any) -> bool:
    """Return whether a value is awaitable. The function does not read `__class__`, which may run
    code.
    """
    kind = type(value)
    if kind is GeneratorType:
        return bool(value.gi_code.co_flags & 0x100)  # made awaitable by types.coroutine
    try:
        return kind is CoroutineType or hasattr(kind, "__await__")
    except Exception:  # a metaclass may run any code and raise
        return False


def not_awaited(value: Any, message: str) -> Any:
    """Return a value that is not awaitable. If the value is awaitable, close it and raise HookError
    with this message.
    """
    if is_awaitable(value):
        close_unawaited(value)
        raise HookError(message)
    return value


def holds(answer: Any) -> bool:
    """Return the result of a `when=` predicate as a bool."""
    message = "when= cannot be async, because it decides before the receiver runs; use a plain def"
    return bool(not_awaited(answer, message))


def close_unawaited(awaitable: Any) -> None:
    """Close a coroutine that will not be awaited, so that Python emits no warning when it is freed.
    """
    close = getattr(awaitable, "close", None) or getattr(awaitable, "cancel", None)
    if close is not None:
        close()


def run_without_waiting(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise HookError("the code awaits an object in a place where awaiting is not possible")
