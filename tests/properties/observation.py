"""Run the call of a built program, and report what the caller, the receivers and the listener of
events saw.
"""

from __future__ import annotations

import asyncio
import contextvars
import re
import warnings
from contextlib import aclosing
from typing import Any

from hookbus import Bus, HookBlocked, ReceiverError, events

from .described import (
    CAUSES,
    NAMES,
    Program,
    Seen,
    comparable,
    comparable_notes,
    plain,
    plain_value,
)
from .scripts import kind_of
from .stage import SOON, Stage


def observe(program: Program, counted: list[Any] | None = None, soon: float = SOON) -> Seen:
    """Build `program`, make its call, and return what the caller and everybody else saw.

    A receiver that hangs has `soon` as its deadline, in seconds.
    `counted` is given what is noted of each connection for `report`: its name, its failures, its
    fail-opens, whether it blocked.
    """
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        stage = Stage(program, soon)
        if program.is_listening:
            stage.bus.events.connect(Listener(stage))
        try:
            outcome = _asynchronous(stage) if program.is_async else _synchronous(stage)
        finally:
            stage.released.set()
    stage.log += [
        ("warned", None, str(one.message)) for one in complaints if one.category is RuntimeWarning
    ]
    if counted is not None:
        connections = [one for signal in stage.bus.signals() for one in signal.connections()]
        counted += [
            (one.signal_name, one.name, one.failures, one.fail_opens, one.has_blocked)
            for one in connections
        ]
    return Seen(outcome, comparable(program, stage.log), tuple(stage.refused))


def _synchronous(stage: Stage) -> tuple[Any, ...]:
    before = _context()
    try:
        outcome = _consume(stage) if stage.program.is_stream else ("returned", _call(stage))
    except BaseException as error:
        outcome = _raised(stage, error)
    if _context() != before:
        stage.log.append(("leaked a context variable", None, None))
    return outcome


def _asynchronous(stage: Stage) -> tuple[Any, ...]:
    async def main() -> tuple[Any, ...]:
        stage.caller = asyncio.current_task()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(
            lambda _, trouble: stage.log.append(("trouble", None, trouble["message"]))
        )
        before = _context()
        try:
            outcome = (
                await _consume_async(stage)
                if stage.program.is_stream
                else ("returned", await _call(stage))
            )
        except BaseException as error:
            outcome = _raised(stage, error)
        if _context() != before:
            stage.log.append(("leaked a context variable", None, None))
        if asyncio.all_tasks() != {stage.caller}:
            stage.log.append(("left a task behind", None, None))
        return outcome

    return asyncio.run(main())


def _call(stage: Stage) -> Any:
    """Make the call; for all but plain functions that only starts it."""
    program, given = stage.program, stage.program.arguments
    owner = stage.instance if program.entry is None else stage.classes[program.entry]
    me = (stage.instance,) if program.entry is not None and program.kind == "method" else ()
    work = stage.sender if program.kind == "function" else owner.work
    made = work(*me, *given.positional(), **given.more)
    if program.cuts_late:
        for receiver in program.receivers:
            stage.disconnect(receiver.name)
    return made


def _consume(stage: Stage) -> tuple[Any, ...]:
    stream, taken = _call(stage), 0
    try:
        while stage.program.takes is None or taken < stage.program.takes:
            stage.log.append(("got", None, next(stream)))
            taken += 1
    except StopIteration as end:
        return ("returned", end.value)
    stream.close()
    return ("left",)


async def _consume_async(stage: Stage) -> tuple[Any, ...]:
    stream, taken = _call(stage), 0
    async with aclosing(stream):
        while stage.program.takes is None or taken < stage.program.takes:
            try:
                stage.log.append(("got", None, await anext(stream)))
            except StopAsyncIteration:
                return ("returned", None)
            taken += 1
    return ("left",)


def _context() -> dict[Any, Any]:
    """What is visible in the context; a variable that was set back to None is as good as unset."""
    return {
        variable: value
        for variable, value in contextvars.copy_context().items()
        if value is not None
    }


def _raised(stage: Stage, error: BaseException) -> tuple[Any, ...]:
    facts: tuple[Any, ...] = ()
    if isinstance(error, HookBlocked):
        facts = (
            error.receiver,
            _reason(error.reason),
            *(["tells"] if "secret" in str(error) else ()),
        )
    elif isinstance(error, ReceiverError):
        facts = (error.receiver, error.phase, kind_of(error.__cause__))
    notes = [re.findall(r"r\d+", note) for note in getattr(error, "__notes__", ())]
    names = [named[0] if named else "nobody" for named in notes]
    return ("raised", kind_of(error), facts, comparable_notes(stage.program, names))


def _reason(reason: str) -> str:
    """What hookbus itself raised in a receiver is misuse, whatever its type."""
    before, failed, cause = reason.partition(" failed: ")
    return reason if not failed or cause in CAUSES else f"{before}{failed}misuse"


class Listener:
    """Writes every event into the log of the stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.has_values = stage, stage.program.has_values

    def __call__(self, bus: Bus, event: events.Event) -> None:
        """Note one event."""
        self.stage.log.append((type(event).__name__, event.call_id, *self._facts(event)))

    def _facts(self, event: Any) -> tuple[Any, ...]:
        match event:
            case events.Started():
                return (event.parent_id, event.hook, event.arguments, self._values(event))
            case events.Mutated():
                return (
                    event.receiver,
                    event.name,
                    self._shown(event.name, event.before),
                    self._shown(event.name, event.after),
                )
            case events.Blocked():
                return (event.receiver, _reason(event.reason), event.phase, event.enforced)
            case events.Failed():
                return (
                    event.receiver,
                    event.role,
                    event.phase,
                    kind_of(event.exception),
                    event.action,
                    event.enforced,
                )
            case events.Attempted():
                return (event.receiver, event.number, event.outcome)
            case events.Finished():
                is_served = self.has_values and event.outcome in ("returned", "replaced")
                return (event.outcome, kind_of(event.error), event.result if is_served else None)
        return (event,)

    def _values(self, event: events.Started) -> Any:
        if event.values is events.HIDDEN:
            return "hidden"
        return plain(event.values) if event.arguments == NAMES else tuple(event.values)

    def _shown(self, name: str, value: Any) -> Any:
        return "hidden" if value is events.HIDDEN else plain_value(name, value)
