"""Answers one event: reads it, makes the call, and blocks the event if anything fails."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from .. import HookError, baggage
from ._agents import AGENTS
from ._answers import (
    GOES_ON,
    add_to_failure,
    close_event,
    go_on,
    hand_on,
    has_place_for_result,
    let_run,
    refuse,
    refuse_result,
    replace_result,
    withhold_result,
)
from ._approver import EXTEND
from ._calls import Denied, HandedOn, UnknownCall
from ._events import CURRENT, Event, WrongEvent, read_event
from ._hook import Answer
from ._loading import Loaded, may_hand_on
from ._wire import Request

MARGIN_SECONDS: Final = 0.1
"""How many seconds the server's deadline is before the hook's deadline, so that the agent still
gets the server's reason."""

_WHERE: Final = "hookbus gate status, or the log of the server, says why"

_log = logging.getLogger("hookbus")


class Answering:
    """An event that the server must answer.

    Args:
        loaded: the loaded guards and settings; None if loading failed.
        problem: the reason if loading failed, for the log.
        request: the request of the hook.
        writer: the connection to the hook.
    """

    def __init__(
        self, loaded: Loaded | None, problem: str, request: Request, writer: asyncio.StreamWriter
    ) -> None:
        self._loaded, self._problem, self._request = loaded, problem, request
        self._writer, self._timeout = writer, asyncio.timeout(None)
        self._wrong = ""
        self._event = self._read()

    def _read(self) -> Event | None:
        agent = AGENTS.get(self._request.agent)
        if agent is None:
            self._wrong = f"there is no agent {self._request.agent!a:.40}"
            return None
        try:
            expected, given = self._request.event, self._request.given
            return read_event(agent, expected, given, self._request.variables)
        except WrongEvent as error:
            self._wrong = str(error)
            return None

    def is_second_half(self) -> bool:
        """Return whether the event comes after a tool."""
        return self._event is not None and self._event.kind in ("after", "failed")

    def is_ending(self) -> bool:
        """Return whether the event ends all open calls, whose second event has not arrived."""
        return self._event is not None and self._event.kind in ("end", "turn")

    def has_open_call(self) -> bool:
        """Return whether the event belongs to an open call of this server."""
        event, loaded = self._event, self._loaded
        if event is None or loaded is None or not self.is_second_half():
            return False
        return loaded.calls.sessions.find_call(event) is not None

    async def answer(self, reader: asyncio.StreamReader) -> Answer:
        """Return the answer to the event. If the hook ends first, the call is cancelled."""
        answering = asyncio.ensure_future(self._answer_in_time())
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (answering, gone):
                each.cancel()
            await asyncio.wait({answering, gone})
        if answering.cancelled():
            return self._close("the hook ended")
        return answering.result()

    def _close(self, why: str) -> Answer:
        name = self._request.event or (self._event.name if self._event else "")
        return close_event(self._request.agent, name, f"{why} (the event is blocked)")

    async def _answer_in_time(self) -> Answer:
        try:
            return await self._answer_or_raise()
        except HookError as error:
            _log.warning("an event was blocked: %s", error)
            return self._close("the event could not be judged")
        except Exception as error:
            _log.warning("an event was blocked", exc_info=error)
            return self._close(f"the event could not be judged ({type(error).__name__})")

    async def _answer_or_raise(self) -> Answer:
        event, loaded = self._event, self._loaded
        if event is None:
            return self._close(self._wrong)
        if event.kind is None:
            return self._close(f"{event.agent.name} has no event {event.name!a:.40}")
        if loaded is None:
            # The problem itself is for people: it can quote values of the settings.
            _log.warning("an event was blocked: %s", self._problem)
            return self._close(f"{self._request.settings} is not loaded: {_WHERE}")
        seconds = max(min(self._request.seconds, loaded.settings.deadline) - MARGIN_SECONDS, 0.05)
        try:
            async with asyncio.timeout(seconds) as self._timeout:
                EXTEND.set(self._extend)
                CURRENT.set(event)
                with baggage(**event.baggage):
                    return await self._decide(event, loaded)
        except TimeoutError:
            return self._close("the guards gave no answer in time")

    def _extend(self, seconds: float) -> None:
        """Extend the deadline of this event, in the server and in the hook."""
        ends = self._timeout.when()
        if ends is not None:
            self._timeout.reschedule(ends + seconds)
            left = ends + seconds - asyncio.get_running_loop().time() + MARGIN_SECONDS
            self._writer.write(b"wait %.3f\n" % left)

    async def _decide(self, event: Event, loaded: Loaded) -> Answer:
        sessions = loaded.calls.sessions
        if event.kind == "begin":
            sessions.begin(event)
        elif event.kind == "end":
            await sessions.end(event)
        elif event.kind == "turn":
            await sessions.end_turn(event)
        elif event.kind == "prompt":
            return await self._prompt(event, loaded)
        elif event.kind == "before":
            return await self._before(event, loaded)
        else:
            return await self._after(event, loaded)
        return GOES_ON

    async def _prompt(self, event: Event, loaded: Loaded) -> Answer:
        session = loaded.calls.sessions.get(event)
        denied: Denied | None = Denied("")
        try:
            denied = await loaded.calls.prompt(event)
        finally:
            if denied is None:
                session.is_prompted = True
                session.barred.pop("prompt", None)
            elif not event.agent.refuses_prompts:  # the model reads it all the same
                session.barred["prompt"] = "the prompt was not allowed"
        return go_on(event) if denied is None else refuse(event, denied.text)

    async def _before(self, event: Event, loaded: Loaded) -> Answer:
        for why in loaded.calls.sessions.get(event).barred.values():
            return refuse(event, f"Error: the call was blocked: {why}")
        begun = await loaded.calls.before(event, may_hand_on=may_hand_on(loaded.settings))
        if isinstance(begun, Denied):
            return refuse(event, begun.text)
        if isinstance(begun, HandedOn):
            return hand_on(begun.question)
        is_open = loaded.settings.codex_stdin == "open"
        return let_run(event, begun.arguments, is_stdin_open=is_open)

    async def _after(self, event: Event, loaded: Loaded) -> Answer:
        session = loaded.calls.sessions.get(event)
        answer: Answer | None = None
        try:
            answer = await self._judge_result(event, loaded)
            return answer
        finally:
            if answer != GOES_ON and not has_place_for_result(event):
                session.barred["result"] = (
                    f"a result of {event.tool} was not allowed, and {event.agent.name} cannot "
                    "withhold it: begin a new session"
                )

    async def _judge_result(self, event: Event, loaded: Loaded) -> Answer:
        try:
            result = await loaded.calls.after(event)
        except UnknownCall:
            return withhold_result(event, "the gate never allowed this call")
        if isinstance(result, Denied):
            return refuse_result(event, result.text)
        if result.value is result.raw:
            return GOES_ON
        if event.kind == "failed":
            return add_to_failure(event, result.value)
        return replace_result(event, result.value)
