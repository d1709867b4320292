"""The real agents under the gate: tools of MCP, a sub-agent, and what is typed into a shell."""

import json
import re
import sys

import pytest

from hookbus.gate._models import ClaudeModel, CodexModel
from hookbus.journal import Journal

from . import real as agents
from .test_real_agents import HOOKS, PLUGIN, Real

pytestmark = pytest.mark.skipif(
    not {"claude", "codex"} <= {*agents.THERE}, reason="HOOKBUS_AGENTS has not both agents"
)

SERVER = """\
import json, pathlib, sys

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tool = {"name": "say", "description": "says it", "inputSchema": schema}
    info = {"name": "own", "version": "1"}
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": info},
        "tools/list": {"tools": [tool]},
    }
    if asked["method"] == "tools/call":
        text = asked["params"]["arguments"]["text"]
        with pathlib.Path(sys.argv[1]).open("a") as said:
            said.write(text + "\\n")
        result = {"content": [{"type": "text", "text": text}]}
    else:
        result = answers.get(asked["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.fixture
def make_real(make_gate, tmp_path):
    return lambda name: Real(name, make_gate(), tmp_path / name)


def test_a_tool_of_mcp_is_blocked_changed_and_redacted(make_real, tmp_path, monkeypatch):
    claude, said = make_real("claude"), tmp_path / "said"
    own = {"command": sys.executable, "args": [str(tmp_path / "server.py"), str(said)]}
    (tmp_path / "server.py").write_text(SERVER)
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"own": own}}))
    started = claude._started
    more = ["--mcp-config", str(config), "--allowedTools", "mcp__own__say"]
    monkeypatch.setattr(claude, "_started", lambda words, own: started([*words, *more], own))
    change = 'command = arguments["command"].replace("OLD", "NEW")'
    text = PLUGIN.replace(change, "").replace('"command": command', '"text": "NEW"')
    claude.gate.plug(text, HOOKS)

    def say(words):
        model = type("Saying", (ClaudeModel,), {})
        monkeypatch.setattr(agents, "ClaudeModel", lambda *_: model("mcp__own__say", words))
        claude.run("")
        return str(claude.results)

    assert "blocked by guard: not this" in say({"text": "forbidden"}) and not said.exists()
    assert "NEW" in say({"text": "OLD"}) and said.read_text() == "NEW\n"
    told = say({"text": "TOKEN"})
    assert "[redacted]" in told and "TOKEN" not in told


class Delegating(ClaudeModel):
    """Gives a task to a sub-agent, whose model calls the shell."""

    def events(self, body):
        is_sub = "SUBTASK" in json.dumps(body["messages"][0])
        task = {"description": "a task", "prompt": "SUBTASK", "subagent_type": "general-purpose"}
        shell = self.name, self.arguments
        if not is_sub:
            self.name, self.arguments = "Agent", task
        try:
            return [*super().events(body)]
        finally:
            self.name, self.arguments = shell


def test_the_calls_of_a_sub_agent_are_judged_with_it_as_their_caller(make_real, monkeypatch):
    claude = make_real("claude")
    monkeypatch.setattr(agents, "ClaudeModel", Delegating)
    has_run, told = claude.has_run("echo forbidden")
    assert not has_run and "blocked by guard: not this" in told
    assert claude.has_run("echo hello")[0]
    claude.gate.stop()
    with Journal(claude.gate.folder / "calls.journal") as journal:
        labels = [each.data["labels"] for each in journal.records(type="hookbus.started")]
    callers = {each["name"]: each.get("caller") for each in labels if "name" in each}
    assert callers == {"Agent": None, "Bash": "general-purpose"}


class Typing(CodexModel):
    """Starts a shell, and types a command into it."""

    def events(self, body):
        outputs = [
            each["output"] for each in body["input"] if str(each.get("type")).endswith("_output")
        ]
        session = re.search(r"session ID (\d+)", str(outputs[:1]))
        typed = {
            "session_id": int(session[1]) if session else 1,
            "chars": f"{self.arguments['cmd']}\n",
        }
        shell = {"cmd": "bash", "tty": True, "yield_time_ms": 1000}
        call = ("exec_command", shell) if not outputs else ("write_stdin", typed)
        found = [*super().events(body)]
        if len(outputs) > 1:
            return found
        item = {"type": "function_call", "id": f"f{len(outputs)}", "call_id": f"c{len(outputs)}",
                "name": call[0], "arguments": json.dumps(call[1])}  # fmt: skip
        found[1] = "response.output_item.done", {"output_index": 0, "item": item}
        found[2] = found[2][0], {"response": {**found[2][1]["response"], "output": [item]}}
        return found


def test_nothing_that_is_typed_into_a_shell_of_codex_runs_unless_its_stdin_is_open(
    make_real, monkeypatch
):
    codex = make_real("codex")
    monkeypatch.setattr(agents, "CodexModel", Typing)
    assert not codex.has_run("echo typed")[0]
    codex.gate.write(codex.gate.file.read_text() + '[gate]\ncodex_stdin = "open"\n')
    assert codex.has_run("echo typed")[0]
