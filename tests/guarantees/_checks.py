"""Compare what one call on the stage did with what the failure table promises."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Iterator

from hookbus import HookBlocked, ReceiverError, events

from ._failures import CANARY
from ._fates import BLOCKS_BY_CHOICE, GOES_ON, Expected, expect, fate_of
from ._stage import MESSAGE, Stage


def check_the_last_call(stage: Stage) -> None:
    """Compare all that the stage saw with the promises of its cell."""
    expected = expect(stage.cell)
    assert stage.trace == expected.trace
    assert stage.outcomes == [expected.outcome_seen] * expected.trace.count("finally")
    assert [_line(event) for event in stage.events] == expected.events
    _check_the_values(stage, expected)
    _check_what_the_caller_gets(stage, expected.caller)
    _check_the_events(stage)
    assert all(
        inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED
        for coroutine in stage.coroutines
    )


def _line(event: events.Event) -> str:
    match event:
        case events.Failed(role=role, phase=phase, action=action):
            return f"Failed {role} {phase} {action}"
        case events.Blocked(phase=phase):
            return f"Blocked {phase}"
        case events.Mutated(name=name):
            return f"Mutated {name}"
        case events.Finished(outcome=outcome):
            return f"Finished {outcome}"
    return type(event).__name__


def _check_the_values(stage: Stage, expected: Expected) -> None:
    """No half patch, no late write: the body gets what the caller gave, the consumer what the body
    yields.
    """
    assert all(message is MESSAGE for message in stage.messages)
    is_answered_instead = expected.caller == "the answer" and stage.cell.phase == "before"
    items = [stage.answer] if is_answered_instead else stage.items
    assert len(stage.received) == expected.items
    assert all(received is item for received, item in zip(stage.received, items, strict=False))


def _check_what_the_caller_gets(stage: Stage, caller: str) -> None:
    if caller in ("the result", "the answer"):
        _check_the_result(stage, stage.result if caller == "the result" else stage.answer)
    elif caller == "HookBlocked":
        _check_the_block(stage, stage.caught)
    elif caller == "ReceiverError":
        _check_the_receiver_error(stage, stage.caught)
    elif caller == "the receiver's exception":
        _check_what_goes_out(stage, stage.caught)
    elif caller == "the body's exception":
        _check_the_body_error(stage, stage.caught)
    else:
        _check_the_cancel(stage, stage.caught)


def _check_the_result(stage: Stage, result: object) -> None:
    assert stage.caught is None
    # A generator's result is what it returns; an async one returns nothing.
    assert stage.value is (None if stage.cell.target == "async_generator" else result)


def _check_the_block(stage: Stage, caught: BaseException | None) -> None:
    assert type(caught) is HookBlocked
    assert (caught.receiver, caught.hook) == ("failing", "reply")
    assert "failing" in str(caught)
    assert CANARY not in str(caught)
    assert CANARY not in "".join(traceback.format_exception(caught))
    if fate_of(stage.cell) == BLOCKS_BY_CHOICE:
        assert caught.reason == "by its own decision"


def _check_the_receiver_error(stage: Stage, caught: BaseException | None) -> None:
    assert type(caught) is ReceiverError
    assert (caught.receiver, caught.hook, caught.phase) == ("failing", "reply", stage.cell.place)
    assert caught.__cause__ is stage.told(events.Failed)[0].exception


def _check_what_goes_out(stage: Stage, caught: BaseException | None) -> None:
    assert caught is stage.told(events.Failed)[0].exception
    assert not stage.cell.body_fails or stage.body_error in _chain(caught)


def _check_the_body_error(stage: Stage, caught: BaseException | None) -> None:
    assert caught is stage.body_error
    assert traceback.extract_tb(caught.__traceback__)[-1].name == "go_on"
    notes = "\n".join(getattr(caught, "__notes__", ()))
    assert ("failing" in notes) == (fate_of(stage.cell) == GOES_ON)


def _check_the_cancel(stage: Stage, caught: BaseException | None) -> None:
    assert isinstance(caught, asyncio.CancelledError)
    if stage.cell.role == "error":
        assert stage.body_error in _chain(caught)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _check_the_events(stage: Stage) -> None:
    assert len({event.call_id for event in stage.events}) == 1
    assert {event.hook for event in stage.events} == {"reply"}
    reports = [
        event for event in stage.events if not isinstance(event, events.Started | events.Finished)
    ]
    assert {event.receiver for event in reports} <= {"failing"}
    (finished,) = stage.told(events.Finished)
    assert finished.error is (stage.caught if finished.outcome in ("raised", "cancelled") else None)
    failures = stage.told(events.Failed)
    if failures and stage.error is not None:
        assert failures[-1].exception is stage.error
    if stage.cell.row == "times_out":
        assert all(isinstance(failure.exception, TimeoutError) for failure in failures)
