"""An independent model of the design in plain Python: it predicts programs without hookbus.

It was written from the documents alone, and shares no code with hookbus. It has no asyncio, threads
or blinker. All four kinds are one generator: a plain call is a stream without items, and a reader
who leaves early is GeneratorExit.

This module has the caller, the bodies and their inheritance. One hooked call is in `oracle_call`,
and the order in `oracle_order`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .described import (
    ABSENT,
    Connection,
    Program,
    Result,
    Seen,
    comparable,
    comparable_notes,
    plain,
)
from .oracle_call import Call, Story
from .oracle_listeners import Fault
from .oracle_order import is_refused, plan

RECURSION: Final = {"a": 1, "b": 2, "rest": (), "more": {}}


def predict(program: Program) -> Seen:
    """Tell what the caller of `program` sees, who runs in which order with what, and what is told.
    """
    return World(program).play()


class World:
    """Everything that outlives one call of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.log: list[tuple[Any, ...]] = []
        self.spent: set[Connection] = set()
        self.recursions = 1
        self.calls = 0
        self.is_cancelling = False
        self.start = (program.entry or 0) if program.kind == "classmethod" else 0
        self.refused = tuple(
            i for i, one in enumerate(program.connections) if is_refused(program, one)
        )
        self.connected: dict[tuple[str, str], Connection] = {}
        for index, connection in enumerate(program.connections):
            if index not in self.refused:
                self.connected[connection.receiver, connection.scope] = connection

    def play(self) -> Seen:
        """Make the call of the program, as its caller."""
        given = self.program.arguments
        arguments = {
            "a": given.a,
            "b": 2 if given.b is ABSENT else given.b,
            "rest": given.rest,
            "more": dict(given.more),
        }
        story = self.enter(self._definer(self.program.entry or 0), arguments)
        if self.program.cuts_late and self.program.colour != "sync":
            self.connected.clear()
        try:
            outcome = self._consume(story)
        except Fault as fault:
            outcome = (
                "raised",
                fault.kind,
                fault.facts,
                comparable_notes(self.program, fault.notes),
            )
        return Seen(outcome, comparable(self.program, self.log), self.refused)

    def spend(self, connection: Connection) -> None:
        """Take away a connection that was for once: its only turn has come."""
        self.spent.add(connection)
        self.connected = {
            place: one for place, one in self.connected.items() if one is not connection
        }

    def enter(self, k: int, arguments: Mapping[str, Any], parent: int | None = None) -> Story:
        """Call the `work` of K<k>; who listens is settled now, not when the story is first told.

        The first hookable of the MRO runs the hooks; one further up runs bare, whoever calls it.
        """
        if k == self._owner():
            listeners = plan(self.program, self.connected.values(), self.start)
            if listeners or self.program.is_listening or self.program.is_guarded:
                return Call(self, k, arguments, listeners, parent).story()
        return self.body(k, arguments, parent)

    def body(self, k: int, arguments: Mapping[str, Any], parent: int | None) -> Story:
        """Run the bare `work` of K<k>."""
        body = self.program.bodies[k]
        assert body is not None
        seen = plain(arguments)
        self.log.append(("entered", None, k, seen))
        try:
            yield from body.items
            parts = []
            above = self._above(k)
            if body.calls_super and above is not None:
                parts.append((yield from self.enter(above, arguments, parent)))
            if body.recurs and self.recursions:
                self.recursions -= 1
                parts.append((yield from self.enter(self._definer(self.start), RECURSION, parent)))
            return self._end(body.ends, Result(k, seen, tuple(parts)))
        finally:
            if self.program.is_stream:
                self.log.append(("left", None, k))

    def disconnect(self, receiver: str) -> None:
        """Take a receiver out everywhere; who is being asked right now does not notice."""
        self.connected = {
            key: one for key, one in self.connected.items() if one.receiver != receiver
        }

    def is_connected(self, connection: Connection) -> bool:
        """Return whether a connection has not been disconnected meanwhile."""
        return any(one is connection for one in self.connected.values())

    def number(self) -> int:
        """Number one more call."""
        self.calls += 1
        return self.calls

    def _end(self, ends: str, result: Result) -> Any:
        if ends == "return":
            return None if self.program.colour == "async generator" else result
        stop = "StopIteration" if self.program.colour == "sync" else "RuntimeError"
        kinds = {
            "fail": "Broken",
            "stop": stop,
            "interrupt": "Interrupt",
            "cancel": "CancelledError",
            "leave": "CancelledError",
        }
        raise Fault(kinds[ends])

    def _consume(self, story: Story) -> tuple[Any, ...]:
        taken = 0
        try:
            while self.program.takes is None or taken < self.program.takes:
                self.log.append(("got", None, next(story)))
                taken += 1
        except StopIteration as end:
            return ("returned", end.value)
        story.close()
        return ("left",)

    def _is_hookable(self, k: int) -> bool:
        body = self.program.bodies[k]
        return body is not None and body.hookable

    def _owner(self) -> int | None:
        return next((k for k in self.program.mro(self.start) if self._is_hookable(k)), None)

    def _definer(self, k: int) -> int:
        return next(k for k in self.program.mro(k) if self.program.bodies[k] is not None)

    def _above(self, k: int) -> int | None:
        mro = self.program.mro(self.start)
        return next(
            (above for above in mro[mro.index(k) + 1 :] if self.program.bodies[above] is not None),
            None,
        )
