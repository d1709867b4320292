"""What Bub has for as long as something runs, and what falls back, as a natural use of hookbus."""

from contextlib import asynccontextmanager, contextmanager

import pytest

from hookbus import HookError, hookspec, load_plugins, modes
from hookbus.events import Failed, Finished, Started
from hookbus.testing import record

from . import bub_native_parts as parts
from .bub_native_parts import folder_with
from .questions import async_question, question

Agent = parts.Agent


@pytest.mark.parametrize("manager", [contextmanager, asynccontextmanager])
async def test_bub_B15_a_provider_is_entered_once_for_as_long_as_the_scope_is_open(bus, manager):
    told, asked = [], async_question(bus, modes.firstresult)

    def store():
        told.append("opened")
        yield "store"
        told.append("closed")

    async def async_store():
        for each in store():
            yield each

    asked.connect(manager(store if manager is contextmanager else async_store), name="store")
    async with asked.scope():
        assert (await asked(), await asked(), told) == ("store", "store", ["opened"])
    assert told == ["opened", "closed"]


async def test_bub_B16_state_is_saved_after_success_and_failure(bus, Agent):
    saved = []
    bus.signal("finally_tool").connect(lambda agent, name: saved.append(name), name="save")
    await Agent().tool("ls", {})
    with pytest.raises(LookupError):
        await Agent().tool("broken", {})
    assert saved == ["ls", "broken"]


def test_bub_B17_what_nobody_answers_or_answers_with_nothing_falls_back(bus):
    none = question(
        bus, modes.with_default(modes.firstresult, lambda session_id: f"default:{session_id}"),
        "none",
    )

    def filled(answers):
        return next(filter(None, answers), None)

    falsy = question(bus, modes.with_default(filled, lambda message: message), "falsy")
    falsy.connect(lambda: "", name="empty")
    assert none() == "default:s" and falsy() == "hi"


def test_bub_B18_a_plugin_that_does_not_load_is_a_diagnostic_and_the_others_load(bus, tmp_path):
    folder_with(tmp_path, "good", "bad")
    (tmp_path / "bad" / "plugin.py").write_text("raise ImportError('no')")
    asked = question(bus, modes.broadcast)
    with load_plugins(bus, user=tmp_path) as loaded:
        assert asked() == ["good"] and "ImportError" in str(loaded)


def test_bub_B19_onboarding_gives_each_what_those_before_it_have_said(bus):
    def onboard(config): ...

    def accumulate(receivers):
        config = {}
        for receiver in receivers:
            [answer] = yield [receiver]
            if answer.value is not None and not isinstance(answer.value, dict):
                yield modes.Reject(answer, "a config is a dict")
            elif answer.value is not None:
                config.update(answer.value)
                seen.update(config)
        return config

    seen = {}
    asked = hookspec(accumulate, bus=bus)(onboard)
    asked.connect(lambda config: {"a": len(config)}, name="a")
    asked.connect(lambda config: "no", name="wrong")
    asked.connect(lambda config: {"b": len(config)}, name="b")
    with record(bus) as fired:
        assert asked(seen) == {"a": 0, "b": 1}
    assert [event.receiver for event in fired.of(Failed)] == ["wrong"]


def test_bub_B20_an_answer_of_the_wrong_type_is_its_receivers_failure(bus):
    def texts(receivers):
        for receiver in receivers:
            [answer] = yield [receiver]
            if isinstance(answer.value, str):
                return answer.value
            if answer.value is not None:
                yield modes.Reject(answer, "answer with a text")
        return None

    asked = question(bus, texts)
    asked.connect(lambda: 1, name="number")
    with asked.connected_to(lambda: "text", name="text"):
        assert asked() == "text"
    asked.connect(lambda: 2, on_error="raise", name="strict")
    with pytest.raises(HookError):
        asked()


async def test_bub_B21_events_of_one_call_share_its_id_and_know_the_call_around_it(bus, Agent):
    agent = Agent()

    async def run(agent, call_next):
        await agent.tool("ls", {})
        return await call_next()

    bus.signal("around_llm").connect(run)
    with record(bus) as fired:
        await agent.llm("hi")
    outer, inner = fired.of(Started)
    assert inner.parent_id == outer.call_id and {event.call_id for event in fired.of(Finished)} == {
        outer.call_id,
        inner.call_id,
    }
