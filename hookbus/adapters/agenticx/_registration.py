"""How hooks are registered with `strict=True`: each once, what can be called, and back again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._core import check_callable


def checking(stock: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """Return a function that registers a hook, if it can be called."""

    @functools.wraps(stock)
    def register(hook: Any) -> Any:
        check_callable(hook, name)
        return stock(hook)

    return register


def add_unregistration(cls: Any, place: Callable[[Any, str, Any], object]) -> None:
    """Let a class of registries have each hook once, and give it back, as `strict=True` has it."""
    stock = cls.register

    def register(self: Any, hook: Any, *, priority: int = 0) -> None:
        """Add a hook; one that is there already gets this priority. Of AgenticX's own kinds of
        hooks there is one of each."""
        self._entries[:] = [entry for entry in self._entries if not _is_same(entry[1], hook)]
        stock(self, hook, priority=priority)

    def unregister(self: Any, hook: Any) -> bool:
        """Take a hook out; return whether it was there."""
        count = len(self._entries)
        self._entries[:] = [entry for entry in self._entries if entry[1] is not hook]
        return len(self._entries) < count

    def clear(self: Any) -> None:
        """Take all hooks out."""
        self._entries.clear()

    for function in (register, unregister, clear):
        place(cls, function.__name__, function)


def _is_same(one: Any, other: Any) -> bool:
    is_built_in = type(other).__module__.startswith("agenticx.")
    return one is other or (is_built_in and type(one) is type(other))
