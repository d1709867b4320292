"""Generate the code of arounds: their calls, and the `call_next` of each of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .attempts import ENDED
from .plan import Seat
from .text import story
from .turns import Turns, lines


class Arounds(Turns):
    """The arounds of a plan as code.

    Attributes:
        count: the number of arounds.
    """

    count: int

    def functions(self) -> str:
        """Generate the `call_next` of each around, the innermost first."""
        return lines(*(self._next(i) for i in reversed(range(self.count))))

    @cached_property
    def levels(self) -> list[str]:
        """The code of the calls to the arounds. A repeated attempt uses the same code."""
        return [self._level(i) for i in range(self.count)]

    def _late(self, i: int) -> str:
        """Generate the condition that around number `i`, or an around outside it, has ended."""
        ended = [f"mark_{j} >= {ENDED}" for j in range(i + 1)]
        return " or ".join([*ended, "late()"] if "nested" in self.flags else ended)

    def _next(self, i: int) -> str:
        """Generate the `call_next` of around number `i`."""
        changed, shut, result = f"mark_{i}, mark_{i + 1}", " or call.is_over", "answer"
        pieces: dict[str, Any] = {"i": i, "seat": self._seat_name(i), "late": self._late(i)}
        if i == self.count - 1:
            edited = self.flags >= {"nested", "approver"}  # by the approver
            changed, result = f"mark_{i}", "result"
            changed += f", {self.pieces['params']}" if edited and self.names else ""
            late = self._late(i - 1)
            shut = " or call.is_over or call.blocked is not None" + (f" or {late}" if late else "")
            deeper = self.fill(story.INNERMOST, **pieces)
        else:
            deeper = self.fill(story.DEEPER, parts={"level": self.levels[i + 1]}, i=i, j=i + 1)
        pieces |= {"changed": changed, "shut": shut, "result": result}
        return self.fill(story.NEXT, parts={"deeper": deeper}, **pieces)

    def _level(self, i: int) -> str:
        """Generate the call to around number `i`."""
        seat, name = self.plan.phases["around"].modify[i], self._seat_name(i)
        pieces: dict[str, Any] = {"i": i, "seat": name, "condition": self.condition(seat, name)}
        if seat.problem is not None:
            turn = f"raise_problem({name})"
        else:
            text = story.AROUND_STREAM_TURN if self.hook.is_stream else story.AROUND_TURN
            call_next = f"recorded(next_{i}, opened_{i})" if self.hook.is_stream else f"next_{i}"
            invocation = self.invocation(seat, name, self.receiver(seat), call_next)
            parts = {"view": self.view(seat), "resolve": self.resolving(seat)}
            turn = self.fill(text, (), parts, invocation=invocation, **pieces)
        return self.fill(story.LEVEL, seat.conditions, {"turn": turn}, **pieces)

    def _seat_name(self, i: int) -> str:
        seat: Seat = self.plan.phases["around"].modify[i]
        name = f"around{i}"
        self.given[name] = seat
        return name
