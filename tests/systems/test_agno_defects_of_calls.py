"""Agno's defects in how calls end, what they share and who is asked again are not hookbus's."""

import asyncio
import threading
import time

import pytest

from hookbus import Block, Drop, HookBlocked, explain, hookable
from hookbus.events import Failed, Finished, Mutated
from hookbus.testing import record

from . import agno_defects_parts as parts

Tool = parts.Tool


def test_agno_AG11_finally_comes_on_every_exit_and_post_changes_the_result(bus, Tool):
    outcomes = []
    bus.signal("finally_tool").connect(lambda tool, ctx: outcomes.append(ctx.outcome), name="end")
    bus.signal("post_tool").connect(lambda tool, result: "redacted", name="redact")
    assert Tool().call() == "redacted"
    with pytest.raises(LookupError):
        Tool().call(fail=True)
    with (
        bus.signal("pre_tool").connected_to(lambda tool: Block("no"), role="guard"),
        pytest.raises(HookBlocked),
    ):
        Tool().call()
    assert outcomes == ["returned", "raised", "blocked"]


def test_agno_AG12_an_observer_that_fails_after_success_is_told_and_costs_nothing(bus, Tool):
    def log(tool, result):
        raise OSError("the disk is full")

    bus.signal("post_tool").connect(log, role="observe", name="log")
    with record(bus) as fired:
        assert Tool().call(x=1) == {"x": 1}
    assert [(event.receiver, event.action) for event in fired.of(Failed)] == [("log", "isolated")]
    assert fired.of(Finished)[0].outcome == "returned"


def test_agno_AG13_an_around_that_returns_nothing_is_reported(bus, Tool):
    bus.signal("around_tool").connect(
        lambda tool, call_next: call_next() and None, name="forgetful"
    )
    with record(bus) as fired:
        assert Tool().call(x=1) is None
    assert [
        (event.receiver, event.name, event.before, event.after) for event in fired.of(Mutated)
    ] == [("forgetful", "result", {"x": 1}, None)]


def test_agno_AG14_scopes_merge_and_a_guard_can_be_required(bus, Tool):
    tool = Tool()
    bus.signal("pre_tool").connect(lambda tool: None, sender=tool, role="guard", name="own")
    bus.signal("pre_tool").connect(
        lambda tool: None, sender=Tool, role="guard", name="of the class"
    )
    assert [row.receiver for row in explain(tool.call)] == ["own", "of the class"]
    bus.require_guard("tool")
    with bus.signal("pre_tool").muted():
        assert [row.receiver for row in explain(tool.call)] == ["own", "of the class"]


async def test_agno_AG15_calls_at_once_leave_shared_objects_as_they_are(bus, Tool):
    shared = {"messages": ["hi"]}
    messages = shared["messages"]

    async def around(tool, call_next):
        await asyncio.sleep(0.001)
        return await call_next()

    bus.signal("around_atool").connect(around, name="around")
    tool = Tool()
    await asyncio.gather(*(tool.acall(context=shared) for _ in range(4)))
    assert shared == {"messages": ["hi"]} and all(
        each["context"]["messages"] is messages for each in tool.ran
    )


async def test_agno_AG16_an_async_receiver_does_not_move_the_body_to_another_thread(bus):
    threads = []

    @hookable("work", bus=bus)
    async def work():
        await asyncio.to_thread(
            lambda: threads.append(threading.current_thread() is threading.main_thread())
        )

    await work()

    async def look(function):
        await asyncio.sleep(0)

    bus.signal("pre_work").connect(look, name="look")
    await work()
    assert threads == [False, False]


def test_agno_AG17_of_a_stream_post_and_error_come_at_its_end_and_items_one_by_one(bus, Tool):
    told = []
    bus.signal("item_stream").connect(
        lambda tool, item: Drop() if item == 0 else item * 10, name="tenfold"
    )
    bus.signal("post_stream").connect(lambda tool: told.append("post"), role="observe", name="post")
    bus.signal("error_stream").connect(
        lambda tool, error: told.append(str(error)), role="observe", name="error"
    )
    items = Tool().stream(3)
    assert next(items) == 10 and told == []
    assert list(items) == [20] and told == ["post"]
    with pytest.raises(LookupError):
        list(Tool().stream(1, fail=True))
    assert told == ["post", "broken off"]


def test_agno_AG18_whoever_changes_the_arguments_has_the_guards_asked_again(bus, Tool):
    approved = [{"path": "/tmp"}]
    bus.signal("pre_tool").connect(
        lambda tool, args: None if args in approved else Block("ask again"),
        role="guard",
        name="ask",
    )
    bus.signal("around_tool").connect(
        lambda tool, args, call_next: call_next(args={"path": "/etc"}), name="rewrite"
    )
    tool = Tool()
    with pytest.raises(HookBlocked, match="ask again"):
        tool.call(path="/tmp")
    assert tool.ran == []


def test_agno_AG19_priority_name_filter_deadline_once_scope_and_a_handle(bus, Tool):
    told, tool = [], Tool()
    signal = bus.signal("pre_tool")
    signal.connect(lambda tool: told.append("low"), priority=-1, name="low")
    signal.connect(lambda tool: told.append("high"), priority=1, name="high")
    signal.connect(lambda tool: told.append("once"), once=True, name="once")
    signal.connect(
        lambda tool, ctx: told.append(ctx.sender.ran), when=lambda args: "x" in args, name="filter"
    )
    signal.connect(lambda tool: time.sleep(0.3), timeout=0.01, role="observe", name="slow")
    with (
        signal.connected_to(lambda tool: told.append("own"), sender=tool, name="own"),
        record(bus) as fired,
    ):
        tool.call(x=1)
    assert told == ["high", "own", "once", [{"x": 1}], "low"] and [
        event.receiver for event in fired.of(Failed)
    ] == ["slow"]
    assert [row.receiver for row in explain(tool.call)] == ["high", "filter", "low", "slow"]


def test_agno_AG20_a_pass_through_receiver_is_called_once_and_nothing_is_inspected(
    bus, Tool, monkeypatch
):
    tool, told = Tool(), []
    for number in range(10):
        bus.signal("pre_tool").connect(lambda tool, n=number: told.append(n), name=f"r{number}")
    tool.call()
    told.clear()
    monkeypatch.setattr("inspect.signature", None)
    tool.call(x=1)
    assert told == list(range(10))
