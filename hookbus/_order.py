"""The order receivers of one phase and role run in."""

from __future__ import annotations

from collections.abc import Iterable

from ._receiver import Receiver
from .exceptions import HookError


def in_order(receivers: Iterable[tuple[float, Receiver]]) -> list[Receiver]:
    """Return receivers of one role in the order they run, given each with the distance of its scope.

    Higher priority, nearer scope, earlier connection; then `before=` and `after=`: again and again the first is taken
    for which no predecessor still waits.

    Raises:
        HookError: if `before=` and `after=` make a circle.
    """
    waiting = [r for _, r in sorted(receivers, key=lambda pair: (-pair[1].options.priority, pair[0], pair[1].sequence))]
    if not any(r.options.before or r.options.after for r in waiting):
        return waiting
    done: list[Receiver] = []
    while waiting:
        ready = next((r for r in waiting if not any(precedes(other, r) for other in waiting if other is not r)), None)
        if ready is None:
            circle = ", ".join(sorted({r.label for r in waiting}))
            raise HookError(f"before= and after= go in a circle on {waiting[0].signal_name}: {circle}")
        waiting.remove(ready)
        done.append(ready)
    return done


def check_constraints(new: Receiver, others: list[Receiver]) -> None:
    """Refuse an order that cannot be: a circle, or a constraint against the order of the roles.

    Raises:
        HookError: naming the receivers that cannot both have what they ask for.
    """
    if not any(r.options.before or r.options.after for r in (new, *others)):
        return
    rank = {"modify": 0, "around": 0, "answer": 0, "guard": 1, "observe": 2}
    for other in others:
        for first, second in ((new, other), (other, new)):
            if rank[first.role] > rank[second.role] and precedes(first, second):
                raise HookError(
                    f"{first.label} cannot run before {second.label} on {new.signal_name}: every {second.role} runs before "
                    f"every {first.role}"
                )
    in_order((0.0, receiver) for receiver in (new, *others) if receiver.role == new.role)


def precedes(first: Receiver, second: Receiver) -> bool:
    """Tell whether a `before=` or `after=` puts one receiver ahead of another."""
    return any(is_named(second, name) for name in first.options.before) or any(
        is_named(first, name) for name in second.options.after
    )


def is_named(receiver: Receiver, name: str) -> bool:
    return receiver.name == name or receiver.name.rpartition(".")[2] == name
