"""Methods of a plugin object that are marked as receivers, until `bus.plug` connects them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..exceptions import HookError
from .options import options_of
from .senders import describe
from .signal import F

_MARK: Final = "__hookbus_receives__"


def receives(name: str, **options: Any) -> Callable[[F], F]:
    """Mark a method of a plugin object as a receiver of the signal `name`; `bus.plug(obj)` connects
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
    options_of(**{key: options[key] for key in options.keys() - {"sender", "weak"}})

    def mark(method: F) -> F:
        function = getattr(method, "__func__", method)  # of a classmethod or staticmethod
        setattr(function, _MARK, (*getattr(function, _MARK, ()), (name, options)))
        return method

    return mark


def marked(plugin: object) -> list[tuple[str, str, dict[str, Any]]]:
    """Return what `receives` marks of a plugin: attribute, signal and options. An override has the
    marks of what it overrides.

    Raises:
        HookError: if nothing is marked.
    """
    found: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {}
    for base in reversed(type(plugin).__mro__):
        for attribute, raw in vars(base).items():
            method = getattr(raw, "__func__", raw)
            found[attribute] = getattr(method, _MARK, found.get(attribute, ()))
    flat = [(attribute, *mark) for attribute, marks in found.items() for mark in marks]
    if not flat:
        is_class = isinstance(plugin, type)
        nothing = " has no method marked with @receives('pre_...')"
        raise HookError(f"{describe(plugin)}{': plug an object of it' if is_class else nothing}")
    return flat
