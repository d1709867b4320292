"""Everything Bub's hooks, and pluggy's below them, can do, as a natural use of hookbus. No Bub is
needed here."""

import asyncio
import inspect
from contextlib import asynccontextmanager, contextmanager

import pytest

from hookbus import (
    Block,
    HookBlocked,
    HookError,
    Replace,
    explain,
    hookable,
    hookspec,
    load_plugins,
    modes,
    receives,
    report,
)
from hookbus.events import Failed, Finished, Started
from hookbus.testing import record

from .questions import async_question, question


@pytest.fixture
def Agent(bus):
    class Agent:
        """An agent whose model and tools are hooks."""

        def __init__(self):
            self.ran = []

        @hookable("llm", bus=bus)
        async def llm(self, request, run_id="run"):
            self.ran.append(request)
            return f"re: {request}"

        @hookable("tool", bus=bus)
        async def tool(self, name, arguments, run_id="run"):
            self.ran.append((name, arguments))
            if name == "broken":
                raise LookupError("broken")
            return f"{name}: {arguments}"

    return Agent


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
        bus, modes.otherwise(modes.firstresult, lambda session_id: f"default:{session_id}"), "none"
    )

    def filled(answers):
        return next(filter(None, answers), None)

    falsy = question(bus, modes.otherwise(filled, lambda message: message), "falsy")
    falsy.connect(lambda: "", name="empty")
    assert none() == "default:s" and falsy() == "hi"


def folder_with(tmp_path, *names):
    """Return a folder of plugins that answer with their own names."""
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "hookbus-plugin.toml").write_text(
            f'format = 1\nid = "{name}"\nversion = "1.0"\nhooks = ["ask"]\n'
        )
        code = f"def register(api):\n    api.connect('ask', lambda: {name!r}, name={name!r})\n"
        (tmp_path / name / "plugin.py").write_text(code)
    return tmp_path


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


# -- pluggy ----------------------------------------------------------------------------------------


def test_bub_P1_a_specification_says_its_mode_and_whether_calls_are_kept(bus):
    assert (
        question(bus, modes.firstresult, "first")() is None
        and question(bus, modes.broadcast, "every")() == []
    )
    late = question(bus, modes.void, "late", historic=True)
    late("early")
    heard = []
    late.connect(lambda message: heard.append(message), name="late")
    late.replay()
    assert heard == ["early"]


def test_bub_P2_an_implementation_names_its_question_and_its_place(bus):
    told = []

    class Plugin:
        @receives("ask", priority=-1)
        def last(self):
            told.append("last")

        @receives("ask", priority=1)
        def first(self):
            told.append("first")

        @receives("around_ask")
        def wrap(self, question, call_next):
            told.append("wrap")
            return call_next()

    asked = question(bus, modes.broadcast)
    bus.plug(Plugin())
    asked()
    assert told == ["wrap", "first", "last"]
    asked.connect(lambda: None, name="last", before="first")
    with pytest.raises(HookError, match="first"):
        asked.connect(lambda: None, name="first", before="last")


def test_bub_P3_the_order_is_priority_then_connection_with_arounds_outermost(bus):
    told, asked = [], question(bus, modes.void)
    for name, priority in (("c", 0), ("a", 2), ("d", 0), ("b", 1), ("e", -1)):
        asked.connect(lambda name=name: told.append(name), priority=priority, name=name)
    bus.signal("around_ask").connect(
        lambda question, call_next: told.append("around") or call_next(), name="around"
    )
    asked()
    assert told == ["around", *"abcde"]


def test_bub_P4_none_is_never_the_first_answer(bus):
    asked = question(bus, modes.firstresult)
    for name, value in (("none", None), ("zero", 0), ("one", 1)):
        asked.connect(lambda value=value: value, name=name)
    assert asked() == 0


def test_bub_P5_P6_an_around_gets_the_result_replaces_it_and_swallows_exceptions(bus):
    asked = question(bus, modes.firstresult)

    def broken():
        raise LookupError("broken")

    asked.connect(broken, on_error="raise", name="broken")

    def around(question, call_next):
        try:
            return call_next()
        except HookError as error:
            return f"rescued from {error.__cause__!r}"

    bus.signal("around_ask").connect(around)
    bus.signal("around_ask").connect(
        lambda question, call_next: f"<{call_next()}>", priority=1, name="outer"
    )
    with pytest.raises(HookError):  # a receiver that asks to raise has its way
        asked()
    asked.disconnect(broken)
    asked.connect(lambda: "answer", name="answer")
    assert asked() == "<answer>"


def test_bub_P7_late_receivers_are_asked_what_was_asked_before_with_their_answers(bus):
    asked = question(bus, modes.broadcast, historic=True)
    asked("one")
    asked("two")
    asked.connect(lambda message: message.upper(), name="late")
    assert [answers.result for answers in asked.replay()] == [
        ["ONE"],
        ["TWO"],
    ] and asked.replay() == ()


def test_bub_P8_a_receiver_for_one_block(bus):
    asked = question(bus, modes.broadcast)
    with asked.connected_to(lambda: "extra"):
        assert asked() == ["extra"]
    assert asked() == []


def test_bub_P9_receivers_can_be_kept_out_for_a_while(bus):
    asked = question(bus, modes.broadcast)
    connection = asked.connected_to(lambda: "a", name="a")
    asked.connect(lambda: "b", name="b")
    connection.disable()
    assert asked() == ["b"]
    connection.enable()
    with asked.muted():
        assert asked() == []
    assert asked() == ["a", "b"]


def test_bub_P10_names_are_checked_before_anything_is_connected(bus):
    asked = question(bus, modes.broadcast)

    class Plugin:
        @receives("ask")
        def good(self, message): ...

        @receives("ask")
        def typo(self, mesage): ...

    with pytest.raises(HookError, match="'mesage'.*did you mean 'message'"):
        bus.plug(Plugin())
    assert asked.signal.connections() == []


def test_bub_P11_a_receiver_that_nobody_asks_is_pending_with_the_closest_name(bus):
    question(bus, modes.broadcast, "load_state")
    bus.signal("load_stat").connect(lambda message: None, name="typo")
    assert any(
        "load_stat" in finding and "load_state" in finding for finding in report(bus).findings
    )


def test_bub_P12_the_calls_value_goes_before_the_specs_default_and_that_before_the_receivers(bus):
    asked, seen = question(bus, modes.void), []
    asked.connect(lambda message="mine", other="kept": seen.append((message, other)), name="look")
    asked("given")
    asked()
    assert seen == [("given", "kept"), ("hi", "kept")]


def test_bub_P13_a_wrong_call_is_the_type_error_of_a_function(bus):
    def ask(message): ...

    asked = hookspec(modes.broadcast, bus=bus)(ask)
    for wrong in ({}, {"mesage": 1}, {"message": 1, "more": 2}):
        with pytest.raises(TypeError):
            asked(**wrong)
    assert str(inspect.signature(asked)) == "(message)"


def test_bub_P14_a_plugin_is_plugged_and_unplugged_as_a_whole(bus):
    asked = question(bus, modes.broadcast)

    class Plugin:
        @receives("ask")
        def answer(self):
            return "plugged"

    unplug = bus.plug(Plugin())
    assert asked() == ["plugged"]
    unplug()
    unplug()
    assert asked() == []


def test_bub_P15_a_plugin_is_blocked_by_name_before_its_code_runs(bus, tmp_path):
    asked = question(bus, modes.broadcast)
    with load_plugins(bus, user=folder_with(tmp_path, "one", "two"), deny=["two"]):
        assert asked() == ["one"]


def test_bub_P16_P18_plugins_are_found_listed_and_named(bus, tmp_path):
    asked = question(bus, modes.broadcast)
    with load_plugins(bus, user=folder_with(tmp_path, "one")):
        assert [row.plugin for row in explain(asked)] == ["one"] and "one" in str(report(bus))
        [connection] = asked.signal.connections()
        assert bus.hook_names() == ["ask"] and connection.where.endswith("plugin.py:2")


def test_bub_P17_every_call_is_told_and_a_broken_listener_hurts_nobody(bus, caplog):
    asked, told = question(bus, modes.broadcast), []
    bus.events.connect(lambda bus, event: {}["broken"], name="broken")
    bus.events.connect(lambda bus, event: told.append(type(event).__name__), name="fine")
    asked.connect(lambda: 1, name="one")
    assert asked() == [1] and told == ["Started", "Finished"]


def test_bub_P19_plugging_runs_no_property_and_sees_static_and_class_methods(bus):
    asked = question(bus, modes.broadcast)

    class Plugin:
        @property
        def never(self):
            raise AssertionError("it was looked at")

        @staticmethod
        @receives("ask")
        def static():
            return "static"

        @classmethod
        @receives("ask")
        def of_class(cls):
            return cls.__name__

    bus.plug(Plugin())
    assert asked() == ["static", "Plugin"]


def test_bub_P20_who_is_connected_during_a_call_is_asked_from_the_next_one_on(bus):
    asked = question(bus, modes.broadcast)

    def connecting():
        asked.connect(lambda: "late", name="late")
        return "connecting"

    asked.connect(connecting, name="connecting")
    assert asked() == ["connecting"] and asked() == ["connecting", "late"]
