"""How a question is asked whose mode says whom to ask: the mode is led, its receivers are asked, their answers kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from .. import modes
from .._calls.beside import settle
from .._calls.context import Call
from .._calls.meaning import block, failed, is_awaitable, wrong_return
from .._calls.plan import Seat
from .._calls.verdicts import VERDICTS, Block
from .._connections.wanted import close_unawaited
from ..exceptions import HookError
from .providers import Scope

NOT_ASKED: Final = object()
"""What the turn of a receiver gives that was not asked."""


def answered(call: Call, seat: Seat, answer: Any) -> Any:
    """Return an answer of a question, or say what is wrong with it; a `Block` blocks."""
    kind = type(answer)
    if issubclass(kind, Block) and call.plan.hook.rules.steps is not modes.void:
        block(call, seat, answer)
    if issubclass(kind, VERDICTS):
        wrong_return(seat, answer, "an answer, or None for none: a question has nothing to drop or replace")
    if not call.plan.hook.is_async and is_awaitable(answer):
        close_unawaited(answer)
        raise HookError("it returned an awaitable, but the hook is a plain def and cannot await it")
    return answer


@attrs.define(eq=False)
class Round:
    """What came of asking; an around that asks again begins it anew.

    Attributes:
        seats: who may be asked, in order, each as the mode sees it and as the call does.
        past: the entry of a historic question, where it is asked again.
        asks_all: whether everyone is asked whatever the mode needs.
        answers: what was answered so far, in the order it was asked for.
        failures: who failed so far, likewise.
    """

    seats: Any
    past: Any = None
    asks_all: bool = False
    scope: Scope | None = None
    answers: list[modes.Answer[Any]] = attrs.field(factory=list)
    failures: list[modes.Answer[Any]] = attrs.field(factory=list)
    given: dict[int, tuple[Seat, modes.Answer[Any]]] = attrs.field(factory=dict)
    ending: BaseException | None = None

    def begin(self, call: Call, values: tuple[Any, ...]) -> Any:
        """Begin to ask with these values, and return the mode as a generator."""
        spec = call.plan.hook
        self.scope = self.scope or Scope.around(spec)
        self.answers, self.failures, self.given = [], [], {}
        if spec.rules.is_historic and self.past is None:
            self.past = spec.remember(values, self.seats)
        arguments = dict(zip(spec.function_signature.names, values))
        return spec.rules.steps([token for token, _ in self.seats], arguments)

    def wanted(self, call: Call, request: Any, values: tuple[Any, ...]) -> tuple[list[Seat], tuple[Any, ...]]:
        """Return whom a mode wants to ask, and the values it wants to ask with."""
        signature = call.plan.hook.function_signature
        if isinstance(request, tuple) and len(request) == 2 and isinstance(request[1], Mapping):
            request, changed = request
            after = {**dict(zip(signature.names, values)), **changed}
            signature.check(after)
            values = tuple(after[name] for name in signature.names)
        known = {id(token): seat for token, seat in self.seats}
        if not isinstance(request, Sequence) or any(id(token) not in known for token in request):
            raise HookError(
                f"the mode of {call.plan.hook.name} yielded {request!r:.60}; it yields lists of the receivers it was given"
            )
        return [known[id(token)] for token in request], values

    def take(self, call: Call, seat: Seat, value: Any) -> modes.Answer[Any]:
        """Keep an answer."""
        if value is NOT_ASKED:
            return answer_of(seat, asked=False)
        answer = answer_of(seat, answered(call, seat, value))
        self.answers.append(answer)
        self.given[id(answer)] = seat, answer
        return answer

    def fail(self, call: Call, seat: Seat, error: BaseException) -> modes.Answer[Any]:
        """Do what a failure does; while everybody is asked, what ends the question does so at the end. An error is handled."""
        answer = answer_of(seat, error=error)
        self.failures.append(answer)
        try:
            failed(call, seat, error)
        except Exception as ending:
            if not self.asks_all:
                raise
            self.ending = self.ending or ending
        return answer

    def reject(self, call: Call, rejected: modes.Reject) -> None:
        """Make an answer that the mode cannot use a failure of who gave it."""
        found = self.given.pop(id(rejected.answer), None)
        if found is None:
            raise HookError(f"the mode of {call.plan.hook.name} rejects an answer that nobody gave")
        seat, answer = found
        self.answers = [each for each in self.answers if each is not answer]
        name = call.plan.hook.name
        try:
            raise HookError(f"{seat.receiver.label} answered {name} with what it cannot use: {rejected.reason}")
        except HookError as error:
            self.fail(call, seat, error)


def answer_of(
    seat: Seat, value: Any = None, error: BaseException | None = None, *, asked: bool = True
) -> modes.Answer[Any]:
    return modes.Answer(seat.receiver.name, seat.receiver.where, value, error, asked)


# -- two drivers, one for each colour ----------------------------------------------------------------------------------


def ask(round_: Round, call: Call, values: tuple[Any, ...]) -> Any:
    """Ask as the mode says; return what it makes of the answers."""
    steps = round_.begin(call, values)
    ready = _everybody(round_, call, values) if round_.asks_all else None
    sent: Any = None
    try:
        while True:
            request = steps.send(sent)
            if isinstance(request, modes.Reject):
                round_.reject(call, request)
                sent = None
                continue
            seats, asked_with = round_.wanted(call, request, values)
            sent = [ready[seat] for seat in seats] if ready is not None else _ask_several(round_, call, seats, asked_with)
    except StopIteration as end:
        result = end.value
    finally:
        steps.close()
    return result


def _everybody(round_: Round, call: Call, values: tuple[Any, ...]) -> dict[Seat, modes.Answer[Any]]:
    ready = {seat: _ask_one(round_, call, seat, values) for _, seat in round_.seats}
    _end_by(round_)
    return ready


def _end_by(round_: Round) -> None:
    ending, round_.ending = round_.ending, None
    _raise(ending)


def _ask_several(
    round_: Round, call: Call, seats: Sequence[Seat], values: tuple[Any, ...]
) -> list[modes.Answer[Any]]:
    """Ask one, or several, of whom the first that ends the question does so once all have been asked."""
    found, out = [], None
    for seat in seats:
        try:
            found.append(_ask_one(round_, call, seat, values))
        except BaseException as ending:
            out = worst(out, ending)
    _raise(out)
    return found


def _ask_one(round_: Round, call: Call, seat: Seat, values: tuple[Any, ...]) -> modes.Answer[Any]:
    scope = round_.scope
    try:
        if scope is not None and scope.has(seat) and seat.receiver.function is not None:
            return round_.take(call, seat, scope.provided(seat))
        value = call.plan.turns[seat](*values, call)
        if scope is not None:
            value = scope.entered(seat, value)
        return round_.take(call, seat, value)
    except BaseException as error:
        return round_.fail(call, seat, error)


async def ask_async(round_: Round, call: Call, values: tuple[Any, ...]) -> Any:
    """Do the same on an event loop, with a mode that may be an async generator."""
    steps = round_.begin(call, values)
    ready = await _everybody_async(round_, call, values) if round_.asks_all else None
    is_async = hasattr(type(steps), "asend")
    sent: Any = None
    try:
        while True:
            request = await steps.asend(sent) if is_async else steps.send(sent)
            if isinstance(request, modes.Reject):
                round_.reject(call, request)
                sent = None
                continue
            if isinstance(request, modes.Result):
                result = request.value
                break
            seats, asked_with = round_.wanted(call, request, values)
            sent = [ready[seat] for seat in seats] if ready is not None else await _ask_several_async(round_, call, seats, asked_with)
    except StopIteration as end:
        result = end.value
    except StopAsyncIteration:
        result = None
    finally:
        await steps.aclose() if is_async else steps.close()
    return await result if is_awaitable(result) else result


async def _everybody_async(round_: Round, call: Call, values: tuple[Any, ...]) -> dict[Seat, modes.Answer[Any]]:
    seats = [seat for _, seat in round_.seats]
    groups = [seats] if call.plan.hook.rules.steps is modes.void else [[seat] for seat in seats]
    ready: dict[Seat, modes.Answer[Any]] = {}
    for group in groups:
        ready.update(zip(group, await _ask_several_async(round_, call, group, values)))
    _end_by(round_)
    return ready


async def _ask_several_async(
    round_: Round, call: Call, seats: Sequence[Seat], values: tuple[Any, ...]
) -> list[modes.Answer[Any]]:
    """Ask one, or several side by side, who then fail by their roles once all are settled."""
    if len(seats) == 1:
        return [await _ask_one_async(round_, call, seats[0], values)]
    brought, out = await settle(_value(round_, call, seat, values) for seat in seats)
    found = []
    for seat, (value, error) in zip(seats, brought):
        try:
            found.append(_brought(round_, call, seat, value, error))
        except BaseException as ending:
            out = worst(out, ending)
    _raise(out)
    return found


def _brought(round_: Round, call: Call, seat: Seat, value: Any, error: BaseException | None) -> modes.Answer[Any]:
    try:
        if error is not None:
            raise error
        return round_.take(call, seat, value)
    except BaseException as failure:
        return round_.fail(call, seat, failure)


def worst(out: BaseException | None, ending: BaseException) -> BaseException:
    """Return what goes out of two exceptions: the first, but an interrupt or a cancellation before any failure."""
    is_first = out is None or (isinstance(out, Exception) and not isinstance(ending, Exception))
    return ending if is_first else out  # type: ignore[return-value]


def _raise(out: BaseException | None) -> None:
    if out is not None:
        try:
            raise out
        finally:
            del out


async def _ask_one_async(round_: Round, call: Call, seat: Seat, values: tuple[Any, ...]) -> modes.Answer[Any]:
    try:
        return round_.take(call, seat, await _value(round_, call, seat, values))
    except BaseException as error:
        return round_.fail(call, seat, error)


async def _value(round_: Round, call: Call, seat: Seat, values: tuple[Any, ...]) -> Any:
    scope = round_.scope
    if scope is not None and scope.has(seat) and seat.receiver.function is not None:
        return scope.provided(seat)
    value = await call.plan.turns[seat](*values, call)
    return value if scope is None else await scope.entered_async(seat, value)
