"""The hook, and the server that it starts: what they read, and when a server ends."""

import inspect
import json
import posix
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hookbus.gate import _hook as hook
from hookbus.gate._server import serve

from . import events
from .conftest import PLUGIN


def test_the_hook_imports_nothing_that_is_slow_to_import(gate):
    event = events.before("claude", "rm a")
    assert gate.outcome("claude", event)[0] == "blocked"
    python, *words = gate.command("claude", "PreToolUse")
    ended = subprocess.run(
        [python, "-X", "importtime", *words], input=json.dumps(event).encode(), capture_output=True
    )
    assert ended.returncode == hook.GO and b"no_rm" in ended.stdout
    lines = ended.stderr.decode().splitlines()
    imported = {line.rpartition("|")[2].strip() for line in lines}
    assert "_socket" in imported
    assert imported.isdisjoint({"hookbus", "json", "socket", "signal", "subprocess", "asyncio"})


LOOKING = """\
import json, os

folder = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
with open(os.path.join(folder, "seen.json"), "w") as file:
    seen = {"leads": os.getsid(0) == os.getpid(), "folder": os.getcwd(), "names": [*os.environ]}
    json.dump(seen, file)
"""


def test_a_server_is_detached_and_gets_nothing_from_its_agent(make_gate):
    gate = make_gate()
    gate.write(gate.plug(LOOKING + PLUGIN))
    own = {"PYTHONPATH": "/no/such", "HOOKBUS_JOURNAL": "/no/such/j", "A_PROJECT_SAYS": "so"}
    assert gate.answer("claude", events.before("claude"), variables=own) == (0, "", "")
    seen = json.loads((gate.folder / "seen.json").read_text())
    assert seen["leads"] and seen["folder"] == "/" and own.keys().isdisjoint(seen["names"])


ALONE = """\
import sys
from pathlib import Path
from hookbus.gate import _hook as hook
from hookbus.gate._lock import lock
from hookbus.gate._server import serve

serve(sys.argv[1], lock(hook.place(sys.argv[1])), idle=0.2)
"""


def test_a_server_without_events_ends(gate):
    assert inspect.signature(serve).parameters["idle"].default == 1800
    ended = subprocess.run([sys.executable, "-c", ALONE, str(gate.file)], timeout=60)
    assert ended.returncode == 0 and not gate.stop()


@pytest.mark.parametrize("mode", [0o40755, 0o40770, 0o120700, 0o100600])
def test_a_folder_of_sockets_that_others_can_look_into_is_refused(monkeypatch, mode):
    class Status:
        st_mode, st_uid = mode, posix.getuid()

    hook.folder()
    monkeypatch.setattr(posix, "lstat", lambda path: Status)
    with pytest.raises(hook.Closed, match="must be a folder that only you can access"):
        hook.folder()


def test_changed_rules_apply_to_the_next_event(make_gate):
    gate = make_gate()
    rules = gate.folder / "rules.toml"
    rules.write_text('default = "allow"\n')
    gate.write('[gate]\nrules = "rules.toml"\n')
    assert gate.outcome("codex", events.before("codex"))[0] == "runs"
    rules.write_text('default = "block"\n')
    assert gate.outcome("codex", events.before("codex", number=2))[0] == "blocked"
    rules.unlink()
    assert "is not loaded" in gate.outcome("codex", events.before("codex", number=3))[1]


SLOW = """\
import asyncio


async def wait(tool):
    await asyncio.sleep(600)


def register(api):
    api.connect("pre_tool_call", wait, role="guard", name="wait")
"""


@pytest.mark.parametrize("agent", events.AGENTS)
def test_the_deadline_of_the_settings_applies_where_it_is_the_shorter_one(make_gate, agent):
    gate = make_gate()
    gate.write(gate.plug(SLOW) + "[gate]\ndeadline = 0.5\n")
    what, text = gate.outcome(agent, events.before(agent), 600)
    assert what == "blocked" and "the guards gave no answer in time" in text


@pytest.mark.parametrize("agent", events.AGENTS)
def test_a_hook_that_must_have_a_guard_and_has_none_closes(make_gate, agent):
    gate = make_gate()
    gate.write('require_guard = ["agent_run"]\n' + gate.plug())
    what, text = gate.outcome(agent, events.prompt(agent))
    assert what == "blocked" and "no guard covers this call" in text


def test_the_hook_is_compiled_once_and_not_for_each_event(gate, tmp_path):
    alone = shutil.copy(hook.FILE, tmp_path)
    shutil.copy(hook.__file__, tmp_path)
    python, *words = gate.command("claude", "PreToolUse")
    command = [python, "-v", *(alone if each == hook.FILE else each for each in words)]
    for is_cached in (False, True):
        ended = subprocess.run(command, input="", capture_output=True, text=True)
        assert "there is no event on stdin" in ended.stderr
        assert (f" matches {tmp_path}/_hook.py\n" in ended.stderr) is is_cached


def test_a_hook_whose_cached_bytecode_is_damaged_does_not_go(gate, tmp_path):
    alone = shutil.copy(hook.FILE, tmp_path)
    source = Path(shutil.copy(hook.__file__, tmp_path))
    python, *words = gate.command("claude", "PreToolUse")
    command = [python, *(alone if each == hook.FILE else each for each in words)]
    event = json.dumps(events.before("claude", "ls")).encode()
    empty = subprocess.run(command, input=b"", capture_output=True)
    assert empty.returncode == hook.REFUSED
    (cached,) = (tmp_path / "__pycache__").iterdir()
    whole = cached.read_bytes()
    for damaged in (b"", whole[:8], whole[:16], whole[:-100], whole[:100] + bytes(len(whole))):
        cached.write_bytes(damaged)
        ended = subprocess.run(command, input=event, capture_output=True)
        assert ended.returncode != hook.GO and not ended.stdout, damaged[:20]
    source.write_text("")
    assert subprocess.run(command, input=event, capture_output=True).returncode == 1
