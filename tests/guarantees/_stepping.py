"""Cancel a call at each of its steps, with one run for each step."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import attrs

from hookbus import Bus, events, hookable

PATIENCE = 10.0


class SteppingLoop(asyncio.SelectorEventLoop):
    """An event loop that counts the callbacks it runs during a call, and cancels the caller before
    some of them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.cancel_before: frozenset[int] = frozenset()
        self.caller: asyncio.Task[Any] | None = None
        self.on_cancel: Callable[[], None] = lambda: None

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:
        return super().call_soon(self._step, callback, args, context=context)

    def _step(self, callback: Any, args: tuple[Any, ...]) -> None:
        if self.caller is not None and not self.caller.done():
            self.steps += 1
            if self.steps in self.cancel_before:
                self.on_cancel()
                self.caller.cancel()
        callback(*args)


@attrs.define
class Play:
    """One hooked call with slow receivers in every phase, and what happened in one run of it.

    Attributes:
        trace: `name:in` and `name:out` of every receiver and of the body, `name:cut` for out where
            it was cancelled, and
            `cancel` where the caller was.
        census: the tasks that were still there when the caller had its answer.
        steps: how many steps the run took.
    """

    colour: str = "async"
    body_fails: bool = False
    bus: Bus = attrs.field(factory=Bus)
    trace: list[str] = attrs.field(factory=list)
    events: list[events.Event] = attrs.field(factory=list)
    census: set[Any] = attrs.field(factory=set)
    steps: int = 0
    caller: Any = None

    def told(self, kind: type[events.Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def where_cancelled(self) -> str | None:
        """Return the last step before the first cancel, or None where nothing had begun."""
        at = self.trace.index("cancel")
        return self.trace[at - 1] if at else None

    @contextlib.contextmanager
    def scene(self, name: str) -> Iterator[None]:
        self.trace.append(f"{name}:in")
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):
            self.trace.append(f"{name}:cut")
            raise
        except BaseException:
            self.trace.append(f"{name}:out")
            raise
        self.trace.append(f"{name}:out")

    async def pause(self) -> None:
        """Take two steps."""
        for _ in range(2):
            await asyncio.sleep(0)

    def slow(self, name: str) -> Callable[..., Any]:
        async def receiver(agent: Any) -> None:
            with self.scene(name):
                await self.pause()

        return receiver

    def waiting_around(self) -> Callable[..., Any]:
        async def around(agent: Any, call_next: Any) -> Any:
            with self.scene("around"):
                await self.pause()
                return await call_next()

        async def around_stream(agent: Any, call_next: Any) -> Any:
            with self.scene("around"):
                await self.pause()
                async for item in call_next():
                    yield item

        return around_stream if self.colour == "async_generator" else around

    def agent(self) -> Any:
        play = self

        class Agent:
            @hookable("reply", bus=play.bus)
            async def reply(self):
                with play.scene("body"):
                    await asyncio.sleep(0)
                    if play.body_fails:
                        raise ValueError("the body's own")
                    return "result"

            @hookable("stream", bus=play.bus)
            async def stream(self):
                with play.scene("body"):
                    await asyncio.sleep(0)
                    yield 1
                    await asyncio.sleep(0)
                    if play.body_fails:
                        raise ValueError("the body's own")
                    yield 2

        return Agent()

    def connect_everyone(self, hook: str) -> None:
        """Connect slow receivers: one modifier and guard, and two observers, wherever the hook has
        them.
        """
        for phase in ("pre", *(["item"] if hook == "stream" else []), "post", "error", "finally"):
            signal = self.bus.signal(f"{phase}_{hook}")
            if phase != "finally":
                signal.connect(self.slow(f"{phase} modifier"))
            if phase in ("pre", "item"):
                signal.connect(self.slow(f"{phase} guard"), role="guard")
            for number in (1, 2):
                signal.connect(self.slow(f"{phase} observer {number}"), role="observe")
        self.bus.signal(f"around_{hook}").connect(self.waiting_around())

    async def call(self) -> None:
        agent = self.agent()
        if self.colour == "async":
            await agent.reply()
            return
        async with contextlib.aclosing(agent.stream()) as stream:
            async for _ in stream:
                await asyncio.sleep(0)

    def run(self, *cancel_before: int) -> Play:
        """Play it once, cancelling the caller before these steps."""
        self.connect_everyone("reply" if self.colour == "async" else "stream")
        self.bus.events.connect(lambda bus, event: self.events.append(event))
        with asyncio.Runner(loop_factory=SteppingLoop) as runner:
            loop: Any = runner.get_loop()
            loop.cancel_before = frozenset(cancel_before)
            loop.on_cancel = lambda: self.trace.append("cancel")
            runner.run(self._watch(self.call()))
            self.steps = loop.steps
        return self

    async def _watch(self, call: Coroutine[Any, Any, None]) -> None:
        loop: Any = asyncio.get_running_loop()
        spectator = asyncio.current_task()

        async def caller() -> None:
            try:
                await call
            finally:
                self.census = asyncio.all_tasks() - {spectator, asyncio.current_task()}

        self.caller = loop.caller = asyncio.create_task(caller())
        _, pending = await asyncio.wait({self.caller}, timeout=PATIENCE)
        assert not pending, "the call hangs"
        call.close()
