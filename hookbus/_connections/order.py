"""The order receivers of one phase and role run in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..exceptions import HookError
from .receiver import Connected


def in_order(receivers: Iterable[tuple[float, Connected]]) -> list[Connected]:
    """Return receivers of one role in the order they run, given each with the distance of its scope.

    Higher priority, nearer scope, earlier connection; then `before=` and `after=`: again and again the first is taken
    for which no predecessor still waits.

    Raises:
        HookError: if `before=` and `after=` make a circle.
    """
    in_turn = [r for _, r in sorted(receivers, key=lambda pair: (-pair[1].options.priority, pair[0], pair[1].sequence))]
    return _constrained(in_turn) if any(r.options.before or r.options.after for r in in_turn) else in_turn


def _constrained(waiting: list[Connected]) -> list[Connected]:
    from heapq import heappop, heappush  # not needed by those who name nobody

    followers = _followers(waiting)
    waits_for = Counter(place for places in followers.values() for place in places)
    ready, done = [place for place in range(len(waiting)) if not waits_for[place]], []
    while ready:
        done.append(heappop(ready))
        for place in followers.get(done[-1], ()):
            waits_for[place] -= 1
            if not waits_for[place]:
                heappush(ready, place)
    if len(done) < len(waiting):
        stuck = set(range(len(waiting))).difference(done)
        circle = ", ".join(sorted({waiting[place].label for place in stuck}))
        raise HookError(f"before= and after= go in a circle on {waiting[0].signal.name}: {circle}")
    return [waiting[place] for place in done]


def _followers(receivers: list[Connected]) -> dict[int, set[int]]:
    """Return for the place of each receiver the places of those that a `before=` or `after=` puts behind it."""
    named: dict[str, list[int]] = {}
    for place, receiver in enumerate(receivers):
        for name in receiver.names:
            named.setdefault(name, []).append(place)
    followers: dict[int, set[int]] = {}
    for place, receiver in enumerate(receivers):
        for name in receiver.options.before:
            followers.setdefault(place, set()).update(named.get(name, ()))
        for name in receiver.options.after:
            for first in named.get(name, ()):
                followers.setdefault(first, set()).add(place)
    for place, behind in followers.items():
        behind.discard(place)
    return followers


def check_constraints(new: Connected, others: list[Connected]) -> None:
    """Refuse an order that cannot be: a circle, or a constraint against the order of the roles.

    Raises:
        HookError: naming the receivers that cannot both have what they ask for.
    """
    rank = {"modify": 0, "around": 0, "answer": 0, "guard": 1, "observe": 2}
    for other in others:
        for first, second in ((new, other), (other, new)):
            if rank[first.role] > rank[second.role] and precedes(first, second):
                raise HookError(
                    f"{first.label} cannot run before {second.label} on {new.signal.name}: every {second.role} runs before "
                    f"every {first.role}"
                )
    in_order((0.0, receiver) for receiver in (new, *others) if receiver.role == new.role)


def precedes(first: Connected, second: Connected) -> bool:
    """Tell whether a `before=` or `after=` puts one receiver ahead of another."""
    return any(is_named(second, name) for name in first.options.before) or any(
        is_named(first, name) for name in second.options.after
    )


def is_named(receiver: Connected, name: str) -> bool:
    return name in receiver.names
