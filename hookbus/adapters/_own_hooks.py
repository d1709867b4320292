"""Helpers for a framework's own hooks: make them receivers, track the lists that contain them, and
create the objects that they see."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from hookbus import Connection

from .._ground.signatures import signature_of

Hook = Callable[..., Any]
Mark = TypeVar("Mark")


class OwnHook:
    """The receiver for one of a framework's own hooks.

    The receiver stores the position of the hook in its list, but no strong reference to the hook or
    its owner. The call in progress finds the hook. An agent can therefore be garbage-collected even
    if one of its hooks references it.

    Attributes:
        index: the position in the list.
        names: the parameters of the hook; None if its signature cannot be read. In this case,
            calling the hook fails.
    """

    __signature__ = signature_of(lambda owner, call, ctx: None)

    def __init__(self, hook: Hook, index: int) -> None:
        self.index, self.names = index, names_of(hook)
        self.is_same = _same_as(hook)

    @property
    def __wrapped__(self) -> Hook:
        # The place that `explain` and failures show for this receiver.
        hook: Hook | None = self.is_same(None)
        if hook is None:
            raise AttributeError("the hook of this receiver no longer exists")
        return hook

    def __call__(self, owner: Any, call: Any, ctx: Any) -> Any:
        return call.ask_own(self)


def names_of(hook: Hook) -> frozenset[str] | None:
    """Return the names of a hook's parameters."""
    try:
        return frozenset(signature_of(hook).parameters)
    except (TypeError, ValueError):
        return None


def title_of(hook: Any) -> str:
    """Return the display name of a hook: its `__name__`, that of the function inside a partial, or
    that of its type.
    """
    while isinstance(hook, functools.partial) and not hasattr(hook, "__name__"):
        hook = hook.func
    return str(getattr(hook, "__name__", type(hook).__name__))


def _same_as(hook: Hook) -> Callable[[Any], Any]:
    """Return a function that takes a hook or None. It returns the original hook if this hook still
    exists and is identical to the argument, or if the argument is None."""
    try:
        held: Callable[[], Any] = weakref.ref(hook)
    except TypeError:
        held = functools.partial(_give, hook)
    return lambda other: (
        None if held() is None or (other is not None and held() is not other) else held()
    )


def _give(hook: Any) -> Any:
    return hook


class Mirror(Generic[Mark]):
    """The connected hooks of each owner. It holds only weak references to owners, and removes the
    hooks of an owner that no longer exists.

    A mark identifies a connected hook.
    """

    def __init__(self) -> None:
        self._connected: dict[tuple[int, str], list[tuple[Mark, Connection]]] = {}
        self._owners: dict[int, weakref.ref[Any]] = {}
        self._lock = threading.RLock()

    def marks(self, owner: Any, signal: str) -> list[Mark]:
        """Return the marks of an owner's connected hooks, in order."""
        return [mark for mark, _ in self._connected.get((id(owner), signal), ())]

    def follow(
        self, owner: Any, signal: str, hooks: Sequence[Any], is_same: Callable[[Mark, Any], bool],
        connect: Callable[[int, Any], tuple[Mark, Connection]],
    ) -> None:  # fmt: skip
        """Connect the hooks of a list and disconnect hooks that the list no longer contains, so
        that the connected hooks have the order of the list.

        Args:
            owner: the owner of the hooks.
            signal: the name of the signal, such as `"pre_reply"`.
            hooks: the list.
            is_same: returns whether a mark belongs to a given hook.
            connect: connects a hook, given its index in the list.

        Raises:
            HookError: if a hook cannot be connected; the hooks before it stay connected.
        """
        with self._lock:
            self._watch(owner)
            connected = self._connected.setdefault((id(owner), signal), [])
            kept = 0
            while kept < min(len(connected), len(hooks)) and is_same(
                connected[kept][0], hooks[kept]
            ):
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


class View:
    """An object with some attributes of its own. All other attributes are read from and written to
    the wrapped object.
    """

    def __init__(self, behind: Any, **own: Any) -> None:
        self.__dict__.update(own, _behind=behind)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_behind"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_behind"], name, value)


def frozen(value: Any) -> Any:
    """Return a value with its dicts and lists copied, for a later comparison. All other objects are
    shared.
    """
    if isinstance(value, dict):
        return {key: frozen(each) for key, each in value.items()}
    return [frozen(each) for each in value] if isinstance(value, list) else value
