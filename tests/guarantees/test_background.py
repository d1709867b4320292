"""An observer in the background holds up no call, sees what was, and is told and counted (G16)."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import threading
import weakref
from contextvars import ContextVar

import pytest

from hookbus import (
    Block,
    Bus,
    HookError,
    Replace,
    events,
    explain,
    hookable,
    hookspec,
    modes,
    report,
)

MARK: ContextVar[str] = ContextVar("MARK", default="unset")
SECONDS = 20
"""How long a test waits for what comes at once."""

HOOKS = ("think", "reply", "stream", "feed")


class House:
    """An agent with a hook of every colour, and who was told of failures."""

    def __init__(self, **options):
        self.bus = bus = Bus(**options)
        self.failed = []
        bus.events.connect(lambda bus, event: self.failed.append(event), kinds=events.Failed)

        class Agent:
            @hookable("think", bus=bus)
            def think(self, msg):
                return msg

            @hookable("reply", bus=bus)
            async def reply(self, msg):
                return msg

            @hookable("stream", bus=bus)
            def stream(self, msg):
                yield msg
                return msg

            @hookable("feed", bus=bus)
            async def feed(self, msg):
                yield msg

        self.agent = Agent()

    def observe(self, signal, receiver, **options):
        self.bus.signal(signal).connect(receiver, role="observe", background=True, **options)

    async def call(self, hook, msg="hi"):
        if hook in ("think", "reply"):
            answer = getattr(self.agent, hook)(msg)
            return await answer if hook == "reply" else answer
        if hook == "stream":
            return next(iter([*self.agent.stream(msg)]))
        return [item async for item in self.agent.feed(msg)][0]


@pytest.fixture
def house():
    return House()


class Gate:
    """What observers of both colours hang at until the test opens it."""

    def __init__(self):
        self.opened, self.inside = threading.Event(), 0

    def wait(self):
        self.inside += 1
        assert self.opened.wait(SECONDS)

    async def wait_async(self):
        self.inside += 1
        while not self.opened.is_set():
            await asyncio.sleep(0.001)


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.opened.set()


TURNS = [
    (phase, hook, colour)
    for hook in HOOKS
    for phase in ("pre", "item", "post", "finally")
    for colour in ("plain", "async", "unknown")
    if (phase != "item" or hook in ("stream", "feed"))
    and (colour == "plain" or hook in ("reply", "feed"))
]


@pytest.mark.parametrize(("phase", "hook", "colour"), TURNS)
async def test_a_call_does_not_wait_for_it(house, gate, phase, hook, colour):
    seen = []

    def plain(agent, msg):
        gate.wait()
        seen.append(msg)

    async def awaited(agent, msg):
        await gate.wait_async()
        seen.append(msg)

    receiver = {"plain": plain, "async": awaited, "unknown": lambda agent, msg: awaited(agent, msg)}
    house.observe(f"{phase}_{hook}", receiver[colour])
    house.bus.signal(f"{phase}_{hook}").connect(lambda agent: None, role="observe")
    assert await house.call(hook) == "hi"
    assert seen == []
    assert await house.bus.drain(0) == 1
    gate.opened.set()
    assert await house.bus.drain(SECONDS) == 0
    assert seen == ["hi"]
    assert not house.failed


@pytest.mark.parametrize("hook", HOOKS)
async def test_it_sees_what_it_asked_for_as_it_was_at_its_turn(house, gate, hook):
    seen = []

    def before(agent, msg, ctx):
        gate.wait()
        seen.append((msg, ctx.kwargs["msg"], dict(ctx.state), ctx.phase, ctx.outcome))

    def after(agent, ctx, result, **kwargs):
        gate.wait()
        seen.append((kwargs["msg"], ctx.kwargs["msg"], result, ctx.outcome))

    def change(agent, msg, ctx):
        ctx.state["turn"] = "later"
        return {"msg": "later"}

    async def later_async(agent, call_next):
        return await call_next(msg="last")

    house.bus.signal(f"pre_{hook}").connect(change, priority=-1)
    house.observe(f"pre_{hook}", before)
    house.observe(f"post_{hook}", after)
    house.bus.signal(f"post_{hook}").connect(
        lambda agent, ctx: ctx.state.update(turn="last"), role="observe"
    )
    if hook == "reply":
        house.bus.signal("around_reply").connect(later_async)
    given = await house.call(hook, "first")
    assert given == ("last" if hook == "reply" else "later")
    gate.opened.set()
    assert await house.bus.drain(SECONDS) == 0
    result = None if hook == "feed" else given
    assert sorted(seen, key=len) == [
        (given, given, result, None), ("later", "later", {"turn": "later"}, "pre", None)
    ]  # fmt: skip


async def test_it_sees_each_item_and_how_the_call_ended(house, gate):
    seen = []

    def item(agent, item):
        gate.wait()
        seen.append(item)

    def ended(agent, ctx, error):
        gate.wait()
        seen.append((ctx.outcome, type(error).__name__))

    house.bus.signal("item_stream").connect(lambda agent, item: item.upper())
    house.observe("item_stream", item)
    house.observe("finally_think", ended)
    house.bus.signal("pre_think").connect(lambda agent: Block("no"), role="guard")
    assert [*house.agent.stream("a")] == ["A"]
    with pytest.raises(Exception, match="no"):
        house.agent.think("a")
    gate.opened.set()
    assert await house.bus.drain(SECONDS) == 0
    assert sorted(seen, key=str) == [("blocked", "HookBlocked"), "A"]


@pytest.mark.parametrize("role", ["modify", "guard"])
@pytest.mark.parametrize("phase", ["pre", "post", "item", "error", "around"])
def test_it_is_refused_for_whoever_the_call_has_to_wait_for(house, phase, role):
    options = {"role": role} if phase != "around" and (phase, role) != ("error", "guard") else {}
    with pytest.raises(HookError, match='background=True: only a receiver with role="observe"'):
        house.bus.signal(f"{phase}_think").connect(
            lambda agent, call_next=None: None, background=True, **options
        )


def test_it_is_refused_where_it_cannot_work(house):
    @hookspec(modes.void, bus=house.bus)
    def who(msg):
        """Who?"""

    signal = house.bus.signal("pre_think")
    with pytest.raises(HookError, match="background=1 must be True or False"):
        signal.connect(lambda agent: None, role="observe", background=1)
    with pytest.raises(HookError, match="write a plain def receiver"):
        house.observe("pre_think", asyncio.sleep)
    for connect in (house.bus.events.connect, who.connect):
        with pytest.raises(HookError, match="background=True"):
            connect(lambda bus, event=None: None, background=True)
    for limit in (0, 1.5, True, None):
        with pytest.raises(HookError, match="must be a whole number of at least 1"):
            Bus(max_background=limit)


async def test_what_is_over_the_bound_is_dropped_counted_and_told_with_its_call(gate):
    house, started = House(max_background=3), []
    house.bus.events.connect(lambda bus, event: started.append(event.call_id), kinds=events.Started)
    house.observe("pre_think", lambda agent: gate.wait(), name="slow")
    assert {house.agent.think("hi") for _ in range(10)} == {"hi"}
    assert await house.bus.drain(0) == 3
    assert [event.call_id for event in house.failed] == started[3:]
    assert {(event.receiver, event.action) for event in house.failed} == {("slow", "isolated")}
    assert "dropped: 3 observers are running" in str(house.failed[0].exception)
    assert any(said.startswith("7 calls of background") for said in report(house.bus).findings)
    gate.opened.set()
    assert await house.bus.drain(SECONDS) == 0
    house.agent.think("hi")
    assert await house.bus.drain(SECONDS) == 0
    assert gate.inside == 4
    assert len(house.failed) == 7


async def test_a_thousand_that_hang_hold_up_neither_calls_nor_a_guard_with_a_deadline(house, gate):
    house.observe("pre_think", lambda agent: gate.wait())
    house.observe("pre_reply", lambda agent: gate.wait_async())
    house.bus.signal("pre_think").connect(lambda agent: None, role="guard", timeout=SECONDS)
    threads = threading.active_count()
    for _ in range(500):
        assert house.agent.think("hi") == await house.agent.reply("hi") == "hi"
    assert threading.active_count() - threads < 100, "the workers are capped"
    gate.opened.set()
    assert await house.bus.drain(SECONDS) == 0
    assert gate.inside == 1000, "none is lost"
    assert not house.failed


def raises(agent, ctx):
    raise ValueError("broken")


def decides(agent, ctx):
    return Replace("mine")


def writes(agent, ctx):
    with contextlib.suppress(TypeError):
        ctx.kwargs["msg"] = "mine"


def exits(agent, ctx):
    raise SystemExit


async def raises_async(agent, ctx):
    raise ValueError("broken")


async def cancels(agent, ctx):
    raise asyncio.CancelledError


async def exits_async(agent, ctx):
    raise SystemExit


async def decides_async(agent, ctx):
    return {"msg": "mine"}


BROKEN = {
    raises: ValueError, decides: HookError, writes: HookError, exits: SystemExit,
    raises_async: ValueError, cancels: asyncio.CancelledError, decides_async: HookError,
    exits_async: SystemExit,
}  # fmt: skip
FAILURES = [
    (hook, receiver, kind)
    for hook in HOOKS
    for receiver, kind in BROKEN.items()
    if hook in ("reply", "feed") or not inspect.iscoroutinefunction(receiver)
]


@pytest.mark.parametrize(("hook", "receiver", "kind"), FAILURES)
async def test_its_failure_is_told_with_the_call_it_was_asked_in_and_reaches_nobody(
    house, hook, receiver, kind
):
    finished = []
    house.bus.events.connect(lambda bus, event: finished.append(event), kinds=events.Finished)

    @hookable("outer", bus=house.bus)
    async def outer():
        return await house.call(hook)

    house.observe(f"pre_{hook}", receiver)
    assert await outer() == "hi"
    assert await house.bus.drain(SECONDS) == 0
    inner = next(event for event in finished if event.hook == hook)
    (failed,) = house.failed
    assert (failed.call_id, failed.parent_id) == (inner.call_id, inner.parent_id)
    assert failed.parent_id is not None
    assert isinstance(failed.exception, kind)
    assert (failed.action, inner.outcome) == ("isolated", "returned")


async def test_its_failure_names_the_call_around_it_also_when_that_is_over(house, gate):
    other, started = Bus(), []

    @hookable("outer", bus=other)
    async def outer():
        return await house.call("think")

    other.events.connect(lambda bus, event: started.append(event.call_id), kinds=events.Started)
    house.observe("pre_think", lambda agent: gate.wait() or raises(agent, None))
    await outer()
    gate.opened.set()
    assert await house.bus.drain(SECONDS) == 0
    assert [event.parent_id for event in house.failed] == started


def test_a_ctrl_c_in_its_task_ends_the_loop_as_in_any_task(house):
    async def interrupted(agent):
        raise KeyboardInterrupt

    async def main():
        await house.agent.reply("hi")
        await asyncio.sleep(SECONDS)

    house.observe("pre_reply", interrupted)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert [event.action for event in house.failed] == ["raised"]
    assert house.bus.drain_sync(0) == 0


async def test_the_cancellation_of_its_caller_does_not_concern_it(house, gate):
    async def observer(agent):
        await gate.wait_async()
        seen.append("looked")

    async def modifier(agent):
        await asyncio.Event().wait()

    seen = []
    house.observe("pre_reply", observer)
    house.bus.signal("post_reply").connect(modifier)
    task = asyncio.create_task(house.agent.reply("hi"))
    while not gate.inside:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.opened.set()
    assert await house.bus.drain(SECONDS) == 0
    assert seen == ["looked"]
    assert not house.failed


def test_a_loop_that_ends_first_cancels_it_which_is_told(house):
    async def observer(agent):
        await asyncio.Event().wait()

    house.observe("pre_reply", observer)
    asyncio.run(house.agent.reply("hi"))
    assert house.bus.drain_sync(0) == 0
    assert [type(event.exception) for event in house.failed] == [asyncio.CancelledError]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_one_whose_loop_was_closed_is_told_and_counted_no_longer(house):
    async def observer(agent):
        await asyncio.Event().wait()

    house.observe("pre_reply", observer)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)
    loop.run_until_complete(house.agent.reply("hi"))
    loop.close()
    assert house.bus.drain_sync(SECONDS) == 0
    assert "event loop was closed" in str(house.failed[0].exception)


def test_where_no_loop_of_asyncio_runs_it_fails_and_the_call_goes_on(house):
    house.observe("pre_reply", raises_async)
    with pytest.raises(StopIteration, match="hi"):
        house.agent.reply("hi").send(None)
    assert "needs a running asyncio event loop" in str(house.failed[0].exception)
    assert house.bus.drain_sync(0) == 0


@pytest.mark.parametrize("hook", ["think", "reply"])
async def test_it_runs_in_a_copy_of_its_callers_context(house, hook):
    seen = []

    def plain(agent):
        seen.append(MARK.get())
        MARK.set("the observer's")

    async def awaited(agent):
        plain(agent)

    house.observe(f"pre_{hook}", plain)
    if hook == "reply":
        house.observe("pre_reply", awaited)
    MARK.set("the caller's")
    await house.call(hook)
    assert await house.bus.drain(SECONDS) == 0
    assert set(seen) == {"the caller's"}
    assert MARK.get() == "the caller's"


async def test_its_own_deadline_holds_and_that_of_the_bus_does_not(gate):
    house = House(timeout=0.01)

    async def hangs(agent):
        await gate.wait_async()

    def late(agent):
        gate.opened.wait(0.02)

    house.observe("pre_reply", hangs, name="free")
    house.observe("pre_reply", hangs, timeout=0.01, name="timed", sender=house.agent)
    house.observe("pre_reply", late, timeout=0.01)
    assert [row.timeout for row in explain(house.agent.reply)] == [0.01, None, 0.01]
    await house.agent.reply("hi")
    while await house.bus.drain(0) > 1:
        await asyncio.sleep(0.001)
    assert sorted(event.receiver.rpartition(".")[2] for event in house.failed) == ["late", "timed"]
    assert {type(event.exception) for event in house.failed} == {TimeoutError}
    gate.opened.set()
    assert await house.bus.drain(SECONDS) == 0


async def test_conditions_hold_at_its_turn(house):
    seen = []

    def note(agent, msg):
        seen.append(msg)

    house.observe("pre_think", note, when={"msg": "a*"})
    house.observe("pre_reply", lambda agent, msg: note(agent, msg), once=True)
    for msg in ("a", "b"):
        house.agent.think(msg)
        await house.agent.reply(msg.upper())
    with house.bus.signal("pre_think").muted():
        house.agent.think("away")
    assert await house.bus.drain(SECONDS) == 0
    assert sorted(seen) == ["A", "a"]


async def test_a_weakly_held_one_lives_until_it_has_looked(house, gate):
    seen = []

    class Looker:
        def look(self, agent):
            gate.wait()
            seen.append("looked")

    looker = Looker()
    died = weakref.ref(looker)
    house.observe("pre_think", looker.look, weak=True)
    house.agent.think("hi")
    del looker
    gate.opened.set()
    assert await house.bus.drain(SECONDS) == 0
    assert seen == ["looked"]
    for _ in range(1000):  # its thread may be about to let go of it
        gc.collect()
        if died() is None:
            break
        await asyncio.sleep(0.001)
    assert died() is None


async def test_more_than_a_dozen_of_them_stand_in_a_loop(house):
    seen = []

    def note(number):
        return lambda agent, msg: seen.append((number, threading.get_ident()))

    signal = house.bus.signal("pre_reply")
    for number in range(30):
        signal.connect(note(number), role="observe", background=number >= 15)
    await house.agent.reply("hi")
    assert await house.bus.drain(SECONDS) == 0
    assert [number for number, _ in sorted(seen)] == [*range(30)]
    assert [who == threading.get_ident() for _, who in sorted(seen)] == [True] * 15 + [False] * 15


def test_what_is_not_used_is_not_in_the_function_that_runs_the_call(house):
    house.bus.signal("pre_think").connect(raises, role="observe")
    assert "start(" not in str(explain(house.agent.think, source=True))
    house.observe("pre_think", decides)
    rows = explain(house.agent.think, source=True)
    assert "start(" in str(rows)
    assert [row.background for row in rows] == [None, True]
