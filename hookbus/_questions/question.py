"""One question under way: whom the mode asks, what they answer, and what their failures do."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import attrs

from .. import modes
from .._calls.asking import ask, side_by_side, wrong_return
from .._calls.call import Action, Call, Over
from .._calls.cancels import is_cancelled_error
from .._calls.context import VERDICTS, Block
from .._calls.plan import Seat
from .._calls.turns import Answer, Turn
from .._calls.workers import Deadline
from .._connections.phases import ANSWER
from .._connections.wanted import Asks, Connectable
from ..exceptions import HookError
from .providers import Scope, is_manager
from .spec import Past, Seats, Spec

_ACTIONS: dict[str, Action] = {"isolate": "isolated", "block": "blocked", "raise": "raised"}


@attrs.define(eq=False)
class Attempt:
    """What came of asking once; where an around asks again, or several times at once, each time has its own.

    Attributes:
        kwargs: the arguments.
        answers: what was answered so far, in the order it was asked for.
        failures: who failed so far, likewise.
        given: the last answer of each.
        keys: of `dedup`, what has been answered.
    """

    kwargs: dict[str, Any] = attrs.field(factory=dict)
    answers: list[modes.Answer[Any]] = attrs.field(factory=list)
    failures: list[modes.Answer[Any]] = attrs.field(factory=list)
    given: dict[Seat, modes.Answer[Any]] = attrs.field(factory=dict)
    keys: set[Any] = attrs.field(factory=set)

    def take(self, seat: Seat, answer: modes.Answer[Any]) -> None:
        self.given[seat] = answer
        (self.answers if answer.error is None else self.failures).append(answer)


@attrs.define(eq=False)
class Question(Call):
    """One call of a hookspec: a call like any other, with receivers where a hookable has its method.

    Attributes:
        seats: who may be asked, in order; settled when the question is asked.
        past: the entry of a historic question; the others have none until they are really asked.
        asks_all: whether everyone is asked whatever the mode needs.
        scope: the scope it is asked in.
        attempt: what came of it; of the last attempt where an around repeats it.
    """

    seats: Seats = ()
    past: Past | None = None
    asks_all: bool = False
    scope: Scope | None = None
    attempt: Attempt = attrs.field(factory=Attempt)
    _came: dict[Seat, modes.Answer[Any]] = attrs.field(factory=dict)
    _blocks: dict[Seat, Block] = attrs.field(factory=dict)

    @property
    def spec(self) -> Spec:
        spec: Spec = self.hook  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
        return spec

    def inside(self, kwargs: dict[str, Any]) -> Generator[Any, Any, Answer]:
        """Do as the mode says; what it makes of the answers, or the fallback, is the result."""
        self.attempt = attempt = Attempt(kwargs)
        if self.spec.rules.is_historic and self.past is None:
            self.past = Past(self.values, {seat.receiver.sequence for _, seat in self.seats})
            self.spec.history.append(self.past)
        try:
            return (yield from self._or_fallback(attempt, (yield from self._follow_mode(attempt))))
        except Over:
            raise
        except BaseException as error:  # the mode's own, or that of its result, as a method's would be
            return Answer(error=error)

    def _follow_mode(self, attempt: Attempt) -> Generator[Any, Any, Any]:
        """Ask whom the mode wants to ask, until it has a result."""
        ready = (yield from self._ask_all(attempt)) if self.asks_all else None
        sent: Any = None
        with closing(self.spec.rules.steps([token for token, _ in self.seats])) as steps:
            while True:
                try:
                    request = steps.send(sent)
                except StopIteration as end:
                    return end.value
                if isinstance(request, modes.Reject):
                    self._reject(attempt, request)
                    sent = None
                elif ready is not None:
                    sent = [ready[seat] for seat in self._wanted(request)]
                else:
                    sent = yield from self._ask(attempt, self._wanted(request))

    def _wanted(self, request: Any) -> list[Seat]:
        """Return the receivers a mode wants to ask."""
        known = {id(token): seat for token, seat in self.seats}
        if not isinstance(request, Sequence) or any(id(token) not in known for token in request):
            instead = "it yields lists of the receivers it was given"
            raise HookError(f"the mode of {self.spec.name} yielded {request!r:.60}; {instead}")
        return [known[id(token)] for token in request]

    def _reject(self, attempt: Attempt, rejected: modes.Reject) -> None:
        """Make an answer that the mode cannot use a failure of who gave it."""
        seat = next((seat for seat, answer in attempt.given.items() if answer is rejected.answer), None)
        if seat is None:
            raise HookError(f"the mode of {self.spec.name} rejects an answer that nobody gave")
        attempt.answers = [answer for answer in attempt.answers if answer is not rejected.answer]
        self.failed(seat, HookError(
            f"{seat.receiver.label} answered {self.spec.name} with what it cannot use: {rejected.reason}"
        ))  # fmt: skip
        attempt.take(seat, self._came.pop(seat))

    def _ask_all(self, attempt: Attempt) -> Generator[Any, Any, dict[Seat, modes.Answer[Any]]]:
        """Ask everybody, side by side where the mode does; who ends the question does so once all are settled."""
        seats = [seat for _, seat in self.seats]
        ready: dict[Seat, modes.Answer[Any]] = {}
        for wanted in [seats] if self.spec.rules.steps is modes.void else [[seat] for seat in seats]:
            try:
                ready.update(zip(wanted, (yield from self._ask(attempt, wanted))))
            except Over:
                if self.way_out is not None and not isinstance(self.way_out, Exception):
                    raise
        if self.ending is not None:
            raise Over
        return ready

    def _ask(self, attempt: Attempt, seats: Sequence[Seat]) -> Generator[Any, Any, list[modes.Answer[Any]]]:
        """Ask one, or several side by side; a receiver that was not asked has an answer without a value."""
        self.kwargs = attempt.kwargs  # another attempt may have begun meanwhile
        read = partial(self._read, attempt)
        if len(seats) == 1:
            yield from ask(self, seats[0], set(), partial(read, seats[0]))
        else:
            yield from side_by_side(self, seats, read)
        given = {seat: self._came.pop(seat) for seat in seats if seat in self._came}
        if self.scope is not None:
            for seat, answer in given.items():
                given[seat] = yield from self._provided(seat, answer, self.scope)
        for seat in seats:
            if seat in self._blocks and self.ending is None:
                self.block(seat, self._blocks[seat])
        for seat, answer in given.items():
            attempt.take(seat, answer)
        return [given.get(seat) or _answer(seat) for seat in seats]

    def _read(self, attempt: Attempt, seat: Seat, value: Any) -> None:
        """Keep an answer, or raise if it is none."""
        if isinstance(value, Block) and self.spec.rules.steps is not modes.void:
            self._blocks[seat] = value
        elif isinstance(value, VERDICTS):
            wrong_return(seat, value, "an answer, or None for none: a question has nothing to drop or replace")
        self._came[seat] = _answer(seat, self._without_doubles(attempt, value))

    def _without_doubles(self, attempt: Attempt, value: Any) -> Any:
        """Return an answer without what was answered before, by the key of `dedup=`."""
        key = self.spec.rules.dedup
        if key is None or value is None or isinstance(value, Block):
            return value
        seen, is_many = set(attempt.keys), isinstance(value, (list, tuple))
        kept = []
        for item in value if is_many else [value]:
            its_key = key(item)
            if its_key not in seen:
                seen.add(its_key)
                kept.append(item)
        attempt.keys = seen
        if is_many:
            return tuple(kept) if isinstance(value, tuple) else kept
        return kept[0] if kept else None

    def _or_fallback(self, attempt: Attempt, result: Any) -> Generator[Any, Any, Answer]:
        rules = self.spec.rules
        is_none = not result if rules.fallback_on == "falsy" else all(answer.value is None for answer in attempt.answers)
        if rules.fallback is None or rules.fallback_asks is None or not is_none:
            return Answer(result)
        args, named = rules.fallback_asks.serve(attempt.kwargs, {})
        answer: Answer = yield Turn(partial(rules.fallback, *args, **named), frame=self.own_frame, is_receiver=False)
        return answer

    # -- providers ------------------------------------------------------------------------------------------------------

    def turn(self, seat: Seat, function: Connectable, kwargs: Mapping[str, Any], offered: Mapping[str, Any]) -> Turn:
        """Return the call of one receiver; one that has provided in this scope is not called again."""
        if seat.phase == ANSWER and self.scope is not None and self.scope.has(seat):
            return Turn(partial(self.scope.provided, seat), frame=self.receiver_frame, is_async=True)
        return super().turn(seat, function, kwargs, offered)

    def _provided(self, seat: Seat, answer: modes.Answer[Any], scope: Scope) -> Generator[Any, Any, modes.Answer[Any]]:
        """Enter a context manager that was answered inside a scope; what that gives is the answer."""
        is_async = self.spec.is_async
        is_given = scope.has(seat) and answer.value is scope.provided(seat)  # and not answered
        if is_given or not is_manager(answer.value, is_async=is_async):
            return answer
        turn = Turn(
            scope.entry(seat, answer.value), deadline=Deadline(seat.timeout) if seat.timeout is not None else None,
            frame=self.receiver_frame, is_async=is_async and hasattr(type(answer.value), "__aenter__"),
        )  # fmt: skip
        entered: Answer = yield turn
        if entered.error is None:
            return _answer(seat, entered.value)
        self.failed(seat, entered.error, is_cancel=entered.is_cancel)
        return self._came.pop(seat)

    # -- failure is an event --------------------------------------------------------------------------------------------

    def failed(self, seat: Seat, error: BaseException, *, is_cancel: bool = False) -> None:
        """Do what a receiver's failure does; of several that end the question the first one does."""
        is_plain = not is_cancel and (isinstance(error, Exception) or is_cancelled_error(error))
        if seat.phase == ANSWER and is_plain:
            self._came[seat] = _answer(seat, error=error)
            if self.ending is not None:
                self.tell_failed(seat, error, _ACTIONS[seat.receiver.on_error])
                self._note(seat, error)
                return
        super().failed(seat, error, is_cancel=is_cancel)

    def _serve(self, asks: Asks, kwargs: Mapping[str, Any], offered: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        # The author of a question chose its words: an argument called `ctx` is that argument.
        if self.spec.has_own_ctx:
            return asks.serve({**kwargs, **offered}, {})
        return super()._serve(asks, kwargs, offered)


def _answer(seat: Seat, value: Any = None, error: BaseException | None = None) -> modes.Answer[Any]:
    return modes.Answer(seat.receiver.name, seat.receiver.where, value, error)
