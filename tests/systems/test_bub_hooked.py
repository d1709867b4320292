"""What hookbus adds to Bub, in both settings."""

import asyncio
import gc

import pytest
from bub.hooks.interception import ToolCall, ToolCallDecision

from hookbus import Block, Bus, HookBlocked, HookError, explain
from hookbus.adapters import bub
from hookbus.events import Failed, Finished
from hookbus.testing import record

from .bub_parts import agent_hooks, call_tool, framework, plugin, runtime

CALL = ToolCall("run", "bash", {"cmd": "ls"})


@pytest.fixture(params=[False, True], ids=["default", "strict"])
def is_strict(request):
    return request.param


@pytest.fixture
def bus(is_strict):
    bus = Bus()
    uninstall = bub.install(bus, strict=is_strict)
    yield bus
    uninstall()


async def test_a_guard_of_a_tools_call_sees_what_will_be_used_and_blocks(bus):
    seen = []

    def look(tools, name, arguments):
        seen.append((name, arguments["cmd"]))
        return Block("not this one") if arguments["cmd"] == "rm" else None

    bus.signal("pre_tool_call").connect(look, role="guard")
    hooks = agent_hooks(
        a=plugin(
            before_tool_call=lambda call: ToolCallDecision.proceed(
                {"cmd": call.arguments["cmd"].lower()}
            )
        )
    )
    execution = await call_tool(hooks, lambda cmd: f"ran {cmd}", {"cmd": "RM"})
    assert (
        execution.error.message
        == "tool_call was blocked by test_a_guard_of_a_tools_call_sees_what_will_be_used_and_blocks"
        ".<locals>.look: not this one"
    )
    assert (await call_tool(hooks, lambda cmd: f"ran {cmd}", {"cmd": "LS"})).tool_results == [
        "ran ls"
    ]
    assert seen == [("tool", "rm"), ("tool", "ls")]


async def test_a_guard_of_a_question_fails_the_turn_and_is_told_as_its_error(bus):
    heard = []
    bus.signal("pre_build_prompt").connect(
        lambda question, message: Block("no"), role="guard", name="guard"
    )
    bot = framework(a=plugin(on_error=lambda stage, error: heard.append((stage, str(error)))))
    with pytest.raises(HookBlocked):
        await bot.process_inbound({"content": "hi"})
    assert heard == [("turn", "build_prompt was blocked by guard: no")]


@pytest.mark.parametrize("is_hot", [False, True])
async def test_whoever_comes_in_between_is_heard_at_once(bus, is_hot):
    hooks = runtime(a=plugin(load_state=lambda: "a", system_prompt=lambda: "a"))
    for _ in range(20 if is_hot else 1):
        assert await hooks.call_many("load_state") == ["a"] == hooks.call_many_sync("system_prompt")
    with (
        bus.signal("load_state").connected_to(lambda: "b", priority=1),
        bus.signal("system_prompt").connected_to(lambda: "b"),
    ):
        assert await hooks.call_many("load_state") == ["b", "a"] and hooks.call_many_sync(
            "system_prompt"
        ) == ["a", "b"]
    with bus.signal("load_state").muted():
        assert await hooks.call_many("load_state") == []
    assert await hooks.call_many("load_state") == ["a"]


async def test_two_runtimes_on_one_bus_ask_their_own_plugins_only(bus):
    one = runtime(a=plugin(load_state=lambda: "one"))
    two = runtime(a=plugin(load_state=lambda: "two"))
    bus.events.connect(lambda bus, event: None, name="listener")
    assert (await one.call_many("load_state"), await two.call_many("load_state")) == (
        ["one"],
        ["two"],
    )
    assert (one.call_first_sync("load_state"), two.call_first_sync("load_state")) == ("one", "two")


async def test_every_call_is_told_once_and_report_knows_who_has_fired(bus):
    hooks = runtime(never=plugin(build_prompt=lambda: "never"), a=plugin(build_prompt=lambda: "a"))
    for _ in range(10):
        await hooks.call_first("build_prompt")
    fired = {each.name: each.has_fired for each in bus.signal("build_prompt").connections()}
    assert fired == {"a": True, "never": False}
    with record(bus) as events:
        await hooks.call_first("build_prompt")
    assert events.count("build_prompt") == 1
    assert [event.outcome for event in events.of(Finished)] == ["returned"]


def test_a_receiver_that_waits_where_bub_cannot_await_is_refused_or_fails_and_the_others_answer(
    bus, is_strict
):
    async def waits():
        await asyncio.sleep(1)

    hooks = runtime(a=plugin(system_prompt=lambda: "plain"))
    if is_strict:
        with pytest.raises(HookError, match="waits .* is async"):
            bus.signal("system_prompt").connect(waits)
        return
    with bus.signal("system_prompt").connected_to(waits, name="waits"), record(bus) as fired:
        assert hooks.call_many_sync("system_prompt") == ["plain"]
    assert [event.receiver for event in fired.of(Failed)] == ["waits"]


def test_a_question_is_explained_by_its_framework(bus):
    bot = framework(a=plugin(before_tool_call=lambda: None, build_prompt=lambda: None))
    with pytest.raises(
        HookError, match="Bub has no hook 'build_promt'; did you mean 'build_prompt'"
    ):
        bot.question("build_promt")
    for name in ("before_tool_call", "build_prompt"):
        assert [row.receiver for row in explain(bot.question(name))] == ["a"]


def test_in_bubs_own_manner_a_question_is_asked_through_bub_only(bus, is_strict):
    asked = framework(a=plugin(build_prompt=lambda: "a")).question("build_prompt")
    if is_strict:
        assert (
            asyncio.run(asked(message="hi", session_id="s", state={})) is None
        )  # of no runtime: nobody's plugins
    else:
        with pytest.raises(HookError, match="build_prompt must be called by Bub"):
            asyncio.run(asked(message="hi"))


@pytest.mark.parametrize("from_call", [1, 10])
async def test_bub_XB8_a_policy_that_hangs_has_a_deadline(is_strict, from_call):
    calls = []

    async def hang():
        calls.append(1)
        if len(calls) >= from_call:
            await asyncio.sleep(60)

    uninstall = bub.install(Bus(timeout=0.05), strict=is_strict)
    try:
        hooks = agent_hooks(hung=plugin(before_tool_call=hang))
        decisions = [(await hooks.before_tool_call(CALL, {}))[1].action for _ in range(from_call)]
    finally:
        uninstall()
    assert decisions == ["proceed"] * (from_call - 1) + ["deny" if is_strict else "proceed"]


async def test_a_modifier_of_a_tools_call_changes_what_the_tool_gets(bus):
    hooks = agent_hooks(a=plugin(before_tool_call=lambda: ToolCallDecision.proceed({"cmd": "ls"})))
    with bus.signal("pre_tool_call").connected_to(
        lambda tools, arguments: {"arguments": {"cmd": f"{arguments['cmd']} -l"}}
    ):
        assert (await call_tool(hooks, lambda cmd: f"ran {cmd}", {"cmd": "rm"})).tool_results == [
            "ran ls -l"
        ]


def test_runtimes_that_were_there_before_are_taken_over_and_given_back(is_strict):
    hooks = agent_hooks(
        a=plugin(load_state=lambda: "a", before_tool_call=lambda: ToolCallDecision.deny("no"))
    )
    bus = Bus()
    gc.collect()  # other tests' runtimes
    uninstall = bub.install(bus, strict=is_strict)
    try:
        assert [each.name for each in bus.signal("load_state").connections()] == ["a"]
        assert [each.name for each in bus.signal("pre_before_tool_call").connections()] == ["a"]
        kept = hooks._runtime.call_many
        kept_hook = hooks.before_tool_call
        manager = hooks._runtime.manager
        assert {"register", "unregister"} <= vars(manager).keys()
    finally:
        uninstall()
    assert not {"register", "unregister"} & vars(manager).keys() and "_hookbus" not in vars(
        hooks._runtime
    )
    assert asyncio.run(kept("load_state")) == ["a"] and vars(hooks).keys() == {"_runtime"}
    assert asyncio.run(kept_hook(CALL, {}))[1].message == "no"


def test_a_thousand_calls_leave_nothing_behind(bus):
    hooks = runtime(a=plugin(load_state=lambda: "a"))
    for _ in range(1000):
        hooks.call_many_sync("load_state")
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(1000):
        hooks.call_many_sync("load_state")
    gc.collect()
    assert len(gc.get_objects()) - before < 100
