"""Generate the code that calls a receiver under its conditions and handles common answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from .pieces import Pieces, mine
from .plan import Seat
from .text import story

LOOP_FROM: Final = 12
"""This many consecutive receivers of the same kind, or more, are called in a loop. For fewer, the
code contains each call."""

AND_RESOLVED: Final = (
    "and (type(answer) in READY or (answer := await await_if_needed(answer)) is not None)"
)


class Turns(Pieces):
    """The calls to the receivers of a plan as code."""

    # -- several receivers -------------------------------------------------------------------------

    def modifiers(self, seats: tuple[Seat, ...], kind: str) -> str:
        """Generate the calls to modifiers. A `break` skips the remaining calls."""
        if not seats:
            return ""
        ends = {
            "patch": "if replaced: break", "item": "if dropped: break",
            "rescue": "if rescue is not None: break",
        }  # fmt: skip
        turns = self.turns(seats, kind, ends.get(kind, ""))
        if kind not in ends:
            return turns
        return below("while True:", lines(turns, "break"))

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
        receiver = seat.receiver
        return (
            receiver.role, receiver.is_async, receiver.options.background, seat.timeout is None,
            seat.problem is None, receiver.options.shadow, self.holding(seat), self._wanted(seat),
            id(seat) if self.is_conditional(seat) else 0,
        )  # fmt: skip

    # -- one receiver ------------------------------------------------------------------------------

    @property
    def call(self) -> str:
        """The expression for the record of the call, which is created on first use."""
        made = f"call := call or Call(plan, {self.pieces['sender']})"
        return "call" if "eager" in self.flags else made

    def turn(self, seat: Seat, kind: str, names: tuple[str, str] | None = None) -> str:
        """Generate the call to one receiver under its conditions."""
        name, receiver = names or (self.give("seat", seat), self._watched(seat))
        condition = self.condition(seat, name)
        pieces: dict[str, Any] = {"seat": name, "call": self.call, "condition": condition}
        noted = {"error": "raised", "finally": "leaving"}.get(seat.phase, "None")
        fits = seat.problem is None
        read = self._read(seat, kind, name, receiver) if fits else f"raise_problem({name})"
        more = self.conditions(seat)
        if self._is_alone(kind) and fits:
            take = self.fill(self.taking(kind), **pieces)
            more |= {"enforced"} if not seat.receiver.options.shadow else set()
            return self.fill(story.GUARD, more, {"ask": read, "take": take}, **pieces)
        more |= {"several"} if self.is_beside(seat) else set()
        more |= {"awaited"} if kind in ("wait", "maybe wait") else set()
        more |= {"timed"} if kind in ("look", "maybe wait") and seat.timeout is None else set()
        return self.fill(story.TURN, more, {"read": read}, **pieces, noted=noted)

    def _is_alone(self, kind: str) -> bool:
        """Return whether the answer of a guard is checked after the `try` around its call."""
        return kind in ("guard", "weigh") and "hears_invoked" not in self.flags

    def conditions(self, seat: Seat) -> set[str]:
        """Return the conditions under which a receiver is skipped, by their names in `story`."""
        is_weak = self.holding(seat) == "weak" and seat.problem is None
        found = {"conditional": self.is_conditional(seat), "weak": is_weak}
        return {name for name, is_so in found.items() if is_so}

    def is_conditional(self, seat: Seat) -> bool:
        receiver = seat.receiver
        is_weak = self.holding(seat) == "weak"
        return bool(is_weak or receiver.when or receiver.options.once or seat.is_muted_somewhere)

    def condition(self, seat: Seat, name: str) -> str:
        """Generate the condition under which a receiver is called."""
        if seat.problem is not None:
            return "True"
        receiver, found = seat.receiver, []
        if self.holding(seat) == "weak":
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
        pieces = {"seat": name, "call": self.call, "asked": self.asked(seat, name, receiver)}
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
            parts["take"] = self.taking("look").format_map(pieces)
            return self.fill(text, (), parts, looked=looked, **pieces)
        if self._is_alone(kind):
            return self.fill(story.ASK, (), parts, **pieces)
        rebinding = self._rebinding(name)
        parts["take"] = self.fill(self.taking(kind), parts=rebinding, draft="", **pieces)
        pieces["is_ready"] = ""
        if parts["resolve"] and not view:  # in one condition with the usual check for None
            parts["resolve"] = ""
            pieces["is_ready"] = f" {AND_RESOLVED}"
        return self.fill(story.READ, (), parts, **pieces)

    def taking(self, kind: str) -> str:
        """Return the code that handles an answer, for a kind of receiver.

        `patch` means a modifier of `pre`. `post` and `item` mean modifiers of these phases, and
        `rescue` means a modifier of `error`. `weigh` means a guard of `pre`, which may return Ask,
        and `guard` means any other guard. `look` means an observer.
        """
        texts: dict[str, str] = {
            "patch": story.PATCH, "post": story.REVISE, "item": story.REVISE_ITEM,
            "guard": "apply_guard_answer({call}, {seat}, answer)",
            "weigh": "apply_pre_guard_answer({call}, {seat}, answer)",
            "look": "check_observer_answer({call}, {seat}, answer)",
            "rescue": "rescue = apply_rescue({call}, {seat}, answer)\nbreak",
        }  # fmt: skip
        if kind == "weigh" and "approver" in self.flags:
            return "asking = collect_ask({call}, {seat}, answer, asking)"
        return texts[kind]

    def _rebinding(self, seat: str) -> dict[str, str]:
        def new(name: str) -> str:
            value = f"answer[{name!r}]"
            if name in self.dicts:
                value = f"with_keys({seat}, {name!r}, {mine(name)}, {value})"
            return self.shown(name, value)

        rebind = (f"if {name!r} in answer: {mine(name)} = {new(name)}" for name in self.simple)
        redraft = (
            f"{mine(name)} = {self.shown(name, f'draft[{name!r}]')}" for name in self.simple
        )
        return {"rebind": lines(*rebind) or "pass", "redraft": lines(*redraft) or "pass"}


def below(head: str, text: str) -> str:
    """Place code below a line, with an indentation."""
    return lines(head, *(f"    {line}" for line in text.splitlines()))


def lines(*texts: str) -> str:
    """Join pieces of code with newlines."""
    return "\n".join(filter(None, texts))
