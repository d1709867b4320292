"""Connections kept equal to the lists in which a system keeps its own hooks."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from hookbus import Connection

Mark = TypeVar("Mark")


class Mirror(Generic[Mark]):
    """Which hooks of which owner are connected. It keeps no owner alive, and forgets what is noted of one with it.

    A mark stands for a hook that is connected, and tells it from others.
    """

    def __init__(self) -> None:
        self._connected: dict[tuple[int, str], list[tuple[Mark, Connection]]] = {}
        self._owners: dict[int, weakref.ref[Any]] = {}
        self._lock = threading.RLock()

    def marks(self, owner: Any, signal: str) -> list[Mark]:
        """Return the marks of what is connected for an owner, in order."""
        return [mark for mark, _ in self._connected.get((id(owner), signal), ())]

    def follow(
        self, owner: Any, signal: str, hooks: Sequence[Any], is_same: Callable[[Mark, Any], bool],
        connect: Callable[[int, Any], tuple[Mark, Connection]],
    ) -> None:  # fmt: skip
        """Connect what is in the list and is not connected, disconnect what is not in it any more, and keep its order.

        Args:
            owner: whose hooks these are.
            signal: such as `"pre_reply"`.
            hooks: the list.
            is_same: tells whether a mark is that of a hook of the list.
            connect: connects a hook of the list, given its place there.

        Raises:
            HookError: if one cannot be connected; those in front of it are.
        """
        with self._lock:
            self._watch(owner)
            connected = self._connected.setdefault((id(owner), signal), [])
            kept = 0
            while kept < min(len(connected), len(hooks)) and is_same(connected[kept][0], hooks[kept]):
                kept += 1
            while len(connected) > kept:
                connected.pop()[1].disconnect()
            for index, hook in enumerate(hooks[kept:], kept):
                connected.append(connect(index, hook))

    def clear(self) -> None:
        """Disconnect everything."""
        while self._connected:
            for _, connection in self._connected.popitem()[1]:
                connection.disconnect()
        self._owners.clear()

    def _watch(self, owner: Any) -> None:
        number = id(owner)
        if number not in self._owners:
            self._owners[number] = weakref.ref(owner, lambda _: self._forget(number))

    def _forget(self, number: int) -> None:
        self._owners.pop(number, None)
        for key in [key for key in list(self._connected) if key[0] == number]:
            self._connected.pop(key, None)
