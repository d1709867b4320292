"""With `install(strict=True)`: Bub's policies, its errors, and what is told of them."""

import asyncio
import gc
import inspect
import weakref

import pytest
from bub.hooks.interception import (
    LlmCallDecision,
    LlmCallRequest,
    LlmCallResult,
    ToolCall,
    ToolCallDecision,
)  # fmt: skip
from bub.streaming import AsyncStreamEvents

from hookbus import HookError, Replace, explain
from hookbus.events import Blocked, Failed, Mutated, Started
from hookbus.testing import record

from . import bub_settings as parts
from .bub_parts import agent_hooks, call_tool, framework, plugin, runtime
from .bub_settings import CALL, MODEL, broken, joined, stream_of

strict = parts.strict


REQUEST = LlmCallRequest("run", "model", [{"role": "user", "content": "hi"}])


@pytest.mark.parametrize("wrong", [broken, lambda: False, lambda: {"cmd": "rm"}])
@pytest.mark.parametrize("times", [1, 20])
async def test_bub_XB7_a_policy_that_fails_or_gives_no_verdict_blocks(bus, wrong, times):
    told = []
    hooks = agent_hooks(
        a=plugin(before_tool_call=lambda: told.append("a")), wrong=plugin(before_tool_call=wrong)
    )
    for _ in range(times):
        call, decision = await hooks.before_tool_call(CALL, {})
        assert (
            decision.action == "deny"
            and "blocked by wrong" in decision.message
            and "broken" not in decision.message
        )
    execution = await call_tool(hooks, lambda: told.append("ran"), {})
    assert "blocked by wrong" in str(execution.tool_results[0]) and told == []


async def test_bub_XB7_a_policy_of_the_model_that_fails_blocks_too():
    request, decision = await agent_hooks(wrong=plugin(before_llm_call=broken)).before_llm_call(
        REQUEST, {}
    )
    assert (
        request == REQUEST
        and isinstance(decision, LlmCallDecision)
        and "blocked by wrong" in decision.text
    )


async def test_bub_XB8_observers_run_side_by_side():
    running, most = [], []

    async def observe():
        running.append(1)
        most.append(len(running))
        await asyncio.sleep(0.01)
        running.pop()

    five = {f"p{n}": plugin(after_llm_call=observe, on_error=observe) for n in range(5)}
    hooks = agent_hooks(**five)
    for _ in range(10):
        await hooks.after_llm_call(REQUEST, LlmCallResult("run"), {})
        await hooks._runtime.notify_error(stage="turn", error=ValueError(), message=None)
    assert max(most) == 5 and most.count(5) == 20


@pytest.mark.parametrize("times", [1, 20])
async def test_bub_XB9_an_edit_that_is_not_returned_has_no_effect(times):
    seen = []

    def edit(call):
        call.arguments["cmd"] = "rm"
        call.arguments["deep"]["x"] = 2

    def edit_request(request):
        request.messages[0]["content"] = "edited"

    look = plugin(before_tool_call=lambda call: seen.append(call.arguments))
    hooks = agent_hooks(a=look, b=plugin(before_tool_call=edit, before_llm_call=edit_request))
    for _ in range(times):
        call, _ = await hooks.before_tool_call(CALL, {})
        request, _ = await hooks.before_llm_call(REQUEST, {})
    untouched = {"cmd": "ls", "deep": {"x": 1}}
    assert call.arguments == CALL.arguments == untouched and seen == [untouched] * times
    assert request.messages == REQUEST.messages == [{"role": "user", "content": "hi"}]


def test_bub_XB10_a_misspelt_hook_is_refused_with_the_closest_name():
    bot = framework()
    with pytest.raises(
        HookError,
        match=r"'before_tool_cal', which is not a hook of Bub; did you mean 'before_tool_call'\?",
    ):
        bot.plugin_manager.register(plugin(before_tool_cal=lambda: None), name="typo")
    assert bot.plugin_manager.get_plugin("typo") is None
    bot.plugin_manager.register(
        plugin(before_tool_cal=(lambda: None, {"optionalhook": True})), name="on purpose"
    )


@pytest.mark.parametrize("call", ["call_first", "call_many", "call_first_sync", "call_many_sync"])
def test_bub_XB10_asking_a_hook_that_is_none_is_an_error(call):
    asked = getattr(runtime(), call)
    with pytest.raises(HookError, match="Bub has no hook 'load_stat'; did you mean 'load_state'"):
        asyncio.run(asked("load_stat")) if inspect.iscoroutinefunction(asked) else asked(
            "load_stat"
        )


async def test_bub_XB11_events_tell_of_every_call(bus):
    bot = framework(a=plugin(run_model=lambda: "out", system_prompt=lambda: "be brief"))
    with record(bus) as fired:
        await bot.process_inbound({"content": "hi"})
        bot.get_system_prompt("p", {})
        await call_tool(bot.get_agent_hooks(), lambda: "ran", {})
    assert [event.hook for event in fired.of(Started)] == [
        "turn", "resolve_session", "provide_environment", "load_state", "build_prompt", "run_model",
        "save_state", "render_outbound", "dispatch_outbound", "system_prompt", "before_tool_call",
        "tool_call", "after_tool_call",
    ]  # fmt: skip


@pytest.mark.parametrize("error", [LookupError, SystemExit])
async def test_bub_XB12_the_event_names_who_failed_and_no_observer_ends_the_process(bus, error):
    def failing():
        raise error("out")

    told = []
    hooks = runtime(a=plugin(on_error=lambda: told.append("a")), failing=plugin(on_error=failing))
    with record(bus) as fired:
        await hooks.notify_error(stage="turn", error=ValueError(), message=None)
        hooks.notify_error_sync(stage="turn", error=ValueError(), message=None)
    assert [event.receiver for event in fired.of(Failed)] == ["failing"] * 2 and told == ["a", "a"]


def test_bub_XB13_the_report_lists_plugins_in_the_order_they_run(bus):
    bot = framework(p0=plugin(load_state=lambda: "p0"), p1=plugin(load_state=lambda: "p1"))
    assert bot.hook_report()["load_state"] == ["p1", "p0"]
    assert [row.receiver for row in explain(bot.question("load_state"))] == ["p1", "p0"]


async def test_bub_XB14_an_around_reaches_the_next_that_is_willing(bus):
    async def declines():
        return None

    hooks = runtime(
        parent=plugin(run_model_stream=lambda: stream_of("parent")),
        declines=plugin(run_model_stream=declines),
    )
    asked = []

    async def wrap(question, call_next):
        stream = await call_next()
        asked.append(stream)
        return stream

    with bus.signal("around_run_model_stream").connected_to(wrap):
        assert await joined(await hooks.run_model_stream(**MODEL)) == ["parent"]
        assert await runtime().run_model_stream(**MODEL) is None
    assert isinstance(asked[0], AsyncStreamEvents) and asked[1:] == [None]


async def test_bub_XB15_error_rescues_a_tool_around_retries_and_finally_sees_cancellation(
    bus,
):
    tries, outcomes = [], []

    def flaky():
        tries.append(1)
        raise LookupError("broken")

    hooks = agent_hooks()
    with bus.signal("error_tool_call").connected_to(
        lambda tools, error: Replace(f"rescued from {error.__cause__!r}")
    ):
        execution = await call_tool(hooks, flaky, {})
    assert (
        execution.tool_results == ["rescued from LookupError('broken')"] and execution.error is None
    )

    async def retry(tools, call_next):
        try:
            return await call_next()
        except Exception:
            return await call_next()

    with bus.signal("around_tool_call").connected_to(retry):
        await call_tool(hooks, flaky, {})
    assert len(tries) == 3

    async def hang():
        await asyncio.sleep(60)

    with bus.signal("finally_tool_call").connected_to(
        lambda tools, ctx: outcomes.append(ctx.outcome)
    ):
        task = asyncio.create_task(call_tool(hooks, hang, {}))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert outcomes == ["cancelled"]


async def test_bub_XB16_receivers_have_priority_scope_sessions_and_a_handle(bus):
    told = []

    def saying(word):
        return lambda: told.append(word)

    bot = framework(plugin=plugin(load_state=saying("plugin")))
    other = framework(plugin=plugin(load_state=saying("plugin")))
    answers = bus.signal("load_state")
    answers.connect(saying("late"), priority=-1, name="late")
    early = answers.connected_to(saying("early"), priority=1, name="early")
    answers.connect(saying("mine"), priority=2, when={"session_id": "mine:*"}, name="mine")
    bus.signal("pre_turn").connect(lambda framework: told.append("turn"), sender=bot, name="scope")
    await bot.process_inbound({"content": "hi", "session_id": "mine:1"})
    early.disconnect()
    await other.process_inbound({"content": "hi", "session_id": "yours:1"})
    assert told == ["turn", "mine", "early", "plugin", "late", "plugin", "late"]


async def test_bub_XP4_each_answer_has_who_gave_it_and_rewriting_is_told(bus):
    def refuse(call):
        return ToolCallDecision.deny("no") if call.arguments["cmd"] == "rm" else None

    change = plugin(before_tool_call=lambda: ToolCallDecision.proceed({"cmd": "cat"}))
    hooks = agent_hooks(a=change, b=plugin(before_tool_call=refuse))
    with record(bus) as fired:
        await hooks.before_tool_call(CALL, {})
        await hooks.before_tool_call(ToolCall("run", "bash", {"cmd": "rm"}), {})
    assert [(event.receiver, event.name, event.after.arguments) for event in fired.of(Mutated)] == [
        ("a", "call", {"cmd": "cat"})
    ]
    assert [(event.receiver, event.reason) for event in fired.of(Blocked)] == [("b", "no")]


async def test_bub_XP9_a_runtime_that_nobody_holds_is_gone_with_its_plugins(bus):
    answer = plugin(load_state=lambda: 1, before_tool_call=lambda: None)
    hooks = agent_hooks(a=answer)
    await hooks._runtime.call_many("load_state")
    await hooks.before_tool_call(CALL, {})
    gone = weakref.ref(answer)
    del hooks, answer
    gc.collect()
    assert gone() is None
    runtime()
    assert (
        bus.signal("load_state").connections()
        == []
        == bus.signal("pre_before_tool_call").connections()
    )
