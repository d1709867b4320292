"""Determine the order in which the receivers of one phase and role run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ..exceptions import HookError
from .receiver import Connected


def in_order(receivers: Iterable[tuple[float, Connected]]) -> list[Connected]:
    """Return the receivers of one role in the order in which they run. Each receiver is passed
    together with the distance of its scope. Receivers with a higher priority come first, then
    receivers with a nearer scope, then earlier connections. `before=` and `after=` take precedence:
    the next receiver is always the first one whose predecessors have all been placed. If several
    connections of one receiver have the same options, only the first is returned.

    Raises:
        HookError: if `before=` and `after=` form a cycle.
    """
    in_turn: list[Connected] = []
    is_constrained = False
    ahead: dict[tuple[int, ...], list[Any]] = {}
    for _, each in sorted(receivers, key=_rank):
        before, own = ahead.setdefault(each.key, []), (each.options, each.on_error)
        if own in before:
            continue
        before.append(own)
        in_turn.append(each)
        is_constrained = is_constrained or bool(each.options.before or each.options.after)
    return _constrained(in_turn) if is_constrained else in_turn


def _rank(pair: tuple[float, Connected]) -> tuple[float, float, int]:
    return -pair[1].options.priority, pair[0], pair[1].sequence


def _constrained(waiting: list[Connected]) -> list[Connected]:
    from graphlib import CycleError, TopologicalSorter  # only needed for before= and after=
    from heapq import heappop, heappush

    named = defaultdict[str, set[int]](set)
    for index, receiver in enumerate(waiting):
        for name in receiver.names:
            named[name].add(index)
    sorter, ready, done = TopologicalSorter[int](), list[int](), list[Connected]()
    for index, receiver in enumerate(waiting):
        before, after = receiver.options.before, receiver.options.after
        sorter.add(index, *[each for name in after for each in named[name] - {index}])
        for behind in [each for name in before for each in named[name] - {index}]:
            sorter.add(behind, index)
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = ", ".join(sorted({waiting[place].label for place in error.args[1]}))
        raise HookError(
            f"before= and after= form a cycle on {waiting[0].signal.name}; remove one of them "
            f"from these receivers: {cycle}"
        ) from None
    while sorter.is_active():
        for place in sorter.get_ready():
            heappush(ready, place)
        done.append(waiting[first := heappop(ready)])
        sorter.done(first)
    return done


def check_constraints(new: Connected, others: list[Connected]) -> None:
    """Raise HookError for an impossible order: a cycle, or a constraint that contradicts the order
    of the roles.

    Raises:
        HookError: with a message that names the receivers whose constraints conflict.
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
