"""Generate the code that calls a receiver under its conditions and handles common answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from textwrap import indent
from typing import Any, Final

from .._hooks.ports import advice_of
from .pieces import Pieces, mine
from .plan import Seat
from .text import story

LOOP_FROM: Final = 12
"""This many consecutive receivers of the same kind, or more, are called in a loop. For fewer, the
code contains each call."""

AND_RESOLVED: Final = (
    "and (type(answer) in READY or (answer := await await_if_needed(answer)) is not None)"
)


LOOP_ENDS: Final = {
    "patch": "if replaced: break", "item": "if dropped: break",
    "rescue": "if rescue is not None: break",
}  # fmt: skip
"""For each kind of modifier that can skip the remaining ones, the code after a loop of calls."""

TAKES: Final = {
    "patch": story.PATCH, "post": story.REVISE, "item": story.REVISE_ITEM,
    "guard": "apply_guard_answer({call}, {seat}, answer)",
    "weigh": "apply_pre_guard_answer({call}, {seat}, answer)",
    "ask": "asking = collect_ask({call}, {seat}, answer, asking)",
    "look": "check_observer_answer({call}, {seat}, answer)",
    "rescue": "rescue = apply_rescue({call}, {seat}, answer)\nbreak",
}  # fmt: skip
"""The code that handles an answer, for each kind of receiver.

`patch` means a modifier of `pre`. `post` and `item` mean modifiers of these phases, and `rescue`
means a modifier of `error`. `weigh` means a guard of `pre`, which may return Ask, `ask` the same on
a bus with an approver, and `guard` means any other guard. `look` means an observer.
"""


class Turns(Pieces):
    """The calls to the receivers of a plan as code.

    Attributes:
        takes: the code that handles an answer, for each kind of receiver.
        alone: the kinds whose answers are checked after the `try` around the call, by the template
            GUARD. If `Invoked` has a listener, there is none, and guards use TURN as other
            receivers do.
    """

    takes: Mapping[str, str] = TAKES
    alone: tuple[str, ...] = ("guard", "weigh", "ask")

    # -- several receivers -------------------------------------------------------------------------

    def modifiers(self, seats: tuple[Seat, ...], kind: str) -> str:
        """Generate the calls to modifiers. A `break` skips the remaining calls."""
        if not seats:
            return ""
        turns = self.turns(seats, kind, LOOP_ENDS.get(kind, ""))
        return below("while True:", lines(turns, "break")) if kind in LOOP_ENDS else turns

    def turns(self, seats: Sequence[Seat], kind: str, after_loop: str = "") -> str:
        """Generate calls in sequence. Many similar calls become a loop."""
        if len(seats) < LOOP_FROM:
            return "\n".join([self.turn(seat, kind) for seat in seats])
        texts: list[str] = []
        for _, group in groupby(seats, key=lambda seat: self._likeness(seat)):
            alike = list(group)
            if len(alike) < LOOP_FROM:
                texts += [self.turn(seat, kind) for seat in alike]
                continue
            many = self.give("many", [(seat, self.called(seat)) for seat in alike])
            body = self.turn(alike[0], kind, names=("seat", "receiver"))
            texts.append(below(f"for seat, receiver in {many}:", body))
            texts += [after_loop] if after_loop else []
        return "\n".join(texts)

    def observers(self, seats: tuple[Seat, ...], noted: str = "") -> str:
        """Generate the code that calls observers. Sync observers run in order, and awaited
        observers run concurrently. If an observer raises an exception that ends the call, it is
        raised after all observers have run.
        """
        if len(seats) < 2:
            return self.turns(seats, "look")
        awaited = [seat for seat in seats if self.is_awaited(seat)]
        if self.hook.is_async:
            plain = [seat for seat in seats if not self.is_awaited(seat)]
            turns = lines(self.turns(plain, "maybe wait"), self.turns(awaited, "wait"))
        else:
            turns = self.turns(seats, "look")
        more = {"beside"} if self.hook.is_async else set()
        return self.fill(
            story.OBSERVERS, more, {"turns": turns},
            call=self.call, noted=noted or "None", take="check_observer_answer",
        )  # fmt: skip

    def _likeness(self, seat: Seat) -> Any:
        receiver, fits = seat.receiver, seat.problem is None
        return (
            receiver.role, receiver.is_async, receiver.options.background, seat.timeout is None,
            fits, receiver.options.shadow, seat.holding, id(seat) if seat.conditions else 0,
            fits and self._arguments(seat, receiver.parameters),
        )  # fmt: skip

    # -- one receiver ------------------------------------------------------------------------------

    @property
    def call(self) -> str:
        """The expression for the record of the call, which is created on first use."""
        made = f"call := call or Call(plan, {self.pieces['sender']})"
        return "call" if "eager" in self.flags else made

    def turn(self, seat: Seat, kind: str, names: tuple[str, str] | None = None) -> str:
        """Generate the call to one receiver under its conditions."""
        name, receiver = names or (self.give("seat", seat), self.receiver(seat))
        condition, more = self.condition(seat, name), seat.conditions
        pieces: dict[str, Any] = {"seat": name, "call": self.call, "condition": condition}
        noted = {"error": "raised", "finally": "leaving"}.get(seat.phase, "None")
        fits = seat.problem is None
        read = self._read(seat, kind, name, receiver) if fits else f"raise_problem({name})"
        if kind in self.alone and fits:
            take = self.fill(self.takes[kind], **pieces)
            more |= {"enforced"} if not seat.receiver.options.shadow else set()
            return self.fill(story.GUARD, more, {"invoke": read, "take": take}, **pieces)
        more |= {"several"} if self.is_beside(seat) else set()
        more |= {"awaited"} if kind in ("wait", "maybe wait") else set()
        more |= {"timed"} if kind in ("look", "maybe wait") and seat.timeout is None else set()
        return self.fill(story.TURN, more, {"read": read}, **pieces, noted=noted)

    def condition(self, seat: Seat, name: str) -> str:
        """Generate the condition under which a receiver is called."""
        if seat.problem is not None:
            return "True"
        receiver, found = seat.receiver, []
        if seat.holding == "weak":
            found.append(f"(receiver := {self.give('held', receiver.held)}()) is not None")
        if seat.is_muted_somewhere:
            found.append(f"not {name}.signal.is_muted")
        if receiver.when is not None:
            found.append(self._when(seat))
        if receiver.options.once:
            found.append(f"claimed({name})")
        return " and ".join(found) or "True"

    def _when(self, seat: Seat) -> str:
        when: Any = seat.receiver.when
        if callable(when.condition):
            judge = f"{self.give('when', when.condition)}({self._arguments(seat, when.parameters)})"
            return f"((kept := {judge}) is True or kept is not False and holds(kept))"
        from fnmatch import translate
        from re import compile as pattern

        values = self._values(seat)
        tests = []
        for name, glob in when.condition.items():
            matches = self.give("matches", pattern(translate(glob)).match)
            tests.append(f"{matches}(str({values[name]})) is not None")
        return " and ".join(tests) or "True"

    def _read(self, seat: Seat, kind: str, name: str, receiver: str) -> str:
        view = self.view(seat)
        pieces = {"seat": name, "call": self.call}
        pieces["invocation"] = self.invocation(seat, name, receiver)
        parts = {
            "view": view,
            "resolve": self.resolving(seat) if kind not in ("wait", "maybe wait") else "",
        }
        looked = "view" if view else "None"
        if seat.receiver.options.background:
            arguments = self._arguments(seat, seat.receiver.parameters)
            pieces |= {"receiver": receiver, "arguments": arguments}
            return self.fill(story.START, parts=parts, looked=looked, **pieces)
        if kind == "patch" and view:
            pieces |= {"is_odd": self._odd_draft(), "draft": ", draft"}
            return self.fill(story.DRAFT, parts=parts | self._rebinding(name), **pieces)
        if kind in ("wait", "maybe wait"):
            text = story.WAIT if kind == "wait" else story.MAYBE_WAIT
            parts["take"] = self.takes["look"].format_map(pieces)
            return self.fill(text, (), parts, looked=looked, **pieces)
        if kind in self.alone:
            return self.fill(story.INVOKE, (), parts, **pieces)
        rebinding = self._rebinding(name) if kind == "patch" else {}
        parts["take"] = self.fill(self.takes[kind], parts=rebinding, draft="", **pieces)
        pieces["is_ready"] = ""
        if parts["resolve"] and not view:  # in one condition with the usual check for None
            parts["resolve"] = ""
            pieces["is_ready"] = f" {AND_RESOLVED}"
        return self.fill(story.READ, (), parts, **pieces)

    def _rebinding(self, seat: str) -> dict[str, str]:
        """Generate the code that gives the arguments their values in an answer or a draft."""
        rebind, redraft = [], []
        for name in self.simple:
            value = f"answer[{name!r}]"
            if name in self.dicts and (advice := advice_of(self.hook.bus)) is not None:
                self.tools["with_keys"] = advice.with_keys
                value = f"with_keys({seat}, {name!r}, {mine(name)}, {value})"
            rebind.append(f"if {name!r} in answer: {mine(name)} = {self.shown(name, value)}")
            redraft.append(f"{mine(name)} = {self.shown(name, f'draft[{name!r}]')}")
        return {"rebind": lines(*rebind) or "pass", "redraft": lines(*redraft) or "pass"}


def below(head: str, text: str) -> str:
    """Place code below a line, with an indentation."""
    return lines(head, indent(text, "    "))


def lines(*texts: str) -> str:
    """Join pieces of code with newlines."""
    return "\n".join(filter(None, texts))
