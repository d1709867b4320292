"""Ask a question whose mode decides which receivers to call. There is one implementation, a
coroutine. For a plain `def`, it never waits, so `run_without_waiting` runs it to completion in
one step.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final

import attrs

from .. import modes
from .._callables.parameters import is_awaitable, run_without_waiting
from .._calls import emitting, meaning, outcome
from .._calls.context import Call
from .._calls.meaning import await_if_needed
from .._calls.plan import Seat
from .._calls.tasks import all_of
from .._connections.verdicts import VERDICTS, Ask, Block
from .._ground.errors import first_error
from ..events import Invoked
from ..exceptions import HookError
from .providers import OpenScope

__tracebackhide__: Final = True
NOT_ASKED: Final = object()
"""The result for a receiver that was not called."""

Values = tuple[Any, ...]


def answered(call: Call, seat: Seat, answer: Any) -> Any:
    """Check an answer of a question and return it. A `Block` blocks the question."""
    kind, hook = type(answer), call.plan.hook
    if issubclass(kind, Block) and hook.rules.mode is not modes.void:
        outcome.block(call, seat, answer)
    if issubclass(kind, Ask) and hook.rules.mode is not modes.void:
        meaning.block_asking(call, seat, answer)
    if issubclass(kind, VERDICTS) or meaning.is_verdict_class(answer):
        allowed = "an answer, or None for no answer; a question does not take Replace or Drop"
        meaning.wrong_return(seat, answer, allowed)
    return answer if hook.is_async else meaning.not_to_await(answer)


@attrs.define(eq=False)
class Asking:
    """The state of asking a question once. An around that asks again uses a new state.

    Attributes:
        seats: the receivers that may be called, in order, each as the mode's object and as a seat.
        past: the entry of a historic question if the question is repeated.
        asks_all: whether every receiver is called, even if the mode does not need it.
        answers: the answers so far with their receivers, in the order of the calls.
        failures: the failed receivers so far, in the same order. They are collected only if every
            receiver is called.
        ending: the exception that ends the question once every receiver has been called.
    """

    seats: Any
    past: Any = None
    asks_all: bool = False
    scope: OpenScope | None = None
    answers: list[tuple[Seat, modes.Answer[Any]]] = attrs.field(factory=list)
    failures: list[modes.Answer[Any]] = attrs.field(factory=list)
    waits: dict[Seat, None] = attrs.field(factory=dict)
    ending: BaseException | None = None

    def steps_for(self, call: Call, values: Values) -> Any:
        """Start asking with these values, and return the mode as a generator."""
        spec = call.plan.hook
        self.scope = self.scope or OpenScope.around(spec)
        self.answers, self.failures = [], []
        self.waits = {seat: None for _, seat in self.seats}
        if spec.rules.is_historic and self.past is None:
            self.past = spec.remember(values, self.seats)
        arguments = dict(zip(spec.function_signature.names, values))
        return spec.rules.steps([token for token, _ in self.seats], arguments)

    def wanted(self, call: Call, request: Any, values: Values) -> tuple[list[Seat], Values]:
        """Return the receivers that a mode wants to call, and the values to call them with."""
        signature, given = call.plan.hook.function_signature, request
        is_pair = isinstance(request, tuple) and len(request) == 2
        if is_pair and isinstance(request[1], Mapping):
            given, changed = request
            after = {**signature.bind(values), **changed}
            signature.check(after)
            values = tuple(after[name] for name in signature.names)
        seat_of = {id(token): seat for token, seat in self.seats}
        if not isinstance(given, Sequence) or any(id(token) not in seat_of for token in given):
            raise HookError(
                f"the mode of {call.plan.hook.name} yielded {request!r:.60}; "
                "it must yield lists of the receivers that it was given"
            )
        return [seat_of[id(token)] for token in given], values

    def keep(self, call: Call, seat: Seat, value: Any) -> modes.Answer[Any]:
        """Record the answer of a receiver."""
        receiver, was_asked = seat.receiver, value is not NOT_ASKED
        if not was_asked:
            call.said = "not asked"
            return modes.Answer(receiver.name, receiver.where, asked=False)
        answer = modes.Answer(receiver.name, receiver.where, answered(call, seat, value))
        if answer.value is not None and call.plan.hook.rules.mode is not modes.void:
            call.said = "answered"
        self.answers.append((seat, answer))
        return answer

    def fail(self, call: Call, seat: Seat, error: BaseException) -> modes.Answer[Any]:
        """Handle a failure immediately, or at the end if every receiver is called."""
        answer = modes.Answer[Any](seat.receiver.name, seat.receiver.where, error=error)
        if self.asks_all:
            self.failures.append(answer)
        try:
            outcome.on_error(call, seat, error)
        except Exception as ending:
            if not self.asks_all:
                raise
            self.ending = first_error(self.ending, ending)
        except BaseException:  # this frame is in the traceback: avoid a reference cycle
            self.failures.clear()
            del answer
            raise
        finally:
            del error
        return answer

    def reject(self, call: Call, rejected: modes.Reject) -> None:
        """Turn an answer that the mode rejects into a failure of its receiver."""
        name = call.plan.hook.name
        for index, (seat, answer) in enumerate(self.answers):  # noqa: B007
            if answer is rejected.answer:
                del self.answers[index]
                break
        else:
            raise HookError(f"the mode of {name} rejects an answer that no receiver gave")
        label = seat.receiver.label
        try:
            why = f"which the mode rejects: {rejected.reason}"
            raise HookError(f"{label} gave {name} an answer {why}")
        except HookError as error:
            self.fail(call, seat, error)


def ask(asking: Asking, call: Call, values: Values) -> Coroutine[Any, Any, Any]:
    """Ask the question, and return the result that the mode computes from the answers."""
    return (_everyone if asking.asks_all else _led)(asking, call, values)


async def _everyone(asking: Asking, call: Call, values: Values) -> Any:
    """Call the receivers that the mode selects, then the remaining ones. An exception is raised
    after all calls.
    """
    result: Any = None
    out: BaseException | None = None
    try:
        result = await _led(asking, call, values)
    except Exception as error:
        out = error
    for seat in list(asking.waits):
        await _several(asking, call, [seat], values)
    out, asking.ending = first_error(asking.ending, out), None
    if out is not None:
        try:
            raise out
        finally:
            del out
    return result


async def _led(asking: Asking, call: Call, values: Values) -> Any:
    """Call the receivers that the mode selects."""
    steps, answers = asking.steps_for(call, values), None
    is_async = hasattr(type(steps), "asend")
    try:
        while True:
            try:
                request = await steps.asend(answers) if is_async else steps.send(answers)
            except StopIteration as end:
                result = end.value
                break
            except StopAsyncIteration:
                return None
            if is_async and isinstance(request, modes.Result):
                result = request.value
                break
            answers = None
            if isinstance(request, modes.Reject):
                asking.reject(call, request)
            else:
                answers = await _several(asking, call, *asking.wanted(call, request, values))
    finally:
        await steps.aclose() if is_async else steps.close()
    if not call.plan.hook.is_async:
        return meaning.not_to_await(result, f"the mode of {call.plan.hook.name} returned")
    return await result if is_awaitable(result) else result


async def _several(
    asking: Asking, call: Call, seats: Sequence[Seat], values: Values
) -> list[modes.Answer[Any]]:
    """Call several receivers, in parallel if possible. Then raise the most urgent exception."""
    call.said = "nothing"
    pairs: Sequence[Any] = [None] * len(seats)
    began, out = time.perf_counter(), None
    if len(seats) > 1 and call.plan.hook.is_async:
        pairs, out = await _beside(asking, call, seats, values)
    found = []
    for seat, pair in zip(seats, pairs):
        try:
            found.append(await _one(asking, call, seat, values, pair))
        except BaseException as ending:
            out = outcome.more_urgent(out, ending)
        finally:
            if Invoked in call.plan.listened_kinds:
                emitting.emit_invoked(call, seat, began)
                began = time.perf_counter() if pair is None else began
    if out is not None:
        try:
            raise out
        finally:
            del out, pairs
    return found


async def _beside(
    asking: Asking, call: Call, seats: Sequence[Seat], values: Values
) -> tuple[list[Any], BaseException | None]:
    """Call several receivers in parallel, with a task for each one that awaits."""
    found: list[Any] = [None] * len(seats)
    waiting: dict[int, Any] = {}
    for index, seat in enumerate(seats):
        if asking.scope is not None or not answers_at_once(seat):
            waiting[index] = _turn(asking, call, seat, values)
            continue
        asking.waits.pop(seat, None)
        found[index] = _at_once(call, seat, values)
        if is_awaitable(found[index][0]):
            waiting[index] = found[index][0]
    brought, out = await all_of(waiting.values()) if waiting else ([], None)
    for index, pair in zip(waiting, brought):
        found[index] = pair
    return found, out


def answers_at_once(seat: Seat) -> bool:
    """Return whether calling a receiver is a plain call, even if it returns an awaitable."""
    receiver = seat.receiver
    return not receiver.is_async and seat.timeout is None and "ctx" not in receiver.parameters.names


def _at_once(call: Call, seat: Seat, values: Values) -> tuple[Any, BaseException | None]:
    """Call a plain receiver without awaiting."""
    try:
        return run_without_waiting(call.plan.turns[seat](*values, call)), None
    except BaseException as error:
        return None, error


async def _one(
    asking: Asking, call: Call, seat: Seat, values: Values, pair: Any
) -> modes.Answer[Any]:
    """Call one receiver, or use its result if it was called before."""
    try:
        value, error = pair or (await _turn(asking, call, seat, values), None)
        del pair
        if error is not None:
            raise error
        return asking.keep(call, seat, value)
    except BaseException as error:
        return asking.fail(call, seat, error)


async def _turn(asking: Asking, call: Call, seat: Seat, values: Values) -> Any:
    scope = asking.scope
    asking.waits.pop(seat, None)
    key = seat.receiver.key
    if scope is not None and key in scope.provided and seat.receiver.function is not None:
        return scope.provided[key]
    value = call.plan.turns[seat](*values, call)
    if call.plan.hook.is_async:
        value = await await_if_needed(await value)
    return value if scope is None else await scope.entered(seat, value)
