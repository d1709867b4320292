"""Registers AgenticX's hooks with `strict=True`. Hooks must be callable, are registered only once,
and can be removed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._core import check_callable


def checking(stock: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """Return a registration function that first checks that the hook is callable."""

    @functools.wraps(stock)
    def register(hook: Any) -> Any:
        check_callable(hook, name)
        return stock(hook)

    return register


def add_unregistration(cls: Any, place: Callable[[Any, str, Any], object]) -> None:
    """Change a registry class for `strict=True`: each hook is registered only once, and hooks can
    be removed."""
    stock = cls.register

    def register(self: Any, hook: Any, *, priority: int = 0) -> None:
        """Add a hook. A hook that is already registered gets the new priority. An instance of one
        of AgenticX's own hook classes replaces the registered instance of the same class.
        """
        self._entries[:] = [entry for entry in self._entries if not _is_same(entry[1], hook)]
        stock(self, hook, priority=priority)

    def unregister(self: Any, hook: Any) -> bool:
        """Remove a hook, and return whether it was registered."""
        count = len(self._entries)
        self._entries[:] = [entry for entry in self._entries if entry[1] is not hook]
        return len(self._entries) < count

    def clear(self: Any) -> None:
        """Remove all hooks."""
        self._entries.clear()

    for function in (register, unregister, clear):
        place(cls, function.__name__, function)


def _is_same(one: Any, other: Any) -> bool:
    is_built_in = type(other).__module__.startswith("agenticx.")
    return one is other or (is_built_in and type(one) is type(other))
