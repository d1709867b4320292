"""The stage of one cell: an agent with one hooked method, and receivers in every phase that record
what they see.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from hookbus import ANY, Bus, events, hookable

from ._cells import Cell

MESSAGE = "hello"


class BodyFailed(Exception):
    """The method's own exception."""


class Stage:
    """One agent, whoever listens to it, and what became of its last call."""

    patience = 10.0
    """Seconds after which a test gives up; no promise depends on it."""

    as_it_is = contextlib.nullcontext

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.bus = Bus()
        self.bus.events.connect(lambda bus, event: self.events.append(event))
        self.result, self.answer, self.items = object(), object(), [object(), object()]
        self.task: Any = None
        self.coroutines: list[Any] = []
        self._hung: list[tuple[threading.Event, threading.Event]] = []
        self.forget_the_last_call()

    def forget_the_last_call(self) -> None:
        self.trace: list[str] = []
        self.events: list[Any] = []
        self.outcomes: list[str | None] = []
        self.messages: list[str] = []
        self.received: list[Any] = []
        self.value: Any = None
        self.caught: BaseException | None = None
        self.error: BaseException | None = None
        self.body_error = BodyFailed("the body's own")

    # What the receivers and the body do here.

    @contextlib.contextmanager
    def catching_the_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.error = error
            raise

    @contextlib.contextmanager
    def hanging(self) -> Iterator[threading.Event]:
        released, ended = threading.Event(), threading.Event()
        self._hung.append((released, ended))
        try:
            yield released
        finally:
            ended.set()

    def release_the_hung(self) -> None:
        """Let what is still hanging answer, late, and wait until it has."""
        for released, ended in self._hung:
            released.set()
            assert ended.wait(self.patience)

    def note(self, mark: str, ctx: Any) -> None:
        self.trace.append(mark)
        if mark == "finally":
            self.outcomes.append(ctx.outcome)
        is_beside_it = self.cell.role == "observe" and mark == self.cell.place
        if not is_beside_it:
            self.release_the_hung()

    @contextlib.contextmanager
    def body(self, msg: str) -> Iterator[None]:
        self.trace.append("body")
        self.messages.append(msg)
        try:
            yield
        finally:
            self.trace.append("left")

    def go_on(self) -> None:
        if self.cell.body_fails:
            raise self.body_error
        if self.cell.is_stream:
            self.trace.append("more")

    # Setting the scene.

    def raise_the_curtain(self) -> None:
        """Make the agent, and put witnesses into every phase."""
        self.agent = AGENTS[self.cell.target](self)()
        for phase in ("pre", "item", "post", "error", "finally"):
            if phase != "item" or self.cell.is_stream:
                self._connect(phase, self._witness(phase, phase), role="observe", priority=-2)
        place, role = self.cell.place, self.cell.role
        if role == "around":
            self._connect("around", NEXT_AROUNDS[self.cell.target](self), priority=-1)
        else:
            mark = place if role == "observe" else "next"
            self._connect(place, self._witness(mark, place), role=_role(self.cell), priority=-1)

    def connect_the_failing(self, receiver: Callable[..., Any], **options: Any) -> Any:
        sender = ANY if self.cell.is_connected_first else self.agent
        if self.cell.role != "around":
            options["role"] = _role(self.cell)
        signal = self.bus.signal(f"{self.cell.place}_reply")
        return signal.connect(
            receiver, sender=sender, name="failing", on_error=self.cell.on_error, **options
        )

    def _connect(self, phase: str, receiver: Callable[..., Any], **options: Any) -> None:
        self.bus.signal(f"{phase}_reply").connect(receiver, sender=self.agent, **options)

    def _witness(self, mark: str, phase: str) -> Callable[..., Any]:
        stage = self

        def witness(agent: Any, ctx: Any) -> None:
            stage.note(mark, ctx)

        async def slow_witness(agent: Any, ctx: Any) -> None:
            try:
                for _ in range(3):
                    await asyncio.sleep(0)
            finally:
                stage.note(mark, ctx)

        # Side by side with an observer that fails as a coroutine there are others, which must
        # settle all the same.
        is_beside_a_coroutine = (self.cell.role, self.cell.place, self.cell.receiver) == (
            "observe",
            phase,
            "coroutine",
        )
        return slow_witness if is_beside_a_coroutine and self.cell.is_async else witness

    # The call.

    def call(self) -> None:
        """Call the method once and keep what the caller gets."""
        self.forget_the_last_call()
        if self.cell.needs_a_task:
            asyncio.run(self._call_in_a_task())
        else:
            self._take()
        self.release_the_hung()

    async def _call_in_a_task(self) -> None:
        self.task = asyncio.create_task(self._take_async())
        _, pending = await asyncio.wait({self.task}, timeout=self.patience)
        assert not pending, "the call hangs"
        assert asyncio.all_tasks() == {asyncio.current_task()}, "the call leaves a task behind"

    def _take(self) -> None:
        try:
            if not self.cell.is_stream:
                self.value = self.agent.reply(MESSAGE)
                return
            stream = self.agent.reply(MESSAGE)
            while True:
                self.received.append(next(stream))
        except StopIteration as end:
            self.value = end.value
        except BaseException as error:
            self.caught = error

    async def _take_async(self) -> None:
        if not self.cell.is_async:
            self._take()
            return
        try:
            if not self.cell.is_stream:
                self.value = await self.agent.reply(MESSAGE)
                return
            async for item in self.agent.reply(MESSAGE):
                self.received.append(item)
        except BaseException as error:
            self.caught = error

    def told(self, kind: type[events.Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def _role(cell: Cell) -> str:
    return "modify" if cell.role == "error" else cell.role


def _sync_agent(stage: Stage) -> type:
    class Agent:
        @hookable("reply", bus=stage.bus)
        def reply(self, msg):
            with stage.body(msg):
                stage.go_on()
                return stage.result

    return Agent


def _async_agent(stage: Stage) -> type:
    class Agent:
        @hookable("reply", bus=stage.bus)
        async def reply(self, msg):
            with stage.body(msg):
                await asyncio.sleep(0)
                stage.go_on()
                return stage.result

    return Agent


def _generator_agent(stage: Stage) -> type:
    class Agent:
        @hookable("reply", bus=stage.bus)
        def reply(self, msg):
            with stage.body(msg):
                yield stage.items[0]
                stage.go_on()
                yield stage.items[1]
                return stage.result

    return Agent


def _async_generator_agent(stage: Stage) -> type:
    class Agent:
        @hookable("reply", bus=stage.bus)
        async def reply(self, msg):
            with stage.body(msg):
                yield stage.items[0]
                await asyncio.sleep(0)
                stage.go_on()
                yield stage.items[1]

    return Agent


def _next_around(stage: Stage) -> Callable[..., Any]:
    def next_around(agent: Any, ctx: Any, call_next: Any) -> Any:
        stage.note("next", ctx)
        return call_next()

    return next_around


def _next_around_generator(stage: Stage) -> Callable[..., Any]:
    def next_around(agent: Any, ctx: Any, call_next: Any) -> Any:
        stage.note("next", ctx)
        return (yield from call_next())

    return next_around


def _next_around_async_generator(stage: Stage) -> Callable[..., Any]:
    async def next_around(agent: Any, ctx: Any, call_next: Any) -> Any:
        stage.note("next", ctx)
        async for item in call_next():
            yield item

    return next_around


AGENTS = {
    "sync": _sync_agent,
    "async": _async_agent,
    "generator": _generator_agent,
    "async_generator": _async_generator_agent,
}
NEXT_AROUNDS = {
    "sync": _next_around,
    "async": _next_around,
    "generator": _next_around_generator,
    "async_generator": _next_around_async_generator,
}
