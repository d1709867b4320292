"""The connections of a signal: found by sender, stacked by `connected_to`, removed when a sender or
receiver is freed.

With a GIL there is no lock. Every change is one atomic step of a dict, because a signal handler, a
`__del__` or another thread may run at any moment; readers copy first. Without a GIL, steps that
read before they write take the lock of all writers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from blinker import ANY

from .._callables.callables import is_made_again, may_be_made_again, origin_of
from .._ground.finalizers import at_end
from .._ground.locks import serialize_writers
from .failures import INFO, log
from .order import check_constraints
from .receiver import Connected, ReceiverKey
from .senders import ANY_ID, Bearer, Name, is_shared, name_of_sender, scopes_of, weak

Stack = tuple[Connected, ...]
"""The connections of one receiver to one sender: at most one plain connection, then the layers on
top of it.
"""


class Scope(dict[ReceiverKey, Stack]):
    """The connections to one sender.

    Attributes:
        sender: returns the sender without keeping it alive; None for `ANY`.
        is_ending: whether only its `__del__` may still run.
        served: the receivers known to fit one of its hookables, by generation of these.
    """

    sender: Callable[[], Any] | None = None
    is_ending = False
    served: frozenset[Any] = frozenset()

    def is_of(self, sender: Any) -> bool:
        """Return whether this is the sender: its id alone may belong to another one after it was
        freed.
        """
        return self.sender is None or self.is_ending or self.sender() is sender

    def everything(self) -> list[Connected]:
        return [each for stack in list(self.values()) for each in stack]

    def in_force(self) -> list[Connected]:
        """Return the connection on top, for each receiver."""
        return [stack[-1] for stack in list(self.values()) if stack]

    def earlier(self, new: Connected) -> Connected | None:
        """Return the connection of the same receiver before it was redefined."""
        function = new.held() if new.is_weak else new.held
        origin = origin_of(function)
        if origin is None:
            return None
        new.load = origin.__globals__.get("__spec__")
        if not may_be_made_again(origin, new.load) or new.key in self:
            return None
        plain = [each for each in self.everything() if not each.is_layer]
        made = [each for each in plain if is_made_again(each.function, each.load, function)]
        return min(made, key=lambda each: each.sequence, default=None)

    def add(self, new: Connected) -> None:
        """Put a connection on top; a plain one replaces the plain one that is there."""
        key = new.key
        while True:
            old = self.setdefault(key, ())
            if old:
                new.sequence = old[0].sequence
            stay = old if new.is_layer or not old else [each for each in old if each.is_layer]
            if self._exchange(key, old, (*stay, new) if new.is_layer else (new, *stay)):
                return

    def drop(self, connected: Connected) -> bool:
        """Remove exactly this connection; return False if it is already gone."""
        while True:
            old = self.get(connected.key, ())
            if connected not in old:
                return False
            others = tuple([each for each in old if each is not connected])
            if self._exchange(connected.key, old, others):
                return True

    @serialize_writers
    def _exchange(self, key: ReceiverKey, old: Stack, new: Stack) -> bool:
        """Replace one stack by another; return False if the old one is not there any more."""
        try:
            # Compared and stored in one line that calls nothing, so that no other code can run in
            # between.
            if new:
                if self[key] is old: self[key] = new; return True  # noqa: E701, E702
            elif self[key] is old: del self[key]; return True  # noqa: E701, E702
        except KeyError:
            pass
        return False


class NamedScope(Scope):
    """The connections to a named class or function. They stay: a redefinition may need its guards.
    """

    def __init__(self, bearer: Bearer) -> None:
        super().__init__()
        self.sender = self.bearer = bearer


@serialize_writers
def _replace(scopes: dict[int, Scope], sender_id: int, old: Scope, new: Scope) -> None:
    """Replace a scope by another one, unless it was replaced or removed meanwhile."""
    with suppress(KeyError):
        if scopes[sender_id] is old: scopes[sender_id] = new  # noqa: E701


class Registry:
    """The connections of one signal. A sender's scope stays until the sender is freed, even empty.

    If an empty scope were removed, a connection made at that moment could be lost with it.
    """

    def __init__(self, on_death: Callable[[list[Connected], list[Connected]], None]) -> None:
        self._shared: dict[int, Scope] = {ANY_ID: Scope()}
        self._named: dict[Name | None, NamedScope] = {}
        self._own: dict[int, Scope] = {}
        self._mentioned: set[str] = set()  # the names in any before= or after= so far
        self._on_death = on_death

    def scope_of(self, sender: Any) -> Scope:
        """Return the scope of a sender; create it if there is none."""
        if sender is ANY:
            return self._shared[ANY_ID]
        scopes, sender_id = self._shared if is_shared(sender) else self._own, id(sender)
        scope = scopes.get(sender_id)
        if scope is not None and scope.is_of(sender):
            return scope
        if scopes is self._shared and (named := self._named_scope(sender)) is not None:
            return named
        new = Scope()
        forget = at_end(sender, scopes, sender_id)
        new.sender = weak(sender, lambda reference: self._end(scopes, sender_id, new, forget))
        if scope is not None:
            _replace(scopes, sender_id, scope, new)
        return scopes.setdefault(sender_id, new)

    def _named_scope(self, sender: Any) -> NamedScope | None:
        """Return the scope for the name of this class or function; create it if there is none. None
        if it cannot be found by its name.
        """
        name = name_of_sender(sender)
        scope = self._named.get(name)
        if scope is None and name is not None and (bearer := Bearer.of(sender, name)) is not None:
            scope = self._named.setdefault(name, NamedScope(bearer))
        if scope is not None and scope.bearer.latest() is not sender:
            scope.bearer.see(sender, is_heir=bool(scope))
        return scope

    def _end(
        self, scopes: dict[int, Scope], sender_id: int, ended: Scope, forget: Callable[[Any], Any],
        # As default values, because module globals are gone at the end of the program.
        is_finalizing: Callable[[], bool] = sys.is_finalizing,
    ) -> None:  # fmt: skip
        if scopes.get(sender_id) is ended and not is_finalizing():
            ended.is_ending = True
            forget(None)
            is_own = scopes is self._own
            self._on_death([], [r for r in ended.in_force() if is_own and r.is_unmet_guard])

    def add(self, scope: Scope, new: Connected) -> None:
        """Activate a connection; an existing one keeps its place in the order.

        Raises:
            HookError: if `before=` and `after=`, its own or those that mention it, form a cycle.
        """
        mentioned = new.options.before + new.options.after
        if mentioned or (self._mentioned and not self._mentioned.isdisjoint(new.names)):
            check_constraints(new, [each for each in self.everything() if each.key != new.key])
            self._mentioned.update(mentioned)
        earlier = None if new.is_layer else scope.earlier(new)
        if earlier is not None:
            new.sequence = earlier.sequence
        scope.add(new)
        if earlier is not None and scope.drop(earlier):
            anew = f"{new.label} on {new.signal.name} was defined again"
            log(INFO, f"{anew}, and replaces the earlier definition")

    def remove(self, key: ReceiverKey, sender: Any) -> list[Any]:
        """Remove a receiver from one sender, or from all with ANY. Return the single objects among
        these.
        """
        had = []
        for scope in self.scopes() if sender is ANY else self._of(id(sender), sender):
            owner = scope.sender() if scope.sender is not None else ANY
            if scope.pop(key, None) and not is_shared(owner):
                had.append(owner)
        return had

    def drop(self, connected: Connected) -> bool:
        """Remove exactly this connection from any scope; return False if it is already gone."""
        owner = connected.sender
        if isinstance(owner, Bearer):
            return self._named[owner.name].drop(connected)
        sender_id = ANY_ID if owner is None else id(owner())
        return sum(scope.drop(connected) for scope in self._at(sender_id)) > 0

    def bury(self, scope: Scope, key: ReceiverKey) -> None:
        """Remove the connections of a weakly referenced receiver that was freed."""
        if not sys.is_finalizing():
            dead = [each for each in scope.get(key, ()) if each.function is None]
            lost = [each for each in dead if scope.drop(each)]
            is_alone = scope.sender is None or scope.sender() is not None
            self._on_death(lost if is_alone else [], [])

    def clear(self) -> None:
        for scope in self.scopes():
            scope.clear()

    def everything(self) -> list[Connected]:
        """Return every connection, including those that another one covers."""
        return [each for scope in self.scopes() for each in scope.everything()]

    def matching(self, sender: Any) -> list[tuple[float, Connected]]:
        """Return the active connections for this sender, each with the distance of its scope."""
        found: list[tuple[float, Connected]] = []
        seen: set[int] = set()
        for distance, scope_id, scoped in scopes_of(sender):
            for scope in self._of(scope_id, scoped):
                if id(scope) not in seen:
                    seen.add(id(scope))
                    for stack in list(scope.values()):
                        if stack and stack[-1].is_enabled and not stack[-1].is_spent:
                            found.append((distance, stack[-1]))
        return found

    def connections(self) -> list[Connected]:
        """Return every active connection, in the order of connecting."""
        found = [each for scope in self.scopes() for each in scope.in_force()]
        return sorted(found, key=lambda each: each.sequence)

    def has_own(self, sender: Any) -> bool:
        """Return whether anything is connected to exactly this sender."""
        for scopes in (self._shared, self._own):
            scope = scopes.get(id(sender))
            if scope and scope.is_of(sender):
                return True
        return False

    def has_shared(self) -> bool:
        """Return whether anything is connected to a class, a function or `ANY`."""
        return any(list(self._shared.values())) or any(list(self._named.values()))

    def own_senders(self) -> list[Any]:
        """Return the single objects that something is connected to."""
        references = [scope.sender for scope in list(self._own.values()) if scope]
        owners = [reference() for reference in references if reference is not None]
        return [owner for owner in owners if owner is not None]

    def _at(self, sender_id: int) -> list[Scope]:
        """Return the scopes under an id; an object and a class never have the same id at the same
        time.
        """
        return [scope for scope in (self._shared.get(sender_id), self._own.get(sender_id)) if scope]

    def _of(self, sender_id: int, sender: Any) -> list[Scope]:
        """Return the scopes of exactly this sender, and of its name."""
        found: list[Scope] = []
        for scopes in (self._shared, self._own):
            scope = scopes.get(sender_id)
            if scope and scope.is_of(sender):
                found.append(scope)
        if self._named and sender is not ANY and is_shared(sender):
            named = self._named.get(name_of_sender(sender))
            if named:
                named.bearer.see(sender)
                found.append(named)
        return found

    def scopes(self) -> list[Scope]:
        return [*self._shared.values(), *self._named.values(), *self._own.values()]
