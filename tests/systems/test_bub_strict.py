"""Every defect of Bub's hooks, cured by `install(strict=True)`."""

import asyncio
import gc
import inspect
import warnings
import weakref

import pytest
from bub.hooks.interception import (
    LlmCallDecision,
    LlmCallRequest,
    LlmCallResult,
    ToolCall,
    ToolCallDecision,
)  # fmt: skip
from bub.streaming import AsyncStreamEvents, StreamEvent, StreamState

from hookbus import HookError, Replace, explain, report
from hookbus.adapters import bub
from hookbus.events import Blocked, Failed, Mutated, Started
from hookbus.testing import record

from .bub_parts import Plugin, agent_hooks, call_tool, framework, plugin, runtime


@pytest.fixture(autouse=True)
def strict(bus):
    uninstall = bub.install(bus, strict=True)
    yield
    uninstall()


CALL = ToolCall("run", "bash", {"cmd": "ls", "deep": {"x": 1}})
REQUEST = LlmCallRequest("run", "model", [{"role": "user", "content": "hi"}])
MODEL = {"prompt": "p", "session_id": "s", "state": {}}


def broken():
    raise LookupError("broken")


def stream_of(*words):
    async def events():
        for word in words:
            yield StreamEvent("text", {"delta": word})

    return AsyncStreamEvents(events(), state=StreamState())


async def joined(stream):
    return [event.data["delta"] async for event in stream]


@pytest.mark.parametrize("times", [1, 20])
def test_bub_XB1_one_that_raises_is_reported_and_the_others_answer(bus, times):
    hooks = runtime(
        a=plugin(load_state=lambda: "a"),
        broken=plugin(load_state=broken),
        c=plugin(load_state=lambda: "c"),
    )
    for _ in range(times):
        assert (
            asyncio.run(hooks.call_many("load_state"))
            == ["c", "a"]
            == hooks.call_many_sync("load_state")
        )
        assert asyncio.run(hooks.call_first("load_state")) == "c"
    with record(bus) as fired:
        asyncio.run(hooks.call_many("load_state"))
    assert [
        (event.receiver, event.action, repr(event.exception)) for event in fired.of(Failed)
    ] == [("broken", "isolated", "LookupError('broken')")]
    assert any("broken" in finding and "LookupError" in finding for finding in report(bus).findings)


def test_bub_XB1_what_fails_after_some_have_answered_in_line_is_told_and_nobody_is_asked_twice(bus):
    told = []

    def second():
        told.append("second")
        if len(told) > 20:
            raise LookupError("broken")
        return "second"

    def first():
        told.append("first")
        return "first"

    hooks = runtime(
        last=plugin(load_state=lambda: "last"),
        second=plugin(load_state=second),
        first=plugin(load_state=first),
    )
    for _ in range(10):
        assert asyncio.run(hooks.call_many("load_state")) == ["first", "second", "last"]
    assert asyncio.run(hooks.call_many("load_state")) == ["first", "last"]
    assert told[-2:] == ["first", "second"] and len(told) == 22
    [row] = [row for row in bus.signal("load_state").connections() if row.name == "second"]
    assert row.failures == 1 and row.fail_opens == 1


def wrapping(told=None):
    def wrapper(message):
        answer = yield
        return f"<{answer} to {message}>"

    return (wrapper, {"wrapper": True})


def test_bub_XB2_a_wrapper_wraps_and_a_generator_is_no_answer(bus):
    hooks = runtime(
        a=plugin(build_prompt=lambda message: f"re: {message}"), b=plugin(build_prompt=wrapping())
    )
    assert asyncio.run(hooks.call_first("build_prompt", message="hi")) == "<re: hi to hi>"
    assert hooks.call_first_sync("build_prompt", message="hi") == "<re: hi to hi>"
    plain = runtime(
        a=plugin(system_prompt=lambda: "plain"), b=plugin(system_prompt=lambda: (yield))
    )
    for _ in range(10):
        assert plain.call_many_sync("system_prompt", message="hi", prompt="p", state={}) == [
            "plain"
        ]


def test_bub_XB2_wrappers_of_each_kind_nest_and_see_failures():
    told = []

    def new():
        try:
            result = yield
        except LookupError:
            return "rescued"
        return [*result, "new"]

    def old():
        outcome = yield
        told.append(outcome.get_result())
        outcome.force_result("old")

    hooks = runtime(
        a=plugin(load_state=lambda: "a"),
        new=plugin(load_state=(new, {"wrapper": True})),
        old=plugin(load_state=(old, {"hookwrapper": True})),
    )
    assert asyncio.run(hooks.call_many("load_state")) == "old" and told == [["a", "new"]]


async def test_bub_XB2_a_wrapper_of_a_tools_policy_does_not_let_it_proceed():
    def wrapper(call):
        decided, decision = yield
        return decided, ToolCallDecision.deny(f"no, not {decision.action}")

    hooks = agent_hooks(a=plugin(before_tool_call=(wrapper, {"wrapper": True})))
    assert (await hooks.before_tool_call(CALL, {}))[1] == ToolCallDecision.deny("no, not proceed")


async def test_bub_XB2_a_wrapper_that_yields_never_or_twice_is_an_error_that_says_so():
    for yields, wrong in ((0, "did not yield"), (2, "yielded twice")):

        def wrapper(yields=yields):
            for _ in range(yields):
                yield

        with pytest.raises(RuntimeError, match=wrong):
            await runtime(a=plugin(load_state=(wrapper, {"wrapper": True}))).call_many("load_state")


async def test_bub_XB3_XP7_parameters_with_defaults_keywords_and_all_of_them_get_their_values():
    seen = []

    def defaulted(session_id="mine", other=1):
        seen.append((session_id, other))

    def keyword(*, session_id):
        seen.append(session_id)

    def everything(**kwargs):
        seen.append(sorted(kwargs))

    hooks = runtime(
        a=plugin(load_state=defaulted),
        b=plugin(load_state=everything),
        c=plugin(load_state=keyword),
    )
    for _ in range(10):
        await hooks.call_many("load_state", message="m", session_id="s")
    assert seen == ["s", ["message", "session_id"], ("s", 1)] * 10


def test_bub_XB4_onboarding_gives_what_is_asked_for(monkeypatch):
    from bub import configure

    monkeypatch.setattr(configure, "validate", lambda config: config)
    seeing = plugin(onboard_config=lambda current_config: {"b": len(current_config)})
    bot = framework(
        a=plugin(onboard_config=lambda: {"a": 1}), b=seeing, broken=plugin(onboard_config=broken)
    )
    assert bot.collect_onboard_config() == {"a": 1, "b": 1}


async def test_bub_XB5_an_ordinary_method_of_that_name_hides_nothing():
    ordinary = Plugin(run_model=lambda: "not a hook")
    hooks = runtime(model=plugin(run_model=lambda: "model"), ordinary=ordinary)
    assert await hooks.run_model(**MODEL) == "model" and await joined(
        await hooks.run_model_stream(**MODEL)
    ) == ["model"]


async def test_bub_XB5_one_that_declines_passes_to_the_next_of_either_kind():
    told = []

    def saying(word, answer=None):
        return lambda: told.append(word) or answer

    hooks = runtime(
        last=plugin(run_model_stream=saying("last", stream_of("last"))),
        text=plugin(run_model=saying("text")),
        late=plugin(run_model=(saying("late"), {"trylast": True})),
        stream=plugin(run_model_stream=saying("stream")),
    )  # fmt: skip
    assert await hooks.run_model(**MODEL) == "last" and told == ["stream", "text", "last"]
    assert await runtime(a=plugin(run_model_stream=lambda: None)).run_model(**MODEL) is None
    assert await runtime(a=plugin(run_model_stream=lambda: None)).run_model_stream(**MODEL) is None


async def test_bub_XB5_specname_and_tryfirst_count():
    named = Plugin(answer=plugin(answer=(lambda: "named", {"specname": "run_model"})).answer)
    assert await runtime(a=named).run_model(**MODEL) == "named"
    newest = plugin(run_model_stream=lambda: stream_of("newest"))
    hooks = runtime(a=plugin(run_model=(lambda: "first", {"tryfirst": True})), b=newest)
    assert await hooks.run_model(**MODEL) == "first" and await joined(
        await hooks.run_model_stream(**MODEL)
    ) == ["first"]


async def test_bub_XB5_a_receiver_of_hookbus_is_a_model_too(bus):
    with bus.signal("run_model").connected_to(lambda prompt: f"re: {prompt}", name="mine"):
        assert await runtime().run_model(**MODEL) == "re: p"
    with pytest.raises(TypeError, match="run_model gave a int"):
        await runtime(a=plugin(run_model=lambda: 1)).run_model(**MODEL)
    with pytest.raises(TypeError, match="run_model_stream gave a str"):
        await runtime(a=plugin(run_model_stream=lambda: "text")).run_model(**MODEL)


def test_bub_XB6_what_is_async_is_refused_where_bub_cannot_await(bus):
    async def late():
        return "never"

    hooks = runtime(a=plugin(system_prompt=lambda: "plain"))
    with pytest.raises(
        HookError, match=r"late \(.*test_bub_strict\.py:\d+\) is async, but Bub asks system_prompt"
    ):
        hooks.manager.register(plugin(system_prompt=late), name="late")
    with pytest.raises(
        HookError, match=r"late \(.*test_bub_strict\.py:\d+\) on system_prompt is async"
    ):
        bus.signal("system_prompt").connect(late)
    assert hooks.manager.get_plugin("late") is None and hooks.call_many_sync("system_prompt") == [
        "plain"
    ]


@pytest.mark.parametrize("times", [1, 20])
def test_bub_XB6_what_turns_out_to_be_async_is_closed_and_reported(bus, times):
    async def late():
        return "never"

    hooks = runtime(a=plugin(system_prompt=lambda: "plain"), b=plugin(system_prompt=lambda: late()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(times):
            assert hooks.call_many_sync("system_prompt") == ["plain"]
        gc.collect()
    assert (
        sum(each.failures for each in bus.signal("system_prompt").connections() if each.name == "b")
        == times
    )


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
        match=r"'before_tool_cal', which is no hook of Bub; did you mean 'before_tool_call'\?",
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
        lambda executor, error: Replace(f"rescued from {error.__cause__!r}")
    ):
        execution = await call_tool(hooks, flaky, {})
    assert (
        execution.tool_results == ["rescued from LookupError('broken')"] and execution.error is None
    )

    async def retry(executor, call_next):
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
        lambda executor, ctx: outcomes.append(ctx.outcome)
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
