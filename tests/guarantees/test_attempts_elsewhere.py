"""An around runs its attempts in tasks of its own, several at once, or keeps `call_next` (G8, G23).

Nothing it does lifts a block, loses the caller's cancellation or runs the method late, in hot calls
as in cold ones.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, hookable


class Scene:
    """An agent that leaves a note of each of its bodies; what is connected acts once armed."""

    def __init__(self):
        scene, self.bus, self.bodies, self.is_armed = self, Bus(), [], False

        class Agent:
            @hookable("reply", bus=self.bus)
            async def reply(self, x):
                scene.bodies.append(x)
                return await scene.body(x) if scene.is_armed else x

            @hookable("think", bus=self.bus)
            def think(self, x):
                scene.bodies.append(x)
                return scene.think(x) if scene.is_armed else x

        self.agent = Agent()

    async def body(self, x):
        return x

    def think(self, x):
        return x

    def connect(self, name, receiver, **options):
        self.bus.signal(name).connect(receiver, weak=False, **options)

    async def arm(self):
        for _ in range(1):
            await self.agent.reply("warm")
            self.agent.think("warm")
        self.bodies.clear()
        self.is_armed = True

    async def cancelled(self, after=0.01):
        """Make a call, cancel it, and say that it was."""
        call = asyncio.create_task(self.agent.reply("x"))
        await asyncio.sleep(after)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


@pytest.mark.parametrize("gift", [{}, {"result": "instead"}], ids=["raises", "has a result"])
async def test_cancelling_one_attempt_lifts_no_block_of_another(gift):
    scene = Scene()

    async def guard(agent, x):
        if x == "slow":
            await asyncio.sleep(10)
        return Block("no", **gift) if x == "bad" else None

    async def around(agent, x, call_next):
        if not scene.is_armed:
            return await call_next()
        attempt = asyncio.create_task(call_next(x="slow"))
        await asyncio.sleep(0)
        try:
            await call_next(x="bad")
        except HookBlocked:
            pass
        attempt.cancel()
        await asyncio.wait({attempt})
        return await call_next()

    scene.connect("pre_reply", guard, role="guard")
    scene.connect("around_reply", around)
    await scene.arm()
    call = asyncio.create_task(scene.agent.reply("x"))
    if gift:
        assert await call == "instead"
    else:
        with pytest.raises(HookBlocked):
            await call
    assert not scene.bodies


async def test_of_two_attempts_that_are_blocked_side_by_side_the_first_says_why():
    scene = Scene()

    async def guard(agent, x):
        if x in ("first", "second"):
            await asyncio.sleep(0)
            return Block(x)
        return None

    async def around(agent, call_next):
        if not scene.is_armed:
            return await call_next()
        attempts = [asyncio.create_task(call_next(x=x)) for x in ("first", "second")]
        assert [type(each) for each in await asyncio.gather(*attempts, return_exceptions=True)] == [
            HookBlocked,
            HookBlocked,
        ]
        return "all is well"

    scene.connect("pre_reply", guard, role="guard")
    scene.connect("around_reply", around)
    await scene.arm()
    with pytest.raises(HookBlocked) as ended:
        await scene.agent.reply("x")
    assert ended.value.reason == "first" and not scene.bodies


async def test_an_attempt_that_goes_on_behind_a_cancelled_call_does_not_bring_it_back():
    scene, outcomes = Scene(), []

    async def body(x):
        await asyncio.sleep(0.03)

    async def outer(agent, call_next):
        return await asyncio.shield(asyncio.create_task(call_next()))

    async def inner(agent, call_next):
        return await call_next()

    async def audit(agent, ctx):
        outcomes.append(ctx.outcome)
        await asyncio.sleep(0.05)

    scene.body = body
    for around in (outer, inner):
        scene.connect("around_reply", around)
    scene.connect("finally_reply", audit)
    await scene.arm()
    await scene.cancelled()
    assert outcomes[-1] == "cancelled"


async def test_what_a_method_swallowed_and_a_timeout_took_back_hides_no_later_cancellation():
    scene = Scene()

    async def body(x):
        if x == "first":
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                return "partial"
        return x

    async def waits(agent, x):
        if x == "slow":
            await asyncio.sleep(10)

    async def caller():
        try:
            async with asyncio.timeout(0.01):
                await scene.agent.reply("first")
        except TimeoutError:
            pass
        return await scene.agent.reply("slow")

    scene.body = body
    scene.connect("pre_reply", waits)
    await scene.arm()
    call = asyncio.create_task(caller())
    await asyncio.sleep(0.05)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert scene.bodies == ["first"]


@pytest.mark.parametrize("waits_in", ["a guard asked again", "an inner around"])
@pytest.mark.parametrize("ends", ["blocks", "raises", "answers"])
async def test_no_method_runs_in_an_attempt_that_outlives_its_around(waits_in, ends):
    scene, attempts = Scene(), []

    async def guard(agent, x):
        if x == "slow":
            await asyncio.sleep(0.02)

    async def inner(agent, call_next):
        if scene.is_armed and "inner" in waits_in:
            await asyncio.sleep(0.02)
        return await call_next()

    async def outer(agent, call_next):
        if not scene.is_armed:
            return await call_next()
        attempts.append(
            asyncio.create_task(call_next(**({"x": "slow"} if "guard" in waits_in else {})))
        )
        await asyncio.sleep(0)
        if ends == "raises":
            raise ValueError("its own")
        return Block("no") if ends == "blocks" else "its own"

    scene.connect("pre_reply", guard, role="guard")
    for around in (outer, inner):
        scene.connect("around_reply", around)
    await scene.arm()
    call = asyncio.create_task(scene.agent.reply("x"))
    await asyncio.wait({call})
    assert (call.exception() or call.result()).__class__ is {
        "blocks": HookBlocked,
        "raises": ValueError,
        "answers": str,
    }[ends]
    with pytest.raises(HookError):
        await attempts[0]
    assert not scene.bodies


async def test_no_method_runs_in_an_attempt_once_another_was_blocked():
    scene = Scene()

    async def guard(agent, x):
        if x == "slow":
            await asyncio.sleep(0.02)
        return Block("no") if x == "bad" else None

    async def around(agent, call_next):
        if not scene.is_armed:
            return await call_next()
        attempt = asyncio.create_task(call_next(x="slow"))
        await asyncio.sleep(0)
        for each in (call_next(x="bad"), attempt):
            with pytest.raises(HookBlocked):
                await each
        return None

    scene.connect("pre_reply", guard, role="guard")
    scene.connect("around_reply", around)
    await scene.arm()
    with pytest.raises(HookBlocked):
        await scene.agent.reply("x")
    assert not scene.bodies


@pytest.mark.parametrize("ends", ["blocks", "raises", "interrupts", "answers"])
async def test_a_call_next_that_somebody_keeps_is_of_no_use_later(ends):
    class Interrupt(BaseException):
        pass

    scene, kept = Scene(), []

    def around(agent, call_next):
        if not scene.is_armed:
            return call_next()
        kept.append(call_next)
        if ends in ("raises", "interrupts"):
            raise {"raises": ValueError, "interrupts": Interrupt}[ends]
        return Block("no") if ends == "blocks" else "its own"

    scene.connect("around_think", around)
    await scene.arm()
    try:
        scene.agent.think("x")
    except (HookBlocked, ValueError, Interrupt):
        pass
    with pytest.raises(HookError, match="no" if ends == "blocks" else "after its around had ended"):
        kept[0]()
    assert not scene.bodies


async def test_a_call_next_is_of_no_use_to_the_around_outside():
    scene, kept = Scene(), []

    def outer(agent, call_next):
        result = call_next()
        with pytest.raises(HookError, match="after its around had ended"):
            kept[0]()
        return result

    def inner(agent, call_next):
        kept[:] = [call_next]
        return call_next()

    for around in (outer, inner):
        scene.connect("around_think", around)
    await scene.arm()
    assert scene.agent.think("x") == "x"
    assert scene.bodies == ["x"]


async def test_a_method_may_make_an_exception_of_its_own_of_a_cancellation():
    scene = Scene()

    async def body(x):
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            raise ValueError("interrupted") from None

    async def around(agent, call_next):
        return await call_next()

    scene.body = body
    scene.connect("around_reply", around)
    await scene.arm()
    call = asyncio.create_task(scene.agent.reply("x"))
    await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(ValueError, match="interrupted"):
        await call


@pytest.mark.parametrize("where", ["a plain receiver", "the method"])
async def test_a_cancellation_that_is_still_to_be_delivered_was_swallowed_by_nobody(where):
    scene = Scene()

    def asks(agent):
        if scene.is_armed and where == "a plain receiver":
            asyncio.current_task().cancel()

    async def body(x):
        if where == "the method":
            asyncio.current_task().cancel()

    async def waits(agent, result):
        await asyncio.sleep(0)

    scene.body = body
    scene.connect("pre_reply", asks)
    scene.connect("post_reply", waits)
    await scene.arm()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(scene.agent.reply("x"))


async def test_a_coroutine_that_is_closed_half_way_ends_without_waiting():
    scene, seen = Scene(), []

    async def body(x):
        await asyncio.sleep(10)

    async def waits(agent):
        seen.append("begun")
        await asyncio.sleep(0)

    scene.body = body
    scene.connect("finally_reply", lambda agent, ctx: seen.append(ctx.outcome))
    scene.connect("finally_reply", waits)
    await scene.arm()
    seen.clear()
    call = scene.agent.reply("x")
    call.send(None)
    call.close()
    assert seen == ["cancelled"]


def failures(scene):
    """How often receivers have failed, all of them together."""
    return sum(
        one.failures
        for name in ("around_reply", "around_think")
        for one in scene.bus.signal(name).connections()
    )


async def test_of_several_attempts_at_once_the_last_to_end_says_what_the_call_came_to():
    scene, outcomes = Scene(), []

    async def body(x):
        await asyncio.sleep(0.02 if x == "x" else 0)
        if x == "bad":
            raise ValueError(x)
        return x

    async def around(agent, call_next):
        if not scene.is_armed:
            return await call_next()
        slow = asyncio.create_task(call_next())
        await asyncio.sleep(0)
        with pytest.raises(ValueError):
            await call_next(x="bad")
        return await slow

    scene.body = body
    scene.connect("around_reply", around)
    scene.connect("finally_reply", lambda agent, ctx: outcomes.append(ctx.outcome))
    await scene.arm()
    assert await scene.agent.reply("x") == "x"
    assert outcomes[-1] == "returned"


@pytest.mark.parametrize("arounds", [1, 2])
async def test_what_the_method_raises_in_one_of_several_attempts_is_no_failure_of_the_around(
    arounds,
):
    scene = Scene()

    async def body(x):
        if x == "x":
            await asyncio.sleep(0.02)
            raise ValueError(x)

    async def around(agent, call_next):
        if not scene.is_armed:
            return await call_next()
        slow = asyncio.create_task(call_next())
        await asyncio.sleep(0)
        await call_next(x="good")
        return await slow

    async def passes_on(agent, call_next):
        return await call_next()

    scene.body = body
    for each in (around, passes_on)[:arounds]:
        scene.connect("around_reply", each)
    await scene.arm()
    with pytest.raises(ValueError):
        await scene.agent.reply("x")
    assert failures(scene) == 0


@pytest.mark.parametrize("arounds", [1, 2])
async def test_what_the_method_raises_in_one_of_several_threads_is_no_failure_of_the_around(
    arounds,
):
    scene, has_begun, may_end = Scene(), threading.Event(), threading.Event()

    def think(x):
        if x == "x":
            has_begun.set()
            may_end.wait(5)
            raise ValueError(x)

    def around(agent, call_next):
        if not scene.is_armed:
            return call_next()
        with ThreadPoolExecutor() as pool:
            slow = pool.submit(call_next)
            has_begun.wait(5)
            call_next(x="good")
            may_end.set()
            return slow.result()

    scene.think = think
    for each in (around, lambda agent, call_next: call_next())[:arounds]:
        scene.connect("around_think", each)
    await scene.arm()
    with pytest.raises(ValueError):
        scene.agent.think("x")
    assert failures(scene) == 0


@pytest.mark.parametrize("then, error", [("call_next", HookError), ("raises", ValueError)])
async def test_an_around_that_goes_on_in_a_thread_after_its_call_has_ended_does_nothing_more(
    then, error
):
    scene, threads, has_ended = Scene(), [], threading.Event()

    def outer(agent, call_next):
        if not scene.is_armed:
            return call_next()
        threads.append(pool.submit(call_next))
        return "its own"

    def inner(agent, call_next):
        if not scene.is_armed:
            return call_next()
        has_ended.wait(5)
        if then == "raises":
            raise ValueError("late")
        return call_next()

    for around in (outer, inner):
        scene.connect("around_think", around)
    await scene.arm()
    with ThreadPoolExecutor() as pool:
        assert scene.agent.think("x") == "its own"
        has_ended.set()
        with pytest.raises(error):
            threads[0].result()
    assert not scene.bodies
    assert failures(scene) == 0


async def test_an_attempt_that_is_never_awaited_is_none():
    scene, asked = Scene(), []

    async def around(agent, call_next):
        call_next().close()
        call_next(typo=1).close()
        return await call_next()

    scene.connect("pre_reply", lambda agent, x: asked.append(x), role="guard")
    scene.connect("around_reply", around)
    await scene.arm()
    asked.clear()
    assert await scene.agent.reply("x") == "x"
    assert asked == ["x"]


async def test_a_stream_that_an_around_pulls_in_a_task_of_its_own_ends_with_its_call():
    bus, pulled = Bus(), []

    class Agent:
        @hookable("feed", bus=bus)
        async def feed(self):
            for item in range(100):
                pulled.append(item)
                await asyncio.sleep(0)
                yield item

    async def around(agent, call_next):
        items = asyncio.Queue()

        async def pull():
            async for item in call_next():
                items.put_nowait(item)

        pulling.append(asyncio.create_task(pull()))
        while True:
            yield await items.get()

    pulling = []
    bus.signal("around_feed").connect(around)
    bus.signal("item_feed").connect(
        lambda agent, item: Block("no") if item == 1 else None, role="guard"
    )
    with pytest.raises(HookBlocked):
        async for _ in Agent().feed():
            pass
    with pytest.raises(HookBlocked):
        await asyncio.wait_for(pulling[0], 5)
    assert len(pulled) < 10
