"""Generate the function that asks a question. It calls receivers in place of a method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from .. import modes
from .._callables.parameters import run_without_waiting
from .._calls.plan import Plan, Seat
from .._calls.text import story
from .._calls.turns import lines
from .._calls.writer import Writer
from .asking import NOT_ASKED, Asking, answered, answers_at_once, ask

ASKED: Final = """
result = {empty}
while True:
    <turns>
    break
"""

TAKE_FIRST: Final = """
result = answer if type(answer) in PLAIN else answered({call}, {seat}, answer)
call.said = 'answered'  #? hears_invoked
break
"""

TAKE_ALL: Final = """
result.append(answer if type(answer) in PLAIN else answered({call}, {seat}, answer))
call.said = 'answered'  #? hears_invoked
"""

TAKE_NONE: Final = """
if type(answer) not in PLAIN: answered({call}, {seat}, answer)
"""

MODE: Final = """
result = await ask({round}, call, ({arguments}))  #? async
result = run_without_waiting(ask({round}, call, ({arguments})))  #? !async
"""

ALONE: Final = """
{d}def alone(seat, receiver, {arguments}call):
    if {condition}:
        seat.receiver.has_fired = True
        <INVOKE>
        return answer
    return NOT_ASKED
"""
"""A function that calls a single receiver, for a mode that decides which receivers to call."""

_WRITTEN_OUT: Final[dict[int, tuple[str, str]]] = {
    id(modes.firstresult): ("None", TAKE_FIRST), id(modes.broadcast): ("[]", TAKE_ALL),
    id(modes.void): ("None", TAKE_NONE),
}  # fmt: skip
"""The code of the modes that are compiled, by the id of the mode. Other modes run step by step."""


class QuestionWriter(Writer):
    """Generates the code of one question."""

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
        self.tools = {"answered": answered, "NOT_ASKED": NOT_ASKED}
        if self._is_led:
            self.flags.add("eager")
        self._asking = "Asking(seats)"
        if has_round:
            self._asking, parameters = "round", self.pieces["parameters"]
            self.pieces["owner"] = f"round, {self.pieces['owner']}"
            only = "" if "/" in parameters else "/, "
            self.pieces["parameters"] = f"round, {only}{parameters}".rstrip(", ")

    def inside(self) -> str:
        """Generate the calls to the receivers."""
        answers = self.plan.answers
        if self._is_led:
            return self._led()
        if self._is_beside:
            turns = {"turns": self.turns(answers, "wait")}
            pieces = {"call": self.call, "noted": "None", "take": "answered"}
            return lines("result = None", self.fill(story.OBSERVERS, {"beside"}, turns, **pieces))
        empty, take = _WRITTEN_OUT[id(self._mode)]
        self.takes = {**self.takes, "answer": take}
        after = "if result is not None: break" if self._mode is modes.firstresult else ""
        turns = {"turns": self.turns(answers, "answer", after)}
        return self.fill(ASKED, parts=turns, empty=empty)

    def is_beside(self, seat: Seat) -> bool:
        return self._is_beside if seat in self.plan.answers else super().is_beside(seat)

    def _led(self) -> str:
        self.tools |= {
            "ask": ask, "run_without_waiting": run_without_waiting, "Asking": Asking,
            "seats": self._seats,
        }  # fmt: skip
        for seat in self.plan.answers:
            alone = QuestionWriter(self.plan, self._seats, has_round=True)
            self.plan.turns[seat] = alone._alone(seat)
        return self.fill(MODE, round=self._asking)

    def _alone(self, seat: Seat) -> Callable[..., Any]:
        """Return a function that calls one receiver with the arguments and the call."""
        parts, invocation = {"view": "", "resolve": ""}, "raise_problem(seat)"
        if seat.problem is None:
            resolve = "" if answers_at_once(seat) else self.resolving(seat)
            parts = {"view": self.view(seat), "resolve": resolve}
            invocation = self.invocation(seat, "seat", "receiver")
        pieces = {"seat": "seat", "condition": self.condition(seat, "seat")}
        pieces["invocation"] = invocation
        _, alone = self._made(self.fill(ALONE, (), parts, **pieces))
        return partial(alone, seat, None if seat.holding == "weak" else seat.receiver.function)
