"""The connections of a signal: found by sender, and removed when a sender or receiver is freed.

With a GIL, no lock is needed. A signal handler, a `__del__` or another thread may run at any time,
so every change is one atomic operation on a dict. Code that reads the data copies it first. Without
a GIL, all writers share a lock for operations that read before they write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from blinker import ANY

from .._callables.callables import is_made_again, may_be_made_again, origin_of
from .._callables.parameters import Connectable
from .._ground.finalizers import on_finalized
from .._ground.locks import serialize_writers
from .failures import INFO, log
from .options import PLAIN
from .order import check_constraints
from .receiver import Connected, ReceiverKey
from .senders import ANY_ID, Name, NamedSender, is_shared, name_of_sender, scopes_of, weak


class Scope(dict[tuple[Any, ...], Connected]):
    """The connections to one sender.

    Attributes:
        sender: a function that returns the sender without keeping it alive, or None for `ANY`.
        is_ending: whether the sender is being freed. Only its `__del__` may still make calls then.
        has_handles: whether a connection with a handle was ever added.
    """

    sender: Callable[[], Any] | None = None
    is_ending = has_handles = False

    def is_of(self, sender: Any) -> bool:
        """Return whether this scope belongs to a sender. A comparison of ids is not enough, because
        a new object may have the id of a freed object.
        """
        return self.sender is None or self.is_ending or self.sender() is sender

    def of_receiver(self, key: ReceiverKey) -> list[Connected]:
        """Return all connections of a receiver."""
        if not self.has_handles:
            plain = self.get(key)
            return [] if plain is None else [plain]
        return [each for each in list(self.values()) if each.key == key]

    def earlier(self, new: Connected, function: Connectable) -> Connected | None:
        """Return the connection of an earlier definition of the receiver, or None."""
        origin = origin_of(function)
        if origin is None:
            return None
        new.module_spec = origin.__globals__.get("__spec__")
        if not may_be_made_again(origin, new.module_spec) or new.key in self:
            return None
        plain = [each for each in list(self.values()) if each.entry == each.key]
        made = [each for each in plain if is_made_again(each.function, each.module_spec, function)]
        return min(made, key=lambda each: each.sequence, default=None)

    @serialize_writers
    def replace(self, new: Connected) -> None:
        """Replace the connection of the same receiver, unless it has been removed meanwhile."""
        old = self.get(new.entry)
        if old is not None:
            new.sequence = old.sequence
        self[new.entry] = new

    @serialize_writers
    def drop(self, connected: Connected) -> bool:
        """Remove exactly this connection. Return False if it was already removed or replaced."""
        entry = connected.entry
        with suppress(KeyError):
            # Compare and delete in one line without a call, so that no other code can run in
            # between.
            if self[entry] is connected: del self[entry]; return True  # noqa: E701, E702
        return False


class NamedScope(Scope):
    """The connections to a class or function with a name. They remain after the class or function
    is freed, because a redefinition may need them.
    """

    named_sender: NamedSender


@serialize_writers
def _replace(scopes: dict[int, Scope], sender_id: int, old: Scope, new: Scope) -> None:
    """Replace a scope with another scope, unless other code has replaced or removed it in the
    meantime.
    """
    with suppress(KeyError):
        if scopes[sender_id] is old: scopes[sender_id] = new  # noqa: E701


class Registry:
    """The connections of one signal. The scope of a sender remains until the sender is freed, even
    if the scope is empty.

    If it were removed earlier, a connection that is made at the same time could be lost.

    Attributes:
        of_any: the scope of `ANY`.
        checked: the keys of connections that need no second check. The key contains the id of the
            scope. When hooks change or a sender is freed, an empty set replaces this set. A check
            that is still running adds its key to the set that it has read before.
    """

    def __init__(self, on_death: Callable[[list[Connected], list[Connected]], None]) -> None:
        self.of_any = Scope()
        self._shared: dict[int, Scope] = {ANY_ID: self.of_any}
        self._named: dict[Name | None, NamedScope] = {}
        self._own: dict[int, Scope] = {}
        self.checked: set[tuple[Any, ...]] = set()
        self._mentioned: set[str] = set()  # all names used in before= or after= so far
        self._on_death = on_death

    def scope_of(self, sender: Any, is_of_many: bool) -> Scope:
        """Return the scope of a sender other than `ANY`. Create the scope if necessary."""
        scopes, sender_id = self._shared if is_of_many else self._own, id(sender)
        scope = scopes.get(sender_id)
        if scope is not None and scope.is_of(sender):
            return scope
        if scopes is self._shared and (named := self._named_scope(sender)) is not None:
            return named
        new = Scope()
        forget = on_finalized(sender, scopes, sender_id)
        new.sender = weak(sender, lambda reference: self._end(scopes, sender_id, new, forget))
        if scope is not None:
            _replace(scopes, sender_id, scope, new)
        return scopes.setdefault(sender_id, new)

    def _named_scope(self, sender: Any) -> NamedScope | None:
        """Return the scope for the name of this class or function. Create the scope if necessary.
        Return None if the module does not contain the class or function under its name.
        """
        name = name_of_sender(sender)
        scope = self._named.get(name)
        if scope is None and name is not None:
            named_sender = NamedSender.of(sender, name)
            if named_sender is not None:
                new = NamedScope()
                new.sender = new.named_sender = named_sender
                scope = self._named.setdefault(name, new)
        if scope is not None and scope.named_sender.latest() is not sender:
            scope.named_sender.note_redefinition(sender, inherits=bool(scope))
        return scope

    def _end(
        self, scopes: dict[int, Scope], sender_id: int, ended: Scope, forget: Callable[[Any], Any],
        # Default values, because module globals no longer exist when the interpreter exits.
        is_finalizing: Callable[[], bool] = sys.is_finalizing,
    ) -> None:  # fmt: skip
        is_own = scopes is self._own
        if not is_own and not is_finalizing():
            self.checked = set()  # another scope may get the id of this one
        if scopes.get(sender_id) is ended and not is_finalizing():
            ended.is_ending = True
            forget(None)
            self._on_death([], [r for r in list(ended.values()) if is_own and r.is_unmet_guard])

    def add(self, scope: Scope, new: Connected, function: Connectable) -> None:
        """Activate a connection of this callable. If it replaces another connection, it keeps the
        position of that connection in the order.

        Raises:
            HookError: if the connection creates a cycle of `before=` and `after=` constraints.
        """
        if self._mentioned or new.options is not PLAIN:
            mentioned = new.options.before + new.options.after
            if mentioned or (self._mentioned and not self._mentioned.isdisjoint(new.names)):
                others = [each for each in self.everything() if each.entry != new.entry]
                check_constraints(new, others)
                self._mentioned.update(mentioned)
        earlier = scope.earlier(new, function) if new.entry is new.key else None
        if earlier is not None:
            new.sequence = earlier.sequence
        if scope.setdefault(new.entry, new) is not new:
            scope.replace(new)
        if earlier is not None and scope.drop(earlier):
            anew = f"{new.label} on {new.signal.name} was defined again"
            log(INFO, f"{anew}, and replaces the earlier definition")

    def remove(self, key: ReceiverKey, sender: Any) -> list[Any]:
        """Remove a receiver from one sender. If the sender is ANY, remove it from all senders.
        Return the affected senders that are single objects.
        """
        had = []
        for scope in self.scopes() if sender is ANY else self._of(id(sender), sender):
            owner = scope.sender() if scope.sender is not None else ANY
            if sum(map(scope.drop, scope.of_receiver(key))) and not is_shared(owner):
                had.append(owner)
        return had

    def drop(self, connected: Connected) -> bool:
        """Remove exactly this connection from its scope. Return False if the connection was removed
        before.
        """
        owner = connected.sender
        if isinstance(owner, NamedSender):
            return self._named[owner.name].drop(connected)
        sender_id = ANY_ID if owner is None else id(owner())
        return sum(scope.drop(connected) for scope in self._at(sender_id)) > 0

    def drop_dead(self, scope: Scope, key: ReceiverKey) -> None:
        """Remove the connections of a weakly referenced receiver that was freed."""
        if not sys.is_finalizing():
            dead = [each for each in scope.of_receiver(key) if each.function is None]
            lost = [*filter(scope.drop, dead)]
            is_alone = scope.sender is None or scope.sender() is not None
            self._on_death(lost if is_alone else [], [])

    def everything(self) -> list[Connected]:
        """Return every connection."""
        return [each for scope in self.scopes() for each in list(scope.values())]

    def matching(self, sender: Any) -> list[tuple[float, Connected]]:
        """Return the active connections for a sender, each with the distance of its scope."""
        found: list[tuple[float, Connected]] = []
        seen: set[int] = set()
        for distance, scope_id, scoped in scopes_of(sender):
            for scope in self._of(scope_id, scoped):
                if id(scope) not in seen:
                    seen.add(id(scope))
                    for each in list(scope.values()):
                        if each.is_enabled and not each.is_spent:
                            found.append((distance, each))
        return found

    def connections(self) -> list[Connected]:
        """Return every connection, in the order in which they were made."""
        return sorted(self.everything(), key=lambda each: each.sequence)

    def has_own(self, sender: Any) -> bool:
        """Return whether a receiver is connected to exactly this sender."""
        return any(scope.is_of(sender) for scope in self._at(id(sender)))

    def has_shared(self) -> bool:
        """Return whether a receiver is connected to a class, a function or `ANY`."""
        return any(list(self._shared.values())) or any(list(self._named.values()))

    def own_senders(self) -> list[Any]:
        """Return the single objects that have connected receivers."""
        owners = [scope.sender and scope.sender() for scope in list(self._own.values()) if scope]
        return [owner for owner in owners if owner is not None]

    def _at(self, sender_id: int) -> list[Scope]:
        """Return the scopes whose sender has this id. A class and another object never have the
        same id at the same time.
        """
        return [scope for scope in (self._shared.get(sender_id), self._own.get(sender_id)) if scope]

    def _of(self, sender_id: int, sender: Any) -> list[Scope]:
        """Return the scopes of exactly this sender and of its name."""
        found = [scope for scope in self._at(sender_id) if scope.is_of(sender)]
        if self._named and sender is not ANY and is_shared(sender):
            named = self._named.get(name_of_sender(sender))
            if named:
                named.named_sender.note_redefinition(sender)
                found.append(named)
        return found

    def scopes(self) -> list[Scope]:
        return [*self._shared.values(), *self._named.values(), *self._own.values()]
