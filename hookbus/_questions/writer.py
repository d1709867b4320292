"""Writes the function that asks a question: a call like any other, with receivers where a hookable has its method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from .. import modes
from .._calls.plan import Plan, Seat
from .._calls.text import fresh, sealed
from .._calls.writer import TOOLS, Writer, Written
from .._hooks.shell import compiled
from .asking import NOT_ASKED, Round, answered, ask, ask_async

FIRST: Final = """
result = None
while True:
    <turns>
    break
"""

TAKE_FIRST: Final = """
result = answer if type(answer) in PLAIN else answered({call}, {seat}, answer)
break
"""

ALL: Final = """
result = []
<turns>
"""

TAKE_ALL: Final = """
result.append(answer if type(answer) in PLAIN else answered({call}, {seat}, answer))
"""

NONE: Final = """
result = None
<turns>
"""

TAKE_NONE: Final = """
if type(answer) not in PLAIN: answered({call}, {seat}, answer)
"""

BESIDE: Final = """
waiting, result = [], None
<turns>
out = await beside({call}, waiting, answered, None, None)
if out is not None:
    try: raise out
    finally: out = None
"""

MODE: Final = """
result = {w}ask({round}, call, ({arguments}))
"""

ASKED: Final = """
{d}def {name}(seat, receiver, {arguments}call):
    if {condition}:
        seat.receiver.has_fired = True
        <view>
        answer = {asked}
        <settle>
        return answer
    return NOT_ASKED
"""
"""The turn of one receiver by itself, for a mode that says whom to ask."""

_WRITTEN_OUT: Final[dict[Any, tuple[str, str]]] = {
    modes.firstresult: (FIRST, TAKE_FIRST), modes.broadcast: (ALL, TAKE_ALL), modes.void: (NONE, TAKE_NONE),
}  # fmt: skip
"""Modes that are written out; any other is led as it runs."""


class QuestionWriter(Writer):
    """Writes the text of one question."""

    def __init__(self, plan: Plan, seats: Any) -> None:
        super().__init__(plan)
        self._seats = seats
        spec: Any = plan.hook
        self._mode = spec.rules.steps
        self._is_led = self._mode not in _WRITTEN_OUT or bool(spec.open_scopes) or spec.rules.is_historic
        several = self._mode is modes.void and len(plan.answers) > 1
        self._is_beside = several and not self._is_led and all(self.is_awaited(seat) for seat in plan.answers)
        self._is_led = self._is_led or (several and not self._is_beside)
        self._round = ""
        self.tools = {"answered": answered}
        if self._is_led:
            self.flags.add("eager")

    def written_for_rounds(self) -> Written:
        """Return the function that asks everybody; it is given the round that keeps what they answer."""
        twin = QuestionWriter(self.plan, self._seats)
        twin._is_led, twin._round = True, "round_"
        twin.flags.add("eager")
        twin.pieces["owner"] = f"round_, {self.pieces['owner']}"
        twin.pieces["parameters"] = f"round_, /, {self.pieces['parameters']}".rstrip(", ").replace("/, /", "/")
        if "/" in self.pieces["parameters"]:
            twin.pieces["parameters"] = f"round_, {self.pieces['parameters']}"
        return twin.written()

    def inside(self) -> str:
        """Write how the receivers are asked."""
        answers = self.plan.answers
        if self._is_led:
            return self._led()
        if self._is_beside:
            return self.fill(BESIDE, parts={"turns": self.turns(answers, "wait")}, call=self.call)
        text, _ = _WRITTEN_OUT[self._mode]
        after = "if result is not None: break" if self._mode is modes.firstresult else ""
        return self.fill(text, parts={"turns": self.turns(answers, "answer", after) or "pass"})

    def taking(self, kind: str) -> str:
        return _WRITTEN_OUT[self._mode][1] if kind == "answer" else super().taking(kind)

    def is_beside(self, seat: Seat) -> bool:
        return self._is_beside if seat in self.plan.answers else super().is_beside(seat)

    def offered(self, seat: Seat) -> tuple[str, ...]:
        # The author of a question chose its words: an argument called `ctx` is that argument.
        return tuple(name for name in super().offered(seat) if name not in self.names)

    def _led(self) -> str:
        self.tools |= {"ask": ask_async if self.hook.is_async else ask, "Round": Round, "asked_seats": self._seats}
        self.plan.turns.update((seat, self._turn_of(seat)) for seat in self.plan.answers)
        return self.fill(MODE, round=self._round or "Round(asked_seats)")

    def _turn_of(self, seat: Seat) -> Callable[..., Any]:
        asks_ctx = "ctx" in seat.receiver.asks.names and "ctx" in self.offered(seat)
        kept, self.given = self.given, {}
        numbers, self._numbers = self._numbers, {}
        parts = {"view": f"view = ReadOnly({self.pieces['shown']})" if asks_ctx else "", "settle": self.settle(seat)}
        if seat.problem is not None:
            parts, asked = {"view": "", "settle": ""}, "misfit(seat)"
        else:
            asked = self.asked(seat, "seat", "receiver")
        text = self.fill(ASKED, parts=parts, name="asked_one", asked=asked, condition=self.condition(seat, "seat"))
        own, self.given, self._numbers = self.given, kept, numbers
        if "sender" in kept:
            own["sender"] = kept["sender"]
        source, scope = sealed(text, self.names, {**TOOLS, "NOT_ASKED": NOT_ASKED, **own})
        exec(fresh(compiled(source)), scope)
        return partial(scope["asked_one"], seat, None if self.holding(seat) == "weak" else seat.receiver.function)

