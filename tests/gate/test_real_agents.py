"""The real agents under the gate, on scripted models: see `real.py`."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hookbus import __version__, cli
from hookbus.approvals import Approved, Store
from hookbus.journal import Journal

from .real import PROGRAMS, THERE, Agent

pytestmark = pytest.mark.skipif(not THERE, reason="HOOKBUS_AGENTS names no agents")

PLUGIN = """\
from hookbus import Ask, Block, Replace


def guard(tool, arguments):
    if "approved" in str(arguments):
        return Ask("may it?")
    if "forbidden" in str(arguments):
        return Block("not this")
    if "broken" in str(arguments):
        raise ValueError("the text of the guard")


def changed(tool, arguments):
    if "OLD" in str(arguments):
        command = arguments["command"].replace("OLD", "NEW")
        return {"arguments": {**arguments, "command": command}}


def redacted(tool, result):
    return Replace("[redacted]") if "TOKEN" in str(result) else None


def polite(agent, input):
    return Block("be polite") if "rude" in input else None


def register(api):
    api.connect("pre_tool_call", changed, name="changed")
    api.connect("pre_tool_call", guard, role="guard", name="guard")
    api.connect("post_tool_call", redacted, name="redacted", on_error="block")
    api.connect("pre_agent_run", polite, role="guard", name="polite")
"""
HOOKS = '["pre_tool_call", "post_tool_call", "pre_agent_run"]'


class Real(Agent):
    """A real agent with a gate."""

    def __init__(self, name, gate, home):
        super().__init__(name, home)
        self.gate = gate
        own = 'journal = "calls.journal"\napprovals = "approvals.db"\n'
        gate.write(own + gate.plug(PLUGIN, HOOKS))
        self.type("install", name, "--settings", str(gate.file))

    def type(self, *words):
        """Type a command of the gate, and return what it writes."""
        places = [str(PROGRAMS[self.name].parent), os.environ["PATH"]]
        own = {**self.environment, "PYTHONPATH": str(Path(cli.__file__).parent.parent),
               "PATH": os.pathsep.join(places), "COLUMNS": "1000"}  # fmt: skip
        words = [sys.executable, "-m", "hookbus", "gate", *words]
        ended = subprocess.run(words, env=own, cwd=self.project, capture_output=True, text=True)
        assert ended.returncode in (0, 1), ended.stderr
        return ended.stdout


@pytest.fixture(scope="module", params=THERE or ["none"])
def real(request, module_gates, tmp_path_factory):
    return Real(request.param, module_gates(request.param), tmp_path_factory.mktemp("home"))


def test_a_call_that_is_let_through_runs(real):
    assert real.has_run("echo hello")[0] and "hello" in str(real.results)


def test_a_blocked_call_does_not_run_and_the_model_reads_why(real):
    has_run, told = real.has_run("echo forbidden")
    assert not has_run and "blocked by guard: not this" in told


def test_a_call_whose_guard_breaks_does_not_run(real):
    has_run, told = real.has_run("echo broken")
    assert not has_run and "the text of the guard" not in told


def test_changed_arguments_run(real):
    assert real.has_run("echo OLD")[0] and "NEW" in str(real.results)


def test_a_changed_result_is_the_one_that_the_model_reads(real):
    has_run, told = real.has_run("echo TOKEN")
    assert has_run and "[redacted]" in told and "TOKEN" not in told


def test_a_refused_prompt_reaches_no_model(real):
    if real.name == "copilot":  # it reads the prompt, and may call nothing
        real.run("echo hello", "a rude word")
        assert "the prompt was not allowed" in str(real.results)
    else:
        assert not real.run("echo hello", "a rude word") and real.results == []


def test_the_gate_keeps_the_agent_from_its_settings(real):
    has_run, told = real.has_run(f"cat {real.gate.file}")
    assert not has_run and "blocked by gate_itself" in told


def test_both_events_are_one_call_in_the_journal(real):
    real.gate.stop()
    with Journal(real.gate.folder / "calls.journal") as journal:
        outcomes = [each.data["outcome"] for each in journal.records(type="hookbus.finished")
                    if each.data["hook"] == "tool_call"]  # fmt: skip
    # No call of a refused prompt of Copilot comes to the guards.
    assert outcomes.count("returned") == 3 and outcomes.count("blocked") == 3


def test_a_call_that_another_process_approves_runs_once(real):
    assert "approval pending" in real.has_run("echo approved")[1]
    with closing(Store(real.gate.folder / "approvals.db")) as store:
        (request,) = store.pending()
        store.answer(request.id, Approved("ada"))
    assert real.has_run("echo approved")[0]
    assert not real.has_run("echo approved")[0]


def test_a_plugin_that_does_not_load_closes_and_a_server_that_ended_is_started_again(real):
    plugin = real.gate.folder / "plugins" / "own" / "plugin.py"
    text = plugin.read_text()
    plugin.write_text("raise ValueError('the text of the plugin')")
    has_run, told = real.has_run("echo hello")
    assert not has_run and "the text of the plugin" not in told
    plugin.write_text(text)
    assert real.has_run("echo hello")[0] and real.gate.stop()
    assert real.has_run("echo hello")[0]


def test_a_session_is_seen_to_begin_so_that_it_can_be_limited(real):
    text = real.gate.file.read_text()
    real.gate.write(text + "[gate]\nrate_limit = 1\n")
    assert real.has_run("echo hello")[0]
    real.gate.write(text)


def test_try_says_whether_the_agent_asks_the_gate(real):
    if real.name == "codex":
        assert "did not ask the gate" in real.type("try", "codex")
        real.trust()
    assert real.type("try", real.name) == "live\n"
    (row,) = json.loads(real.type("status", real.name, "--json"))
    assert row["problems"] == [] and row["last"]["version"] == __version__


def test_wrong_settings_and_a_hook_that_is_gone_close(real):
    text = real.gate.file.read_text()
    real.gate.write("[gate]\nrule = 1\n")
    assert not real.has_run("echo hello")[0]
    real.gate.write(text)
    assert real.has_run("echo hello")[0]
    real.file.write_text(real.file.read_text().replace(sys.executable, "/no/python"))
    assert not real.has_run("echo hello")[0]


def test_an_agent_is_without_a_gate_once_it_is_uninstalled(real):
    assert real.type("uninstall", real.name) == f"uninstalled: {real.file}\n"
    assert real.has_run("echo forbidden")[0]
