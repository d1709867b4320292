"""Agno's defects are not hookbus's. No Agno is needed here: the real one is in
`test_agno_strict.py`."""

import asyncio
import functools
import threading
import time

import pytest

from hookbus import Block, Drop, HookBlocked, HookError, explain, hookable
from hookbus.events import Failed, Finished, Mutated, Started
from hookbus.testing import record


@pytest.fixture
def Tool(bus):
    class Tool:
        def __init__(self):
            self.ran = []

        @hookable("tool", bus=bus)
        def call(self, **args):
            self.ran.append(args)
            if args.get("fail"):
                raise LookupError("nothing there")
            return args

        @hookable("atool", bus=bus)
        async def acall(self, **args):
            self.ran.append(args)
            return args

        @hookable("stream", bus=bus)
        def stream(self, n, fail=False):
            yield from range(n)
            if fail:
                raise LookupError("broken off")

    return Tool


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

    with pytest.raises(HookError, match="asks for 'runinput'.*did you mean 'run_input'"):
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
    assert "an observer decides nothing" in str(fired.of(Failed)[0].exception)
    for options in ({"once": True}, {"on_error": "isolate"}):
        with pytest.raises(HookError):
            bus.signal("pre_tool").connect(lambda tool: None, role="guard", **options)


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
    bus.require("tool")
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
