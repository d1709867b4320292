"""The receivers of one call in order, by section 3's rule of order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .described import ROLES, Connection, Program

FAR = 1000


def is_refused(program: Program, connection: Connection) -> bool:
    """Whether `connect` has to raise: what cannot work is known as soon as the hook is."""
    receiver = program.receiver(connection.receiver)
    if connection.early or not _is_known(program, connection.scope):
        return False
    is_async_on_sync = receiver.colour == "async" and not program.is_async
    is_late_guard = program.is_stream and (receiver.phase, receiver.role) == ("post", "guard")
    return is_async_on_sync or is_late_guard or receiver.asks == "misfit"


def plan(
    program: Program, connected: Iterable[Connection], start: int
) -> dict[tuple[str, str], list[Connection]]:
    """Return who is to be asked, by phase and role, for a sender whose class (or which itself) is
    K<start>.
    """
    plans: dict[tuple[str, str], list[tuple[int, int, Connection]]] = {}
    for place, connection in enumerate(connected):
        distance = _distance(program, connection, program.mro(start))
        if distance is not None:
            receiver = program.receiver(connection.receiver)
            plans.setdefault((receiver.phase, receiver.role), []).append(
                (distance, place, connection)
            )
    return {key: _without_repeats(_in_order(group)) for key, group in plans.items()}


def roles_in_order(phase: str) -> Sequence[str]:
    """The roles a phase has, in the order in which they are asked; an around has none, here it is
    called a modifier.
    """
    return {"around": ("modify",), "error": ("modify", "observe"), "finally": ("observe",)}.get(
        phase, ROLES
    )


def _is_known(program: Program, scope: str) -> bool:
    """Whether there is a hookable for this scope, by which a receiver can be judged."""
    start = int(scope[1:]) if scope.startswith("K") else 0
    bodies = program.bodies if scope == "any" else [program.bodies[k] for k in program.mro(start)]
    return any(body is not None and body.hookable for body in bodies)


def _distance(program: Program, connection: Connection, mro: tuple[int, ...]) -> int | None:
    """How far the scope is from the sender, None where it does not hold for it."""
    if connection.scope in ("self", "any"):
        return 0 if connection.scope == "self" else FAR
    if connection.scope == "stranger" or program.kind in ("staticmethod", "function"):
        return None
    index = int(connection.scope.removeprefix("K"))
    return 1 + mro.index(index) if index in mro else None


def _in_order(group: list[tuple[int, int, Connection]]) -> list[Connection]:
    """Higher priority, nearer scope, earlier connection; whoever waits for somebody lets the next
    one pass.
    """
    waiting = [row[2] for row in sorted(group, key=lambda row: (-row[2].priority, row[0], row[1]))]
    ordered = []
    while waiting:
        free = next(
            one
            for one in waiting
            if not any(_precedes(other, one) for other in waiting if other is not one)
        )
        waiting.remove(free)
        ordered.append(free)
    return ordered


def _precedes(one: Connection, other: Connection) -> bool:
    return other.receiver in one.before or one.receiver in other.after


def _without_repeats(ordered: list[Connection]) -> list[Connection]:
    """A receiver runs once, at its first place; what was connected with other options is another
    connection.
    """
    kept: dict[object, Connection] = {}
    for connection in ordered:
        is_glob_or_none = connection.when in (None, "glob")
        options = (connection.priority, connection.on_error, connection.when, connection.timed)
        options += (connection.shadow,)
        key = (
            (connection.receiver, options) if is_glob_or_none else connection
        )  # no two predicates are the same
        kept.setdefault(key, connection)
    return list(kept.values())
