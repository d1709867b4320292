"""Mark methods of a plugin object as receivers, so that `bus.register` connects them."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, Literal, Unpack, overload

from blinker import ANY

from .._connections.options import ConnectOptions, Unguarded, options_of
from .._connections.senders import describe, is_class
from .._connections.signal import F, G
from ..exceptions import HookError

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
    """Mark a method of a plugin object as a receiver of the signal `name`.

    `bus.register(obj)` connects the method, or the method that overrides it.

    Args:
        name: a signal, such as `"pre_reply"`, or the name of a hookspec.
        options: `sender` and the options of `connect`. `bus.register` checks whether the options
            are valid for the signal.

    Returns:
        A decorator that returns the method. You can mark a method several times.

    Raises:
        HookError: if an option can never be valid.
    """
    if not isinstance(name, str):
        raise HookError(f"{name!r:.60} is not the name of a signal: write @receives('pre_...')")
    checked = {key: options[key] for key in options.keys() - {"sender", "weak"}}
    options_of(**checked)

    def mark(method: F) -> F:
        function = getattr(method, "__func__", method)  # of a classmethod or staticmethod
        setattr(function, _MARK, (*getattr(function, _MARK, ()), (name, options)))
        return method

    return mark


def marked(plugin: object) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the marks that `receives` has added to the methods of a plugin: attribute, signal and
    options. An override inherits the marks of the overridden method. A function in the object's own
    `__dict__` uses its own marks.

    Raises:
        HookError: if no method is marked.
    """
    found: dict[str, tuple[object, tuple[tuple[str, dict[str, Any]], ...]]] = {}
    for base in reversed(type(plugin).__mro__):
        for attribute, raw in vars(base).items():
            method = getattr(raw, "__func__", raw)
            _, inherited = found.get(attribute, (None, ()))
            found[attribute] = method, getattr(method, _MARK, inherited)
    held = {} if (is_a_class := is_class(plugin)) else getattr(plugin, "__dict__", {})
    for attribute, own in held.items():
        if isinstance(own, FunctionType):
            found[attribute] = own, getattr(own, _MARK, ())
    # Several attributes may refer to one function. Its own marks are connected once.
    once = {(id(each), id(marks)): (name, marks) for name, (each, marks) in found.items()}
    flat = [(attribute, *mark) for attribute, marks in once.values() for mark in marks]
    if not flat:
        nothing = " has no method marked with @receives('pre_...')"
        wrong = " is a class: pass an instance of it" if is_a_class else nothing
        raise HookError(f"{describe(plugin)}{wrong}")
    return flat
