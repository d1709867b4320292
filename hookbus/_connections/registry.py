"""Who is connected to whom: looked up by sender, layered by `connected_to`, forgotten when a side dies."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from types import FunctionType
from typing import Any

from blinker import ANY

from .receiver import Key, Receiver
from .senders import weak

ANY_ID = 0
FAR = float("inf")


def scopes_of(sender: Any) -> list[tuple[float, int, Any]]:
    """Return what a receiver may be connected to for this sender: distance, id, and the object, nearest first."""
    if sender is ANY or sender is None:
        return [(FAR, ANY_ID, None)]
    bases: tuple[type, ...] = sender.__mro__[1:] if isinstance(sender, type) else ()
    kind: type = type(sender)
    line = [sender, *bases, *kind.__mro__]
    nearest: dict[int, int] = {}
    for distance, scope in enumerate(line):
        nearest.setdefault(id(scope), distance)
    return [*((float(distance), scope_id, line[distance]) for scope_id, distance in nearest.items()), (FAR, ANY_ID, None)]


def is_shared(sender: object) -> bool:
    """Tell whether more than one object's calls may concern a connection to this sender: a class, a function, `ANY`."""
    return sender is ANY or isinstance(sender, (type, FunctionType))


class Registry:
    """The connections of one signal.

    Each is a stack of layers: `connect` sets the lowest, each `connected_to` lays one on top, the top one is in force.
    Receivers are never called while the lock is held.

    Attributes:
        connections: every stack; true while anything is connected.
        shared: the keys of those to a class, a function or `ANY`.
    """

    def __init__(self, lock: threading.Lock, on_death: Callable[[list[Receiver]], None]) -> None:
        self.connections: dict[Key, list[Receiver]] = {}
        self._lock = lock
        self._by_sender: dict[int, dict[Key, list[Receiver]]] = {}
        self._by_receiver: dict[tuple[int, ...], set[Key]] = {}
        self.shared: set[Key] = set()
        self._on_death = on_death
        self._mentioned: set[str] = set()  # the names that any before= or after= has spoken of
        self._dead: deque[tuple[int, Key | None]] = deque()
        self._lost: deque[Receiver] = deque()

    def reference_to(self, sender: Any) -> weakref.ref[Any]:
        """Return a weak reference with whose end everything connected to the sender ends."""
        sender_id = id(sender)
        return weak(sender, lambda _: self.bury(sender_id, None))

    def add(self, key: Key, receiver: Receiver, *, as_layer: bool, check: Callable[[Receiver, list[Receiver]], None]) -> None:
        """Put a connection in force; one that was there keeps its place.

        Where any `before=` or `after=` concerns it, its own or one that mentions it, `check` sees all others first and may
        raise.
        """
        receiver.is_layer = as_layer
        with self._lock:
            self._purge()
            mentioned = receiver.options.before + receiver.options.after
            if mentioned or (self._mentioned and not self._mentioned.isdisjoint(receiver.names)):
                check(receiver, [other for k, layers in self.connections.items() if k[1] != key[1] for other in layers])
                self._mentioned.update(mentioned)
            layers = self.connections.get(key)
            if layers is None:
                self._store(key, [receiver])
            else:
                receiver.sequence = layers[0].sequence
                self._store(key, [*layers, receiver] if as_layer else [receiver, *(layer for layer in layers if layer.is_layer)])
        self.report_lost()

    def remove(self, receiver_key: tuple[int, ...], sender: Any) -> None:
        """Take a receiver away from one sender, or with ANY from all."""
        with self._lock:
            self._purge()
            keys = list(self._by_receiver.get(receiver_key, ())) if sender is ANY else [(id(sender), receiver_key)]
            for key in keys:
                self._store(key, [])
        self.report_lost()

    def remove_layer(self, key: Key, receiver: Receiver) -> bool:
        """Take this very layer away; False if it is gone already."""
        with self._lock:
            self._purge()
            layers = self.connections.get(key, [])
            was_there = receiver in layers
            if was_there:
                self._store(key, [layer for layer in layers if layer is not receiver])
        self.report_lost()
        return was_there

    def clear(self) -> None:
        with self._lock:
            for key in list(self.connections):
                self._store(key, [])

    def layers(self) -> list[Receiver]:
        """Return every connection, those that another one stands in front of too."""
        with self._lock:
            return [receiver for layers in self.connections.values() for receiver in layers]

    def matching(self, sender: Any) -> list[tuple[float, Receiver]]:
        """Return the connections in force that concern this sender, each with the distance of its scope."""
        found: list[tuple[float, Receiver]] = []
        with self._lock:
            for distance, scope_id, scope in scopes_of(sender):
                for layers in self._by_sender.get(scope_id, {}).values():
                    receiver = layers[-1]
                    is_same = receiver.sender is None or receiver.sender() is scope
                    if is_same and receiver.is_enabled and not receiver.is_spent:
                        found.append((distance, receiver))
        return found

    def all(self) -> list[Receiver]:
        """Return every connection on top of its stack, by order of connection."""
        with self._lock:
            self._purge()
            return sorted((layers[-1] for layers in self.connections.values()), key=lambda receiver: receiver.sequence)

    def has_own(self, sender: Any) -> bool:
        """Tell whether anything is connected to this very sender."""
        own = list(self._by_sender.get(id(sender), {}).values())
        return bool(own) and any((ref := layers[-1].sender) is not None and ref() is sender for layers in own)

    def own_senders(self) -> list[Any]:
        """Return the single objects that something is connected to."""
        with self._lock:
            found = [layers[-1].sender for key, layers in self.connections.items() if key not in self.shared]
        return [sender for reference in found if reference is not None and (sender := reference()) is not None]

    def _store(self, key: Key, layers: list[Receiver]) -> None:
        if layers:
            self.connections[key] = layers
            reference = layers[-1].sender
            if reference is None or is_shared(reference()):
                self.shared.add(key)
            sender_id, receiver_key = key
            if sender_id in self._by_sender:
                self._by_sender[sender_id][key] = layers
            else:
                self._by_sender[sender_id] = {key: layers}
            if receiver_key in self._by_receiver:
                self._by_receiver[receiver_key].add(key)
            else:
                self._by_receiver[receiver_key] = {key}
        elif self.connections.pop(key, None) is not None:
            self.shared.discard(key)
            _discard(self._by_sender, key[0], key)
            _discard(self._by_receiver, key[1], key)

    # -- what dies ------------------------------------------------------------------------------------------------------

    def bury(self, sender_id: int, key: Key | None) -> None:
        """Forget a dead sender (`key` None) or a dead receiver. Runs wherever the garbage collector happens to run."""
        if sys.is_finalizing():
            return
        self._dead.append((sender_id, key))
        # Whoever holds the lock, perhaps this very thread further up, purges instead.
        if self._lock.acquire(blocking=False):
            try:
                self._purge()
            finally:
                self._lock.release()
            self.report_lost(always=True)

    def _purge(self) -> None:
        """Take out what has died; the lock is held."""
        while self._dead:
            sender_id, key = self._dead.popleft()
            for each in [key] if key is not None else list(self._by_sender.get(sender_id, {})):
                layers = self.connections.get(each, [])
                self._store(each, [receiver for receiver in layers if not self._is_dead(receiver)])

    def _is_dead(self, receiver: Receiver) -> bool:
        if receiver.sender is not None and receiver.sender() is None:
            return True
        if receiver.function is not None:
            return False
        self._lost.append(receiver)
        return True

    def report_lost(self, *, always: bool = False) -> None:
        """Name the receivers that died since last time, with no lock held."""
        lost = [self._lost.popleft() for _ in range(len(self._lost))] if self._lost else []
        if lost or always:
            self._on_death(lost)


def _discard(index: dict[Any, Any], entry: Any, key: Key) -> None:
    members = index[entry]
    if isinstance(members, dict):
        members.pop(key, None)
    else:
        members.discard(key)
    if not members:
        del index[entry]
