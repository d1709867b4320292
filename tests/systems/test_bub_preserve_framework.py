"""What Bub's users notice nothing of in what the framework asks its plugins, in every setting."""

from types import SimpleNamespace

import pytest
from bub.channels.admission import AdmitDecision
from bub.model_selection import ModelOptions
from bub.streaming import StreamState
from bub.tape import TapeContext

from . import bub_states as parts
from .bub_parts import framework, plugin

setting = parts.setting


async def test_bub_K12_keys_of_the_higher_priority_win_in_the_state():
    saved = []
    bot = framework(
        low=plugin(load_state=lambda: {"who": "low", "low": 1}),
        none=plugin(load_state=lambda: None),
        high=plugin(
            load_state=lambda: {"who": "high"}, save_state=lambda state: saved.append(state)
        ),
    )
    result = await bot.process_inbound({"content": "hi"})
    assert (result.state["who"], result.state["low"]) == ("high", 1) and saved == [result.state]


def test_bub_K12_blocks_of_the_system_prompt_are_joined_from_low_to_high_by_a_blank_line():
    said = {"a": "low", "b": "", "c": "high"}
    bot = framework(
        **{name: plugin(system_prompt=lambda word=word: word) for name, word in said.items()}
    )
    assert bot.get_system_prompt("hi", {}) == "low\n\nhigh"


async def test_bub_K12_the_first_channel_sidecar_and_current_model_of_a_name_win():
    def named(word, name="x"):
        return SimpleNamespace(name=name, of=word)

    bot = framework(
        low=plugin(
            provide_channels=lambda: [named("low"), named("low", "y")],
            provide_tape_sidecar=lambda: named("low"),
            provide_model_options=lambda: ModelOptions(models=["a"], current_model="a"),
        ),
        high=plugin(
            provide_channels=lambda: [named("high")],
            provide_tape_sidecar=lambda: named("high"),
            provide_model_options=lambda workspace: ModelOptions(models=["b"], current_model=None),
        ),
    )
    assert {name: channel.of for name, channel in bot.get_channels(None).items()} == {
        "x": "high",
        "y": "low",
    }
    assert [sidecar.of for sidecar in bot.get_tape_sidecars()] == ["high"]
    options = await bot.get_model_options(session_id="s")
    assert (options.models, options.current_model) == (["b", "a"], "a")


async def test_bub_K12_providers_are_entered_for_as_long_as_the_framework_runs():
    told = []

    async def tape_store():
        told.append("store opened")
        yield "store"
        told.append("store closed")

    def inbox():
        told.append("inbox opened")
        yield "inbox"
        told.append("inbox closed")

    def lifespan():
        told.append("life begins")
        yield
        told.append("life ends")

    bot = framework(
        a=plugin(
            provide_tape_store=tape_store, provide_steering_inbox=inbox, provide_lifespan=lifespan
        )
    )
    async with bot.running():
        assert (bot.get_tape_store(), bot.get_steering_inbox()) == ("store", "inbox")
        assert told == ["life begins", "store opened", "inbox opened"]
    assert (
        told[3:] == ["inbox closed", "store closed", "life ends"] and bot.get_tape_store() is None
    )


async def test_bub_K12_a_wrong_type_is_a_type_error():
    bot = framework(a=plugin(
        admit_message=lambda: "yes", continue_prompt=lambda: 1,
        build_tape_context=lambda: "context", provide_model_options=lambda: [1],
        provide_environment=lambda: "here",
    ))  # fmt: skip
    for asked in (
        bot.admit_message(session_id="s", message={}, turn=None),
        bot.continue_prompt("p", None, StreamState()), bot.get_model_options(session_id="s"),
        bot.get_environment("s"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="must return"):
            await asked
    with pytest.raises(TypeError, match="must return TapeContext"):
        bot.build_tape_context()
    good = framework(
        a=plugin(
            admit_message=lambda: AdmitDecision("drop"), build_tape_context=lambda: TapeContext()
        )
    )
    assert (await good.admit_message(session_id="s", message={}, turn=None)).action == "drop"
    assert isinstance(good.build_tape_context(), TapeContext)


async def test_bub_K12_save_state_comes_after_the_model_also_where_it_failed_and_not_before():
    told = []

    def broken(**_):
        raise LookupError("broken")

    def save_state(model_output):
        import sys

        told.append((model_output, sys.exc_info()[0]))

    assert (
        await framework(a=plugin(run_model=lambda: "out", save_state=save_state)).process_inbound(
            {}
        )
    ).model_output == "out"
    for hook in ("run_model", "build_prompt"):
        with pytest.raises(LookupError):
            await framework(
                a=plugin(**{hook: lambda: broken(), "save_state": save_state})
            ).process_inbound({"content": "hi"})
    assert told == [("out", None), ("", LookupError)]


async def test_bub_K12_what_nobody_answers_falls_back():
    bot = framework(a=plugin(build_prompt=lambda: "", run_model=lambda prompt: f"re: {prompt}"))
    result = await bot.process_inbound({"content": "hi", "channel": "mail", "chat_id": 7})
    assert (result.session_id, result.prompt, result.model_output) == ("mail:7", "hi", "re: hi")
    assert result.outbounds == [
        {"content": "re: hi", "session_id": "mail:7", "channel": "mail", "chat_id": 7}
    ]


async def test_bub_K12_outbounds_of_all_are_sent_to_all():
    sent = []

    def sending(word):
        return lambda message: sent.append((word, message["n"]))

    bot = framework(
        a=plugin(render_outbound=lambda: [{"n": 1}, {"n": 2}], dispatch_outbound=sending("a")),
        b=plugin(render_outbound=lambda: {"n": 3}, dispatch_outbound=sending("b")),
    )
    await bot.process_inbound({"content": "hi"})
    assert sent == [("b", 3), ("a", 3), ("b", 1), ("a", 1), ("b", 2), ("a", 2)]


def test_bub_K12_onboarding_runs_from_low_to_high_and_each_sees_what_is_there(monkeypatch):
    from bub import configure

    monkeypatch.setattr(configure, "validate", lambda config: config)
    seen = []

    def onboard(word):
        def onboard_config(current_config):
            seen.append((word, dict(current_config)))
            return {word: True} if word != "none" else None

        return onboard_config

    bot = framework(**{word: plugin(onboard_config=onboard(word)) for word in ("a", "none", "b")})
    assert bot.collect_onboard_config() == {"a": True, "b": True}
    assert seen == [("a", {}), ("none", {"a": True}), ("b", {"a": True})]
    with pytest.raises(ValueError, match="No onboard_config hook found for plugin 'c'"):
        bot.collect_onboard_config("c")
    assert bot.collect_onboard_config("b") == {"b": True}
    with pytest.raises(TypeError, match="must return dict or None"):
        framework(a=plugin(onboard_config=lambda current_config: "no")).collect_onboard_config()
