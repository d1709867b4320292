"""AgenticX's defects in how calls end, and in what is loaded, are not hookbus's."""

import asyncio
import contextvars
import inspect
import re
import subprocess
import sys
import threading

import pytest

from hookbus import (
    ANY,
    Block,
    HookBlocked,
    HookError,
    Replace,
    explain,
    load_plugins,
    report,
)  # fmt: skip
from hookbus.events import Finished

from . import agenticx_defects_parts as parts
from .agenticx_defects_parts import deny

agent = parts.agent


def test_agenticx_x19_every_pre_has_one_finally_also_when_the_tool_raises(bus, agent):
    notes = []
    for phase in ("pre", "post", "error", "finally"):
        bus.signal(f"{phase}_tool").connect(
            lambda agent, ctx, phase=phase: notes.append(phase), role="observe", name=phase
        )
    with pytest.raises(LookupError):
        agent.tool("broken", {})
    agent.tool("read", {})
    assert notes == ["pre", "error", "finally", "pre", "post", "finally"]


def test_agenticx_x20_five_failing_calls_are_five_ended_spans_with_their_errors(bus, agent):
    spans = []
    bus.events.connect(
        lambda bus, event: spans.append(event) if isinstance(event, Finished) else None, weak=False
    )
    for _ in range(5):
        with pytest.raises(LookupError):
            agent.tool("broken", {})
    assert [(span.outcome, type(span.error)) for span in spans] == [("raised", LookupError)] * 5
    assert all(span.seconds >= 0 for span in spans)


def test_agenticx_x21_a_receiver_connected_twice_runs_once_and_every_connection_can_be_undone(
    bus, agent
):
    heard = []

    def hear(agent):
        heard.append(1)

    for _ in range(2):
        bus.signal("pre_tool").connect(hear)
    agent.tool("read", {})
    with bus.signal("pre_tool").connected_to(hear, agent):
        agent.tool("read", {})
    bus.signal("pre_tool").disconnect(hear)
    agent.tool("read", {})
    assert heard == [1, 1]


def test_agenticx_x22_the_order_is_told_and_an_around_is_an_onion(bus, agent):
    notes = []

    def around(name):
        def receiver(agent, call_next):
            notes.append(f"{name} in")
            result = call_next()
            notes.append(f"{name} out")
            return result

        return receiver

    bus.signal("around_tool").connect(around("inner"), name="inner")
    bus.signal("around_tool").connect(around("outer"), name="outer", priority=1)
    bus.signal("pre_tool").connect(lambda agent: notes.append("all"), name="all")
    bus.signal("pre_tool").connect(lambda agent: notes.append("mine"), sender=agent, name="mine")
    agent.tool("read", {})
    assert notes == ["mine", "all", "outer in", "inner in", "inner out", "outer out"]
    rows = [(row.receiver, row.scope) for row in explain(agent.tool)]
    assert [name for name, _ in rows] == ["mine", "all", "outer", "inner"] and rows[0][1] != rows[
        1
    ][1] == str(ANY)


def test_agenticx_x16_x23_a_plain_call_makes_no_loop_and_keeps_contextvars_inside_one(
    bus, agent, monkeypatch
):
    word = contextvars.ContextVar("word", default="")
    threads = []

    def nested(agent, name):
        threads.append(threading.current_thread())
        word.set(f"{word.get()}{name} ")
        if name == "outer":
            agent.tool("inner", {})

    def no_loop(*args, **kwargs):
        raise AssertionError("a loop was made")

    bus.signal("pre_tool").connect(nested, role="guard")

    async def inside():
        monkeypatch.setattr(asyncio, "new_event_loop", no_loop)
        agent.tool("outer", {})
        return word.get()

    assert asyncio.run(inside()) == "outer inner " and set(threads) == {threading.main_thread()}
    agent.tool("outer", {})


@pytest.mark.parametrize("result", [0, False, [], "", {"a": 1}, 6])
def test_agenticx_x25_results_of_any_type_pass_and_chain_and_after_a_veto_no_guard_runs(
    bus, agent, result
):
    asked = []
    bus.signal("post_tool").connect(lambda agent, result: None, name="watch", priority=2)
    assert agent.tool("read", {"result": result}) is result
    bus.signal("post_tool").connect(
        lambda agent, result: Replace((result, 1)), name="first", priority=1
    )
    bus.signal("post_tool").connect(lambda agent, result: Replace((*result, 2)), name="second")
    assert agent.tool("read", {"result": result}) == (result, 1, 2)
    bus.signal("pre_tool").connect(deny, role="guard", priority=1)
    bus.signal("pre_tool").connect(lambda agent: asked.append(1), role="guard", name="later")
    with pytest.raises(HookBlocked):
        agent.tool("rm", {})
    assert asked == []


@pytest.mark.parametrize("allowed", [[], ["ls"]])
def test_agenticx_x26_an_empty_allowlist_allows_nothing(bus, agent, allowed):
    bus.signal("pre_tool").connect(
        lambda agent, name: None if name in allowed else Block("not in the list"),
        role="guard",
        name="list",
    )
    with pytest.raises(HookBlocked, match="not in the list"):
        agent.tool("rm", {})


def test_agenticx_x14_a_matcher_that_never_matches_is_reported_and_predicates_say_what_globs_cannot(
    bus, agent
):
    bus.signal("pre_tool").connect(
        deny, role="guard", when=lambda name: re.fullmatch("Edit|Write", name)
    )
    with pytest.raises(HookError, match="has a when= that needs 'nmae'"):
        bus.signal("pre_tool").connect(lambda agent: None, when={"nmae": "mcp__*"}, name="typo")
    bus.signal("pre_tool").connect(
        lambda agent: None, when={"name": "Edit|Write"}, name="a glob is no regex"
    )
    with pytest.raises(HookBlocked):
        agent.tool("Write", {})
    assert agent.tool("Read", {}) == "Read done"
    assert "a glob is no regex" in str(report(bus))  # it never fired


def test_agenticx_x15_what_a_model_says_reaches_a_command_as_data(bus, agent, tmp_path):
    def command(agent, args):
        script = "import sys; print(len(sys.stdin.read()))"
        ran = subprocess.run(
            [sys.executable, "-c", script], input=args["text"], capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        lengths.append(int(ran.stdout))

    lengths = []
    bus.signal("pre_tool").connect(command, role="guard")
    attack = f"$(touch {tmp_path}/pwned); `touch {tmp_path}/pwned`"
    agent.tool("say", {"text": attack})
    assert lengths == [len(attack)] and list(tmp_path.iterdir()) == []
    assert "shell=True" not in inspect.getsource(command)


@pytest.fixture
def folder(tmp_path):
    plugin = tmp_path / "hooks" / "careful"
    plugin.mkdir(parents=True)
    manifest = 'format = 1\nid = "careful"\nversion = "1.0"\nhooks = ["pre_tool"]\n'
    (plugin / "hookbus-plugin.toml").write_text(manifest)
    (plugin / "plugin.py").write_text(
        "from hookbus import Block\n\n"
        "def no_rm(agent, name):\n    return Block('no rm') if name == 'rm' else None\n\n"
        "def register(api):\n    api.connect('pre_tool', no_rm, role='guard')\n"
    )
    return tmp_path / "hooks"


def is_guarded(agent):
    try:
        agent.tool("rm", {})
    except HookBlocked:
        return True
    return False


def test_agenticx_x13b_x24_what_is_listed_as_loaded_runs_and_there_is_one_switch(
    bus, agent, folder
):
    with load_plugins(bus, user=folder, installed=False, deny=["careful"]) as plugins:
        assert [row.status for row in plugins.rows()] != ["loaded"] and not is_guarded(agent)
    with load_plugins(bus, user=folder, installed=False) as plugins:
        assert [row.status for row in plugins.rows()] == ["loaded"] and is_guarded(agent)
        assert [row.receiver for row in explain(agent.tool)] == ["no_rm"]
    assert not is_guarded(agent)


def test_agenticx_x17_unload_and_load_brings_all_back_and_the_current_directory_is_nobodys(
    bus, agent, folder, monkeypatch
):
    monkeypatch.chdir(folder.parent)
    with load_plugins(bus, installed=False) as plugins:
        assert plugins.loaded == () and not is_guarded(agent)
    with load_plugins(bus, workspace=folder, installed=False) as plugins:
        assert plugins.loaded == () and not is_guarded(agent)
    with load_plugins(bus, user=folder, installed=False) as plugins:
        plugins.unload("careful")
        assert not is_guarded(agent)
        plugins.load("careful")
        assert is_guarded(agent)
