"""Everything Bub's hooks, and pluggy's below them, can do, as a natural use of hookbus. No Bub is
needed here."""

import asyncio

import pytest

from hookbus import (
    Block,
    HookBlocked,
    HookError,
    Replace,
    explain,
    hookspec,
    modes,
    report,
)
from hookbus.events import Failed
from hookbus.testing import record

from . import bub_native_parts as parts
from .questions import async_question, question

Agent = parts.Agent


BUB_HOOKS = {
    "first": "resolve_session build_prompt run_model run_model_stream continue_prompt "
    "provide_tape_store build_tape_context admit_message provide_steering_inbox "
    "provide_environment",
    "all": "load_state save_state render_outbound dispatch_outbound register_cli_commands "
    "onboard_config provide_model_options on_error before_llm_call after_llm_call "
    "before_tool_call after_tool_call system_prompt provide_tape_sidecar provide_channels "
    "provide_lifespan",
}


def test_bub_B1_every_hook_of_bub_can_be_a_question_with_its_mode(bus):
    kept = []
    for kind, names in BUB_HOOKS.items():
        for name in names.split():
            mode = modes.firstresult if kind == "first" else modes.broadcast
            asked = async_question(bus, mode, name)
            kept.append(asked)
            asked.connect(lambda: "a", name="a")
            asked.connect(lambda: "b", name="b")
            assert asyncio.run(asked()) == ("a" if kind == "first" else ["a", "b"])
    assert len(bus.hook_names()) == 26


def test_bub_B2_one_after_the_other_until_one_answers_or_all_of_them(bus):
    told = []

    async def later(message):
        told.append("later")
        await asyncio.sleep(0)

    first = async_question(bus, modes.firstresult, "first")
    every = async_question(bus, modes.broadcast, "every")
    for asked in (first, every):
        asked.connect(lambda: told.append("low") or "low", priority=-1, name="low")
        asked.connect(later, priority=1)
        asked.connect(lambda: told.append("plain") or "plain", name="plain")
    assert asyncio.run(first()) == "plain" and asyncio.run(every()) == ["plain", "low"]
    assert told == ["later", "plain", "later", "plain", "low"]


def test_bub_B3_where_nothing_can_be_awaited_an_async_receiver_is_refused_or_told(bus):
    asked = question(bus, modes.broadcast)

    async def later():
        return "never"

    with pytest.raises(HookError, match=r"later .*is async, but ask is a plain def"):
        asked.connect(later)
    asked.connect(lambda: later(), name="hidden")
    asked.connect(lambda: "plain", name="plain")
    with record(bus) as fired:
        assert asked() == ["plain"]
    assert [event.receiver for event in fired.of(Failed)] == ["hidden"]


def test_bub_B4_a_receiver_gets_what_it_names(bus):
    asked, seen = question(bus, modes.void), []
    asked.connect(lambda: seen.append(()), name="none")
    asked.connect(lambda session_id: seen.append(session_id), name="one")
    asked.connect(lambda **everything: seen.append(sorted(everything)), name="all")
    asked()
    assert seen == [(), "s", ["message", "session_id"]]


def test_bub_B5_observers_of_errors_hurt_nobody(bus):
    told = []

    def on_error(stage, error): ...

    asked = hookspec(modes.void, bus=bus)(on_error)
    asked.connect(lambda error: {}["broken"], name="broken")
    asked.connect(lambda stage: told.append(stage), name="fine")
    with record(bus) as fired:
        asked("turn", ValueError())
    assert told == ["turn"] and [event.receiver for event in fired.of(Failed)] == ["broken"]


def test_bub_B6_report_and_explain_list_who_answers_in_the_order_they_run(bus):
    asked = question(bus, modes.broadcast)
    asked.connect(lambda: 1, name="low", priority=-1)
    asked.connect(lambda: 1, name="high", priority=1)
    assert [row.receiver for row in explain(asked)] == ["high", "low"]
    assert "high" in str(report(bus)) and "low" in str(report(bus))


def test_bub_B7_a_model_that_gives_text_and_one_that_streams_answer_one_question(bus):
    asked = question(bus, modes.firstresult)

    def as_stream(question, call_next):
        answer = call_next()
        return iter([answer]) if isinstance(answer, str) else answer

    bus.signal("around_ask").connect(as_stream)
    with asked.connected_to(lambda: "text"):
        assert list(asked()) == ["text"]
    with asked.connected_to(lambda: iter(["a", "b"])):
        assert list(asked()) == ["a", "b"]


async def test_bub_B8_the_request_is_chained_and_a_receiver_may_answer_instead_of_the_model(
    bus, Agent
):
    agent = Agent()
    for word in "ab":
        bus.signal("pre_llm").connect(
            lambda agent, request, word=word: {"request": request + word}, name=word
        )
    assert await agent.llm("hi ") == "re: hi ab"
    with bus.signal("pre_llm").connected_to(
        lambda agent, request: Replace(f"enough of {request}"), name="limit"
    ):
        assert await agent.llm("hi ") == "enough of hi ab"
    assert agent.ran == ["hi ab"]


async def test_bub_B9_an_observer_hears_of_every_call_that_completed_once(bus, Agent):
    told = []
    bus.signal("finally_tool").connect(
        lambda agent, ctx: told.append((ctx.outcome, repr(ctx.error))), name="after"
    )
    await Agent().tool("ls", {})
    with pytest.raises(LookupError):
        await Agent().tool("broken", {})
    assert told == [("returned", "None"), ("raised", "LookupError('broken')")]


async def test_bub_B10_a_policy_rewrites_replaces_or_refuses_a_tools_call(bus, Agent):
    def policy(agent, name, arguments):
        return {
            "rm": Block("no"),
            "cached": Replace("cached"),
            "ls": {"arguments": {**arguments, "safe": True}},
        }.get(name)

    bus.signal("pre_tool").connect(policy)
    agent = Agent()
    assert (
        await agent.tool("ls", {}) == "ls: {'safe': True}"
        and await agent.tool("cached", {}) == "cached"
    )
    with pytest.raises(HookBlocked, match="no"):
        await agent.tool("rm", {})


async def test_bub_B11_what_the_model_sees_is_changed_for_success_failure_and_refusal(bus, Agent):
    bus.signal("post_tool").connect(lambda agent, result: result.upper(), name="shout")
    bus.signal("error_tool").connect(lambda agent, error: Replace(f"sorry: {error}"), name="sorry")
    bus.signal("pre_tool").connect(
        lambda agent: Block("no", result="refused"), when={"name": "rm"}, role="guard", name="no"
    )
    agent = Agent()
    said = [await agent.tool(name, {}) for name in ("ls", "broken", "rm")]
    assert said == ["LS: {}", "SORRY: BROKEN", "refused"]


def test_bub_B12_states_are_merged_and_the_higher_priority_wins(bus):
    asked = question(bus, modes.merge("first"))
    asked.connect(lambda: {"who": "low", "low": 1}, priority=-1, name="low")
    asked.connect(lambda: {"who": "high"}, priority=1, name="high")
    assert asked() == {"who": "high", "low": 1}


def test_bub_B13_blocks_of_a_prompt_are_joined(bus):
    asked = question(bus, lambda answers: "\n\n".join(filter(None, reversed(answers))))
    for priority, block in ((1, "high"), (0, ""), (-1, "low")):
        asked.connect(lambda block=block: block, priority=priority, name=block or "empty")
    assert asked() == "low\n\nhigh"


def test_bub_B14_of_two_channels_with_one_name_the_first_stands(bus):
    asked = question(bus, modes.unique(lambda channel: channel["name"]))
    asked.connect(lambda: [{"name": "x", "of": "high"}], priority=1, name="high")
    asked.connect(lambda: [{"name": "x", "of": "low"}, {"name": "y", "of": "low"}], name="low")
    assert [each["of"] for answer in asked() for each in answer] == ["high", "low"]
