"""Writes the function that asks: a call like any other, with receivers in the place of a method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from .. import modes
from .._calls.plan import Plan, Seat
from .._calls.text import own_code, sealed
from .._calls.writer import TOOLS, Writer
from .._hooks.shell import compiled
from .asking import NOT_ASKED, Round, answered, answers_at_once, ask
from .providers import unwaited

FIRST: Final = """
result = None
while True:
    <turns>
    break
"""

TAKE_FIRST: Final = """
result = answer if type(answer) in PLAIN else answered({call}, {seat}, answer)
call.said = 'answered'  #? hears_asked
break
"""

ALL: Final = """
result = []
<turns>
"""

TAKE_ALL: Final = """
result.append(answer if type(answer) in PLAIN else answered({call}, {seat}, answer))
call.said = 'answered'  #? hears_asked
"""

NONE: Final = """
result = None
<turns>
"""

TAKE_NONE: Final = """
if type(answer) not in PLAIN: answered({call}, {seat}, answer)
"""

BESIDE: Final = """
waiting, result, out = [], None, None
<turns>
out = await beside({call}, waiting, answered, None, out)
if out is not None:
    try: raise out
    finally: out = None
"""

MODE: Final = """
result = await ask({round}, call, ({arguments}))  #? async
result = unwaited(ask({round}, call, ({arguments})))  #? !async
"""

ALONE: Final = """
{d}def alone(seat, receiver, {arguments}call):
    if {condition}:
        seat.receiver.has_fired = True
        <view>
        answer = {asked}
        <settle>
        check_untampered(seat, view, answer)  #? view
        return answer
    return NOT_ASKED
"""
"""The turn of one receiver by itself, for a mode that says whom to ask."""

_WRITTEN_OUT: Final[dict[int, tuple[str, str]]] = {
    id(modes.firstresult): (FIRST, TAKE_FIRST), id(modes.broadcast): (ALL, TAKE_ALL),
    id(modes.void): (NONE, TAKE_NONE),
}  # fmt: skip
"""Modes that are written out, by their ids; any other is led as it runs."""


class QuestionWriter(Writer):
    """Writes the text of one question."""

    def __init__(self, plan: Plan, seats: Any, *, has_round: bool = False) -> None:
        super().__init__(plan)
        self._seats = seats
        spec: Any = plan.hook
        self._mode = spec.rules.mode
        is_kept = has_round or bool(spec.open_scopes) or spec.rules.is_historic
        several = self._mode is modes.void and len(plan.answers) > 1
        self._is_beside = several and all(self.is_awaited(seat) for seat in plan.answers)
        self._is_led = is_kept or id(self._mode) not in _WRITTEN_OUT or several != self._is_beside
        self._is_beside = self._is_beside and not self._is_led
        self.tools = {"answered": answered}
        if self._is_led:
            self.flags.add("eager")
        self._round = "Round(seats)"
        if has_round:
            self._round, parameters = "round", self.pieces["parameters"]
            self.pieces["owner"] = f"round, {self.pieces['owner']}"
            only = "" if "/" in parameters else "/, "
            self.pieces["parameters"] = f"round, {only}{parameters}".rstrip(", ")

    def inside(self) -> str:
        """Write how the receivers are asked."""
        answers = self.plan.answers
        if self._is_led:
            return self._led()
        if self._is_beside:
            return self.fill(BESIDE, parts={"turns": self.turns(answers, "wait")}, call=self.call)
        text, _ = _WRITTEN_OUT[id(self._mode)]
        after = "if result is not None: break" if self._mode is modes.firstresult else ""
        return self.fill(text, parts={"turns": self.turns(answers, "answer", after) or "pass"})

    def taking(self, kind: str) -> str:
        return _WRITTEN_OUT[id(self._mode)][1] if kind == "answer" else super().taking(kind)

    def is_beside(self, seat: Seat) -> bool:
        return self._is_beside if seat in self.plan.answers else super().is_beside(seat)

    def offered(self, seat: Seat) -> tuple[str, ...]:
        # The author of a question chose its words: an argument called `ctx` is that argument.
        return tuple(name for name in super().offered(seat) if name not in self.names)

    def _led(self) -> str:
        self.tools |= {"ask": ask, "unwaited": unwaited, "Round": Round, "seats": self._seats}
        for seat in self.plan.answers:
            alone = QuestionWriter(self.plan, self._seats, has_round=True)
            self.plan.turns[seat] = alone._alone(seat)
        return self.fill(MODE, round=self._round)

    def _alone(self, seat: Seat) -> Callable[..., Any]:
        """Return the turn of a receiver as a function of the arguments and the call."""
        asks_ctx = "ctx" in seat.receiver.asks.names and "ctx" in self.offered(seat)
        view, settle, asked = "", "", "misfit(seat)"
        if seat.problem is None:
            view = f"view = ReadOnly({self.pieces['shown']})" if asks_ctx else ""
            settle = "" if answers_at_once(seat) else self.settle(seat)
            asked = self.asked(seat, "seat", "receiver")
        text = self.fill(
            ALONE, ["view"] if view else [], {"view": view, "settle": settle},
            asked=asked, condition=self.condition(seat, "seat"),
        )  # fmt: skip
        tools = {**TOOLS, "NOT_ASKED": NOT_ASKED, **self.given}
        source, scope = sealed(text, self.names, tools)
        exec(own_code(compiled(source)), scope)
        is_weak = self.holding(seat) == "weak"
        return partial(scope.pop("alone"), seat, None if is_weak else seat.receiver.function)
