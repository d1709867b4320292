"""Every defect of Bub's hooks, cured by `install(strict=True)`."""

import asyncio
import gc
import warnings

import pytest
from bub.hooks.interception import ToolCallDecision

from hookbus import HookError, report
from hookbus.events import Failed
from hookbus.testing import record

from . import bub_settings as parts
from .bub_parts import Plugin, agent_hooks, framework, plugin, runtime
from .bub_settings import CALL, MODEL, broken, joined, stream_of

strict = parts.strict


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
    with pytest.raises(TypeError, match="run_model returned a int"):
        await runtime(a=plugin(run_model=lambda: 1)).run_model(**MODEL)
    with pytest.raises(TypeError, match="run_model_stream returned a str"):
        await runtime(a=plugin(run_model_stream=lambda: "text")).run_model(**MODEL)


def test_bub_XB6_what_is_async_is_refused_where_bub_cannot_await(bus):
    async def late():
        return "never"

    hooks = runtime(a=plugin(system_prompt=lambda: "plain"))
    with pytest.raises(
        HookError, match=r"late \(.*test_bub_strict\.py:\d+\) is async, but Bub calls system_prompt"
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
