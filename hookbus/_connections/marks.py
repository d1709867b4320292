"""Methods of a plugin object that are marked as receivers, until `bus.register` connects them."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, Literal, Unpack, overload

from blinker import ANY

from ..exceptions import HookError
from .options import ConnectOptions, Unguarded, options_of
from .senders import describe, is_class
from .signal import F, G

_MARK: Final = "__hookbus_receives__"


@overload
def receives(
    name: str, /, *, sender: Any = ANY, weak: bool | None = None,
    role: Unguarded = None, **options: Unpack[ConnectOptions],
) -> Callable[[F], F]: ...  # fmt: skip
@overload
def receives(
    name: str, /, *, sender: Any = ANY, weak: bool | None = None,
    role: Literal["guard"], **options: Unpack[ConnectOptions],
) -> Callable[[G], G]: ...  # fmt: skip
def receives(name: str, /, **options: Any) -> Callable[[F], F]:
    """Mark a method of a plugin object as a receiver of the signal `name`; `bus.register(obj)` connects
    it, or what overrides it.

    Args:
        name: the signal, such as `"pre_reply"`, or a question.
        options: `sender` and the options of `connect`; whether they fit the signal shows when the
            object is plugged.

    Returns:
        A decorator that gives back the method. A method may be marked several times.

    Raises:
        HookError: for an option that makes no sense anywhere.
    """
    if not isinstance(name, str):
        raise HookError(f"{name!r:.60} is no name of a signal: write @receives('pre_...')")
    told = {key: options[key] for key in options.keys() - {"sender", "weak"}}
    options_of(**told)

    def mark(method: F) -> F:
        function = getattr(method, "__func__", method)  # of a classmethod or staticmethod
        setattr(function, _MARK, (*getattr(function, _MARK, ()), (name, options)))
        return method

    return mark


def marked(plugin: object) -> list[tuple[str, str, dict[str, Any]]]:
    """Return what `receives` marks of a plugin: attribute, signal and options. An override has the
    marks of what it overrides; a function that the object itself holds has its own.

    Raises:
        HookError: if nothing is marked.
    """
    found: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {}
    for base in reversed(type(plugin).__mro__):
        for attribute, raw in vars(base).items():
            method = getattr(raw, "__func__", raw)
            found[attribute] = getattr(method, _MARK, found.get(attribute, ()))
    held = {} if (is_a_class := is_class(plugin)) else getattr(plugin, "__dict__", {})
    for attribute, own in held.items():
        if isinstance(own, FunctionType):
            found[attribute] = getattr(own, _MARK, ())
    flat = [(attribute, *mark) for attribute, marks in found.items() for mark in marks]
    if not flat:
        nothing = " has no method marked with @receives('pre_...')"
        raise HookError(f"{describe(plugin)}{': register an instance of it' if is_a_class else nothing}")
    return flat
