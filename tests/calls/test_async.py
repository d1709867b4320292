"""A call that is awaited."""

import asyncio
import contextlib
import time

import pytest

from hookbus import HookBlocked, events, hookable


async def test_an_async_call_takes_sync_and_async_receivers(bus, ran):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            await asyncio.sleep(0)
            return msg

    async def upper(a, msg):
        await asyncio.sleep(0)
        return {"msg": msg.upper()}

    async def around(a, call_next):
        return await call_next() + "!"

    bus.signal("pre_reply").connect(upper)
    bus.signal("pre_reply").connect(lambda a, msg: {"msg": msg + msg})
    bus.signal("around_reply").connect(around)
    bus.signal("around_reply").connect(lambda a, call_next: call_next(), name="sync around")
    assert await Agent().reply("a") == "AA!"


async def test_observers_run_side_by_side_and_are_settled_before_the_call_goes_on(bus, ran):
    both = asyncio.Barrier(2)

    async def observe(a):
        await both.wait()
        ran.append("observed")

    @hookable("reply", bus=bus)
    async def reply():
        ran.append("body")

    bus.signal("pre_reply").connect(observe, role="observe", name="one")
    bus.signal("pre_reply").connect(lambda a: observe(a), role="observe", name="two")
    async with asyncio.timeout(5):
        await reply()
    assert ran == ["observed", "observed", "body"]


async def test_awaited_observers_that_write_have_failed_each_for_itself(bus):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            return msg

    failed = []
    bus.events.connect(lambda bus, event: failed.append(event.receiver), kinds=events.Failed)
    for name in ("one", "two"):

        async def writes(a, ctx):
            with contextlib.suppress(TypeError):
                ctx.kwargs["msg"] = "written"

        bus.signal("pre_reply").connect(writes, role="observe", name=name)
    bus.signal("pre_reply").connect(lambda a: None, role="observe")
    assert await Agent().reply("as it was") == "as it was"
    assert failed == ["one", "two"]


async def test_a_receiver_that_raises_generator_exit_has_failed_and_one_that_is_closed_has_not(bus):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            return msg

    async def look(a, msg):
        if msg == "raise":
            raise GeneratorExit
        await asyncio.sleep(0)

    failed = []
    bus.events.connect(lambda bus, event: failed.append(event.action), kinds=events.Failed)
    bus.signal("pre_reply").connect(look)
    call = Agent().reply("wait")
    call.send(None)
    call.close()
    assert failed == []
    with pytest.raises(GeneratorExit):
        await Agent().reply("raise")
    assert failed == ["raised"]


async def test_a_timeout_error_of_a_receiver_is_its_own(bus):
    class Agent:
        @hookable("reply", bus=bus)
        async def reply(self, msg):
            return msg

    async def breaks(a):
        raise TimeoutError("of its own")

    failed = []
    bus.events.connect(lambda bus, event: failed.append(str(event.exception)), kinds=events.Failed)
    bus.signal("pre_reply").connect(breaks, timeout=60.0)
    assert await Agent().reply("a") == "a" and failed == ["of its own"]


async def test_an_async_guard_that_blocks_the_loop_past_its_deadline_has_not_said_yes(bus, ran):
    @hookable("reply", bus=bus)
    async def reply():
        ran.append("body")

    async def guard(f):
        time.sleep(0.03)  # what blocks the loop cannot be interrupted, but its answer is late

    bus.signal("pre_reply").connect(guard, role="guard", timeout=0.01)
    with pytest.raises(HookBlocked, match="TimeoutError"):
        await reply()
    assert ran == []
