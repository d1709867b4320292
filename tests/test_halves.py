"""One call in two halves, without a framework."""

import asyncio
import logging

import pluggy
import pytest

from hookbus import Block, Bus, HookBlocked, HookError, Replace
from hookbus.adapters._halves import Go, Halves, Instead
from hookbus.adapters._patches import Patches
from hookbus.adapters._tools import Gate, Results, ToolCall
from hookbus.events import Finished
from hookbus.testing import record


class Tool:
    pass


TOOL = Tool()
ANN = {"amount": 1, "to": "ann"}


def pay(**changes):
    return ToolCall("pay", {**ANN, **changes}, tool=TOOL)


@pytest.fixture
def patches():
    with Patches("pluggy", pluggy.__version__) as patches:
        yield patches
    patches.restore()


@pytest.fixture
def bus():
    return Bus(values=True)


@pytest.fixture
def gate(bus, patches):
    told = Results(
        shown=lambda raw: raw["text"],
        packed=lambda call, raw, value: {"text": value, "was": raw is not None},
        refused=lambda refused: {"error": refused.text},
    )
    return Gate(patches, bus, told)


@pytest.fixture
async def halves(gate):
    halves = Halves(gate)
    yield halves
    await halves.close()


@pytest.fixture
def outcomes(bus):
    with record(bus) as fired:
        yield lambda: [each.outcome for each in fired.of(Finished)]


class TestBegin:
    async def test_it_gives_the_arguments_where_nobody_changes_them(self, halves):
        call = pay()
        begun = await halves.begin(1, call)
        assert isinstance(begun, Go) and begun.arguments is call.arguments

    async def test_it_gives_them_as_a_receiver_changed_them(self, bus, halves):
        bus.signal("pre_tool_call").connect(
            lambda tool, arguments: {"arguments": {**arguments, "to": "bob"}}
        )
        assert await halves.begin(1, pay()) == Go({"amount": 1, "to": "bob"})

    async def test_a_guard_blocks_and_the_call_has_ended(self, bus, halves, outcomes):
        bus.signal("pre_tool_call").connect(lambda tool: Block("no"), role="guard", name="guard")
        told = {"error": "Error: the call was blocked by guard: no"}
        assert await halves.begin(1, pay()) == Instead(told) and outcomes() == ["blocked"]
        with pytest.raises(HookError, match="no call is open under 1"):
            await halves.end(1, {"text": "paid"})

    async def test_a_refusal_that_raises_goes_out(self, bus, patches):
        bus.signal("pre_tool_call").connect(lambda tool: Block("no"), role="guard")
        with pytest.raises(HookBlocked):
            await Halves(Gate(patches, bus)).begin(1, pay())

    async def test_a_replacement_is_packed(self, bus, halves, outcomes):
        bus.signal("pre_tool_call").connect(lambda tool: Replace("from the cache"))
        told = {"text": "from the cache", "was": False}
        assert await halves.begin(1, pay()) == Instead(told) and outcomes() == ["replaced"]

    async def test_what_an_around_raises_goes_out(self, bus, halves):
        async def broken(tool, call_next):
            raise LookupError

        bus.signal("around_tool_call").connect(broken)
        with pytest.raises(LookupError):
            await halves.begin(1, pay())

    async def test_who_is_cancelled_in_it_cancels_the_call(self, bus, halves, outcomes):
        asked = asyncio.Event()

        async def waits(tool):
            asked.set()
            await asyncio.sleep(60)

        bus.signal("pre_tool_call").connect(waits, role="guard")
        begun = asyncio.ensure_future(halves.begin(1, pay()))
        await asked.wait()
        begun.cancel()
        with pytest.raises(asyncio.CancelledError):
            await begun
        assert outcomes() == ["cancelled"]


class TestEnd:
    async def test_a_result_that_nobody_changes_is_the_same_object(self, halves, outcomes):
        await halves.begin(1, pay())
        raw = {"text": "paid"}
        assert await halves.end(1, raw) is raw and outcomes() == ["returned"]

    async def test_a_changed_result_is_packed(self, bus, halves):
        bus.signal("post_tool_call").connect(lambda tool, result: result.upper())
        await halves.begin(1, pay())
        assert await halves.end(1, {"text": "paid"}) == {"text": "PAID", "was": True}

    async def test_a_guard_withholds_it(self, bus, halves):
        bus.signal("post_tool_call").connect(
            lambda tool, result: Block("a pin"), role="guard", name="no_pins"
        )
        await halves.begin(1, pay())
        told = await halves.end(1, {"text": "pin-4711"})
        assert told == {"error": "Error: the call was blocked by no_pins: a pin"}

    async def test_interleaved_calls_are_kept_apart(self, bus, halves):
        bus.signal("post_tool_call").connect(
            lambda tool, arguments, result: f"{result} to {arguments['to']}"
        )
        await halves.begin("a", pay())
        await halves.begin("b", pay(to="bob"))
        first = await halves.end("a", {"text": "paid 1"})
        second = await halves.end("b", {"text": "paid 2"})
        assert [first["text"], second["text"]] == ["paid 1 to ann", "paid 2 to bob"]

    async def test_an_around_sees_both_halves(self, bus, halves):
        seen = []

        async def around(tool, arguments, call_next):
            seen.append(arguments["to"])
            seen.append(await call_next())
            return "seen"

        bus.signal("around_tool_call").connect(around)
        await halves.begin(1, pay())
        assert seen == ["ann"]
        assert (await halves.end(1, {"text": "paid"}))["text"] == "seen"
        assert seen == ["ann", "paid"]

    async def test_an_around_that_tries_again_is_told_that_it_cannot(self, bus, halves):
        async def twice(tool, call_next):
            await call_next()
            return await call_next()

        bus.signal("around_tool_call").connect(twice)
        assert isinstance(await halves.begin(1, pay()), Go)
        with pytest.raises(HookError, match="pay runs only once, between two callbacks"):
            await halves.end(1, {"text": "paid"})

    async def test_an_around_that_did_not_wait_gives_its_own_result(self, bus, halves):
        async def impatient(tool, call_next):
            try:
                return await asyncio.wait_for(call_next(), 0.01)
            except TimeoutError:
                return "too late"

        bus.signal("around_tool_call").connect(impatient)
        assert isinstance(await halves.begin(1, pay()), Go)
        await asyncio.sleep(0.05)
        assert (await halves.end(1, {"text": "paid"}))["text"] == "too late"

    async def test_who_is_cancelled_in_it_cancels_the_call(self, bus, halves, outcomes):
        asked = asyncio.Event()

        async def waits(tool, result):
            asked.set()
            await asyncio.sleep(60)

        bus.signal("post_tool_call").connect(waits)
        await halves.begin(1, pay())
        ended = asyncio.ensure_future(halves.end(1, {"text": "paid"}))
        await asked.wait()
        ended.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ended
        assert outcomes() == ["cancelled"]


class TestFail:
    async def test_the_same_exception_goes_out(self, halves, outcomes):
        error = OSError("no bank")
        await halves.begin(1, pay())
        with pytest.raises(OSError, match="no bank") as raised:
            await halves.fail(1, error)
        assert raised.value is error and outcomes() == ["raised"]

    async def test_a_receiver_may_give_a_result_instead(self, bus, halves):
        bus.signal("error_tool_call").connect(lambda tool, error: Replace(f"told: {error}"))
        await halves.begin(1, pay())
        assert (await halves.fail(1, OSError("no bank")))["text"] == "told: no bank"


class TestWhoNeverComesBack:
    async def test_close_ends_it_as_cancelled(self, halves, outcomes):
        await halves.begin(1, pay())
        await halves.begin(2, pay())
        await halves.close()
        assert outcomes() == ["cancelled", "cancelled"]
        with pytest.raises(HookError, match="no call is open"):
            await halves.end(1, {"text": "paid"})

    async def test_one_more_than_may_be_open_ends_the_oldest(self, gate, outcomes, caplog):
        halves = Halves(gate, most=2)
        with caplog.at_level(logging.WARNING, "hookbus"):
            for key in (1, 2, 3):
                await halves.begin(key, pay())
            await asyncio.sleep(0)
        assert outcomes() == ["cancelled"]
        assert caplog.messages == ["a call of pay that never returned was ended: 2 calls are open"]
        with pytest.raises(HookError):
            await halves.end(1, {"text": "paid"})
        assert await halves.end(2, {"text": "paid"}) == await halves.end(3, {"text": "paid"})

    async def test_one_that_is_open_too_long_is_ended(self, gate, outcomes, caplog):
        halves = Halves(gate, longest=0.01)
        with caplog.at_level(logging.WARNING, "hookbus"):
            await halves.begin(1, pay())
            while not outcomes():
                await asyncio.sleep(0.01)
        assert outcomes() == ["cancelled"] and "longer than 0.01 s" in caplog.text

    async def test_another_one_under_its_key_ends_it(self, bus, halves, outcomes, caplog):
        await halves.begin(1, pay())
        with caplog.at_level(logging.WARNING, "hookbus"):
            await halves.begin(1, pay(to="bob"))
            await asyncio.sleep(0)
        assert outcomes() == ["cancelled"] and "another call began" in caplog.text
        raw = {"text": "paid"}
        assert await halves.end(1, raw) is raw

    def test_one_of_a_loop_that_is_over_is_ended_with_it(self, gate, outcomes):
        halves = Halves(gate, most=1)
        asyncio.run(halves.begin(1, pay()))
        assert outcomes() == ["cancelled"]
        assert isinstance(asyncio.run(halves.begin(2, pay())), Go)
