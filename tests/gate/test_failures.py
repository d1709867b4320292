"""Everything that goes wrong closes: no call runs, no result is read and no prompt goes on that was
not judged.
"""

import json
import posix
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from hookbus.gate import _hook as hook

from . import events
from .events import AFTER, AGENTS, BEFORE, PROMPT
from .reading import outcome

SECRET = "s3cret-of-the-plugin"


def one_of_each(agent):
    return events.before(agent), events.after(agent), events.prompt(agent)


def is_closed(agent, event, answer):
    """Tell whether an agent keeps an event back, with a line of the gate."""
    what, value = outcome(agent, event, answer)
    line = value if what == "ends" else answer[2]
    assert line.startswith("hookbus: ") and line.count("\n") == (what != "ends"), line
    assert SECRET not in line
    return what in ("ends", "blocked") or (what == "told" and value.startswith("hookbus: "))


def assert_all_close(gate, why, agents=AGENTS):
    for agent in agents:
        for event in one_of_each(agent):
            answer = gate.answer(agent, event)
            assert is_closed(agent, event, answer), (agent, event["hook_event_name"], answer)
            assert why in answer[1] + answer[2]


SETTINGS = {
    "no file": (None, "cannot be read: No such file"),
    "no TOML": ("rules = [", "is not valid TOML"),
    "an unknown key": ("[gate]\nrule = 'x'\n", "[gate] has an unknown key 'rule'; did you mean"),
    "a key in the wrong table": ("[gate]\napprovals = 'x'\n", "it belongs to the top level"),
    "a wrong value": ("[gate]\nwait = 'long'\n", "wait = 'long' must be a number of seconds"),
    "rules that are missing": ("[gate]\nrules = 'rules.toml'\n", "rules.toml cannot be read"),
    "a folder that is missing": ("[gate]\npaths_within = ['/no/such']\n", "does not exist"),
    "no guard": ("[gate]\nwait = 1\n", "names no guard"),
    "a plugin that is missing": (
        "[gate]\nrate_limit = 9\n[plugins]\nuser = 'plugins'\nenable = ['lost']\n", "lost",
    ),
}  # fmt: skip


def test_wrong_settings_close_and_the_log_says_what_is_wrong(make_gate):
    gate = make_gate()
    for text, why in SETTINGS.values():
        if text is not None:
            gate.write(text)
        assert_all_close(gate, "is not loaded", agents=["claude"] if text else AGENTS)
        assert why in gate.log


def test_a_plugin_that_does_not_load_closes_without_the_text_of_its_exception(make_gate):
    gate = make_gate()
    gate.write(gate.plug(f"raise ValueError('{SECRET}')"))
    assert_all_close(gate, "is not loaded")
    assert "plugin own" in gate.log


def changed(event, **fields):
    return json.dumps({**event, **fields}).encode()


def without(event, name):
    return json.dumps({key: value for key, value in event.items() if key != name}).encode()


def wrong_events(event):
    text = json.dumps(event)
    yield "nothing", b""
    yield "no JSON", b"hello"
    yield "half of it", text[: len(text) // 2].encode()
    yield "NaN", changed(event, more=float("nan"))
    yield "Latin 1", text.replace("/tmp", "/tmp/é").encode("latin-1")
    yield "a list", f"[{text}]".encode()
    yield "another event", changed(event, hook_event_name="Stop")
    for name in ("hook_event_name", "session_id", "tool_name", "tool_input", "tool_use_id",
                 "prompt"):  # fmt: skip
        if name in event:
            yield f"without {name}", without(event, name)
            yield f"{name} of another kind", changed(event, **{name: 7})


@pytest.mark.parametrize("agent", AGENTS)
def test_events_that_are_not_as_documented_close(gate, agent):
    for event in one_of_each(agent):
        for what, data in wrong_events(event):
            answer = gate.answer(agent, event, data=data)
            assert is_closed(agent, event, answer), (what, event["hook_event_name"], answer)
            assert "the event" in answer[1] + answer[2] or "the hook of" in answer[1] + answer[2]


def test_an_event_of_more_than_64_mib_closes(gate):
    event = events.before("claude", "x" * (64 << 20))
    assert "longer than 64 MiB" in gate.answer("claude", event)[2]


def test_no_server_closes(gate, tmp_path):
    alone = shutil.copy(hook.FILE, tmp_path)  # without what would start one
    shutil.copy(hook.__file__, tmp_path)
    for agent in AGENTS:
        for event in one_of_each(agent):
            words = [agent, str(tmp_path / "hookbus.toml"), "10", event["hook_event_name"]]
            ended = subprocess.run(
                [sys.executable, "-I", "-S", alone, *words],
                input=json.dumps(event).encode(), capture_output=True,
            )  # fmt: skip
            code = 0 if ended.returncode == hook.GO else 2
            answer = code, ended.stdout.decode(), ended.stderr.decode()
            assert is_closed(agent, event, answer)
            assert "the server did not start" in answer[1] + answer[2]


def test_a_folder_or_a_server_of_another_user_is_refused(gate, monkeypatch):
    gate.answer("claude", events.before("claude"))
    path = f"{hook.place(str(gate.file))}.sock"
    mine = posix.getuid()
    monkeypatch.setattr(posix, "getuid", lambda: mine + 70_000)
    with pytest.raises(hook.Closed, match="is another user's"):
        hook.connect(path)
    with pytest.raises(hook.Closed, match="must be a folder that only you can access"):
        hook.folder()
    posix.rmdir(f"/tmp/hookbus-{mine + 70_000}")
    monkeypatch.undo()


class FalseServer:
    """A server that answers every hook with the same bytes."""

    def __init__(self, gate, said, *, is_silent=False):
        self.said, self.is_silent, self.kept = said, is_silent, []
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(f"{hook.place(str(gate.file))}.sock")
        self.listening.listen()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            connection.recv(1 << 20)
            connection.sendall(self.said)
            self.kept.append(connection)
            if not self.is_silent:
                connection.close()

    def close(self):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        for each in (self.listening, *self.kept):
            each.close()


SAID = {
    "the server ended during the call": b"taken\n",
    "the answer of the server was cut short": b"taken\nanswer 77 100 0\n{}",
    "the server answered in the format of another version": b"taken\nhello\n",
    "another version": b"taken\nanswer 0 0 0\n",
    "of another version": b"taken\nanswer 78 0 0\n",
}


@pytest.mark.parametrize("why", SAID)
def test_an_answer_that_is_not_whole_closes(make_gate, why):
    gate = make_gate()
    server = FalseServer(gate, SAID[why])
    assert_all_close(gate, why)
    server.close()


def test_a_server_that_says_nothing_closes_at_the_deadline(make_gate):
    gate = make_gate()
    server = FalseServer(gate, b"taken\n", is_silent=True)
    for agent in AGENTS:
        event = events.before(agent)
        answer = gate.answer(agent, event, seconds=0.3)
        assert is_closed(agent, event, answer) and "no answer in time" in answer[2]
    server.close()


GUARD = f"""\
SECRET = {SECRET!r}
import asyncio, os, signal, time
from hookbus import Block, HookError


async def judge(tool, arguments):
    command = str(arguments)
    if "sleep" in command:
        open(__file__ + ".entered", "w").close()
        await asyncio.sleep(60)
    if "hang" in command:
        time.sleep(3)
    if "die" in command:
        os.kill(os.getpid(), signal.SIGKILL)
    if "raise" in command:
        raise ValueError(SECRET)
    if "wrong" in command:
        return 7


def after(tool, result):
    if "raise" in str(result):
        raise HookError(SECRET)


def register(api):
    api.connect("pre_tool_call", judge, role="guard", name="judge")
    api.connect("post_tool_call", after, role="guard", name="after")
"""


@pytest.fixture
def breaking(make_gate):
    gate = make_gate()
    gate.write(gate.plug(GUARD, '["pre_tool_call", "post_tool_call"]'))
    return gate


@pytest.mark.parametrize("agent", AGENTS)
def test_a_guard_that_breaks_hangs_or_kills_its_server_closes(breaking, agent):
    for command, why in (("raise", "judge"), ("wrong", "judge"), ("die", "server ended"),
                         ("sleep", "in time"), ("hang", "in time")):  # fmt: skip
        event = events.before(agent, command)
        answer = breaking.answer(agent, event, seconds=1.5 if "in time" in why else 10)
        what, text = outcome(agent, event, answer)
        assert what == "blocked" and why in text and SECRET not in str(answer), answer


@pytest.mark.parametrize("agent", AGENTS)
def test_a_result_whose_guard_breaks_is_not_read(breaking, agent):
    breaking.answer(agent, events.before(agent))
    shell = events.RESULT["claude"]
    raw = {"claude": {**shell, "stdout": "raise"}, "codex": "raise",
           "gemini": {"llmContent": "raise", "returnDisplay": ""}}[agent]  # fmt: skip
    event = events.after(agent, result=raw)
    what, result = breaking.outcome(agent, event)
    assert what == "told" and result != raw
    assert "blocked by after" in str(result) and SECRET not in str(result)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_closes(breaking, number):
    event, entered = events.before("codex", "sleep"), "plugins/own/plugin.py.entered"
    started = breaking.start("codex", BEFORE["codex"])
    started.stdin.write(json.dumps(event).encode())
    started.stdin.close()
    while not (breaking.folder / entered).exists():
        assert started.poll() is None
        time.sleep(0.02)
    started.send_signal(number)
    with started:
        out, err = started.stdout.read().decode(), started.stderr.read().decode()
    assert started.returncode == hook.REFUSED
    assert is_closed("codex", event, (2, out, err)) and "signal" in err


def test_an_event_that_never_ends_closes_at_the_deadline(gate):
    started = gate.start("claude", AFTER["claude"], 0.5)
    started.stdin.write(b'{"session_id": ')
    started.stdin.flush()
    with started:
        assert json.loads(started.stdout.read())["continue"] is False
    assert started.returncode == hook.GO


@pytest.mark.parametrize("agent", AGENTS)
def test_events_that_are_neither_calls_nor_prompts_pass_whatever_is_wrong(make_gate, agent):
    gate = make_gate()
    gate.write("wrong")
    for name in ("Stop", "SubagentStop", "SessionStart", "PreCompress", "NewOne"):
        assert gate.answer(agent, events.other(agent, name)) == (0, "", "")
        assert gate.answer(agent, events.other(agent, name), data=b"") == (0, "", "")


def test_an_unknown_agent_or_the_event_of_another_agent_closes(gate):
    assert "there is no agent" in gate.answer("clod", events.before("claude"))[2]
    answer = gate.answer("gemini", events.before("claude"))
    assert "gemini has no event 'PreToolUse'" in answer[2] and answer[0] == 2
    assert PROMPT["claude"] in gate.answer("gemini", events.prompt("claude"))[2]
