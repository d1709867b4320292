"""The order receivers of one phase and role run in."""

from __future__ import annotations

from collections.abc import Iterable

from ..exceptions import HookError
from .receiver import Connected


def in_order(receivers: Iterable[tuple[float, Connected]]) -> list[Connected]:
    """Return receivers of one role in the order they run, given each with the distance of its
    scope.

    Higher priority, nearer scope, earlier connection; then `before=` and `after=`: again and again
    the first is taken for which no predecessor still waits.

    Raises:
        HookError: if `before=` and `after=` make a circle.
    """
    def rank(pair: tuple[float, Connected]) -> tuple[float, float, int]:
        return -pair[1].options.priority, pair[0], pair[1].sequence

    in_turn = [each for _, each in sorted(receivers, key=rank)]
    is_constrained = any(each.options.before or each.options.after for each in in_turn)
    return _constrained(in_turn) if is_constrained else in_turn


def _constrained(waiting: list[Connected]) -> list[Connected]:
    from graphlib import CycleError, TopologicalSorter  # not needed by those who name nobody
    from heapq import heappop, heappush

    sorter, ready, done = TopologicalSorter(_predecessors(waiting)), list[int](), list[Connected]()
    try:
        sorter.prepare()
    except CycleError as error:
        circle = ", ".join(sorted({waiting[place].label for place in error.args[1]}))
        raise HookError(
            f"before= and after= go in a circle on {waiting[0].signal.name}, leave one of them "
            f"out: {circle}"
        ) from None
    while sorter.is_active():
        for place in sorter.get_ready():
            heappush(ready, place)
        done.append(waiting[first := heappop(ready)])
        sorter.done(first)
    return done


def _predecessors(receivers: list[Connected]) -> dict[int, set[int]]:
    """Return for the place of each receiver the places of those that a `before=` or `after=` puts
    ahead.
    """
    named: dict[str, list[int]] = {}
    for place, receiver in enumerate(receivers):
        for name in receiver.names:
            named.setdefault(name, []).append(place)
    ahead: dict[int, set[int]] = {place: set() for place in range(len(receivers))}
    for place, receiver in enumerate(receivers):
        for name in receiver.options.before:
            for behind in named.get(name, ()):
                ahead[behind].add(place)
        for name in receiver.options.after:
            ahead[place].update(named.get(name, ()))
    for place, others in ahead.items():
        others.discard(place)
    return ahead


def check_constraints(new: Connected, others: list[Connected]) -> None:
    """Refuse an order that cannot be: a circle, or a constraint against the order of the roles.

    Raises:
        HookError: naming the receivers that cannot both have what they ask for.
    """
    rank = {"modify": 0, "around": 0, "answer": 0, "guard": 1, "observe": 2}
    for other in others:
        for first, second in ((new, other), (other, new)):
            is_ahead = any(name in second.names for name in first.options.before)
            is_ahead |= any(name in first.names for name in second.options.after)
            if rank[first.role] > rank[second.role] and is_ahead:
                raise HookError(
                    f"{first.label} cannot run before {second.label} on {new.signal.name}: every "
                    f"{second.role} runs before every {first.role}"
                )
    in_order((0.0, receiver) for receiver in (new, *others) if receiver.role == new.role)
