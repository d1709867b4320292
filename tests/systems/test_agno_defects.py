"""Agno's defects are not hookbus's. No Agno is needed here: the real one is in
`test_agno_strict.py`."""

import asyncio
import functools

import pytest

from hookbus import Block, HookBlocked, HookError, explain, hookable
from hookbus.events import Failed, Finished, Started
from hookbus.testing import record

from . import agno_defects_parts as parts

Tool = parts.Tool


class AsyncRefusal:
    async def __call__(self, tool):
        await asyncio.sleep(0)
        return Block("not you")


async def refuse(tool):
    await asyncio.sleep(0)
    return Block("not you")


@pytest.mark.parametrize("arguments", [{"x": 1}, {}])
async def test_agno_AG1_what_call_next_is_given_arrives(bus, Tool, arguments):
    seen = []
    for hook in ("tool", "atool"):
        bus.signal(f"around_{hook}").connect(
            lambda tool, args, call_next: call_next(args={**args, "x": 99}), name="change"
        )
        bus.signal(f"around_{hook}").connect(
            lambda tool, args, call_next: seen.append(args) or call_next(), name="inner"
        )
    tool = Tool()
    tool.call(**arguments)
    await tool.acall(**arguments)
    assert tool.ran == seen == [{"x": 99}] * 2


@pytest.mark.parametrize(
    "guard",
    [refuse, AsyncRefusal(), functools.partial(refuse)],
    ids=["function", "object", "partial"],
)
def test_agno_AG2_an_async_guard_of_a_plain_call_is_refused_when_connected(bus, Tool, guard):
    with pytest.raises(HookError, match="is async, but tool is a plain def"):
        bus.signal("pre_tool").connect(guard, sender=Tool, role="guard")


def test_agno_AG2_one_that_cannot_be_known_closes(bus, Tool):
    bus.signal("pre_tool").connect(lambda tool: refuse(tool), role="guard", name="hidden")
    tool = Tool()
    with pytest.raises(HookBlocked):
        tool.call()
    assert tool.ran == []


@pytest.mark.parametrize(
    "guard", [AsyncRefusal(), lambda tool: refuse(tool)], ids=["object", "lambda"]
)
async def test_agno_AG3_whatever_returns_an_awaitable_is_awaited(bus, Tool, guard):
    bus.signal("pre_atool").connect(guard, role="guard", name="guard")
    tool = Tool()
    with pytest.raises(HookBlocked, match="not you"):
        await tool.acall()
    assert tool.ran == []


async def test_agno_AG4_an_async_guard_holds_back_a_plain_function_called_from_async_code(bus):
    ran = []

    @hookable("run", bus=bus)
    async def run(work):
        return await asyncio.to_thread(work)

    bus.signal("pre_run").connect(refuse, role="guard", name="guard")
    with pytest.raises(HookBlocked, match="not you"):
        await run(lambda: ran.append(1))
    assert ran == []


async def test_agno_AG5_a_partial_has_a_name_and_is_awaited(bus, Tool):
    async def limit(most, tool):
        return Block(f"at most {most}")

    bus.signal("pre_atool").connect(functools.partial(limit, 3), role="guard")
    with pytest.raises(HookBlocked, match="limit: at most 3"):
        await Tool().acall()
    assert "limit" in explain(Tool().acall).rows[0].receiver


async def test_agno_AG6_what_a_plain_receiver_of_an_async_call_gets_is_a_value(bus, Tool):
    seen = []
    bus.signal("post_atool").connect(lambda tool, result: seen.append(result), name="post")
    await Tool().acall(x=1)
    assert seen == [{"x": 1}]


def test_agno_AG7_a_guard_that_raises_blocks_and_is_named(bus, Tool):
    def policy(tool):
        raise PermissionError("the secret rule")

    bus.signal("pre_tool").connect(policy, role="guard", name="policy")
    tool = Tool()
    with pytest.raises(
        HookBlocked, match="tool was blocked by policy: guard failed: PermissionError"
    ) as blocked:
        tool.call()
    assert "secret" not in str(blocked.value) and tool.ran == []


def test_agno_AG8_a_wrong_name_is_refused_and_every_start_has_one_end(bus):
    @hookable("run", bus=bus)
    def run(run_input):
        return run_input

    with pytest.raises(HookError, match="has a parameter 'runinput'.*did you mean 'run_input'"):
        bus.signal("pre_run").connect(lambda function, runinput: None, sender=run)
    bus.signal("pre_run").connect(
        lambda function: Block("no") if run is None else 1 / 0, role="guard", name="broken"
    )
    with record(bus) as fired, pytest.raises(HookBlocked):
        run("hi")
    assert [type(event) for event in fired.events if isinstance(event, (Started, Finished))] == [
        Started,
        Finished,
    ]


def test_agno_AG9_who_asks_for_what_the_phase_does_not_have_is_refused(bus, Tool):
    with pytest.raises(HookError, match="'item'"):
        bus.signal("post_tool").connect(lambda tool, *, item: None, sender=Tool, role="guard")
    with pytest.raises(HookError, match="guard item_stream"):
        bus.signal("post_stream").connect(lambda tool, result: None, sender=Tool, role="guard")


def test_agno_AG10_what_cannot_block_cannot_be_taken_for_a_guard(bus, Tool):
    bus.signal("pre_tool").connect(
        lambda tool: Block("too late"), role="observe", name="background"
    )
    with record(bus) as fired:
        Tool().call()
    assert "an observer cannot decide anything" in str(fired.of(Failed)[0].exception)
    for options in ({"once": True}, {"on_error": "isolate"}):
        with pytest.raises(HookError):
            bus.signal("pre_tool").connect(lambda tool: None, role="guard", **options)
