"""What the real agents do when a hook that was written by hand breaks: the table of
docs/how-to/guard-a-coding-agent.md, which is why there is a gate. Only the agents in
HOOKBUS_AGENTS are run.
"""

import json
import re
from pathlib import Path

import pytest

from .real import THERE, Agent

AGENTS = ("claude", "codex", "gemini", "copilot")
GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "guard-a-coding-agent.md"

CLAUDE = {"hookEventName": "PreToolUse", "permissionDecisionReason": "no"}
ANSWERS = {
    "claude": lambda word: {"hookSpecificOutput": {**CLAUDE, "permissionDecision": word}},
    "codex": lambda word: {"hookSpecificOutput": {**CLAUDE, "permissionDecision": word}},
    "gemini": lambda word: {"decision": word, "reason": "no"},
    "copilot": lambda word: {"permissionDecision": word, "permissionDecisionReason": "no"},
}


def prints(word, ending="", **more):
    """Return what makes the command of a hook that prints an answer with this word."""

    def make(agent):
        answer = ANSWERS[agent](word)
        own = answer.get("hookSpecificOutput", answer)
        own.update(more)
        return f"echo '{json.dumps(answer)}'{ending}"

    return make


ROWS = {
    "exits with 1": "exit 1",
    "is killed": "kill -9 $$",
    "takes too long": "sleep 5; exit 2",
    "prints something that is not JSON": "echo nonsense",
    "prints an unknown decision": prints("perhaps"),
    "exits with 2 without a message": "exit 2",
    "denies, and exits with 1": prints("deny", "; exit 1"),
    "allows, and exits with 2 with a reason": prints("allow", "; echo no >&2; exit 2"),
    "denies, with a key more than the schema": prints("deny", more=1),
    "asks, where no user is": prints("ask"),
    "says `continue: false`": """echo '{"continue": false, "stopReason": "no"}'""",
    "does not exist": "/no/such/program",
    "denies, beside one of an unknown type": prints("deny"),
    "denies, in a file that is not JSON": prints("deny"),
    "denies, and is switched off": prints("deny"),
    "denies, and is not yet trusted": prints("deny"),
}
SWITCHES = {
    "claude": (".claude/settings.json", {"disableAllHooks": True}),
    "gemini": (".gemini/settings.json", {"hooksConfig": {"enabled": False}}),
    "copilot": (".github/copilot/settings.json", {"disableAllHooks": True}),
}
"""What a project can say that switches the hooks of its user off."""

NO_TRUST = "–"
"""The agent has no trust in hooks that its user could withhold."""


def entry(agent, command):
    if agent == "copilot":
        return {"type": "command", "bash": command, "timeoutSec": 2}
    return {"hooks": [{"type": "command", "command": command,
                       "timeout": 2000 if agent == "gemini" else 2}]}  # fmt: skip


def settings(agent, row):
    """Return the settings of an agent with one hook before every tool."""
    made = ROWS[row]
    entries = [entry(agent, made if isinstance(made, str) else made(agent))]
    if row.endswith("an unknown type"):
        other = {"type": "shout"}
        entries.append(other if agent == "copilot" else {"hooks": [other]})
    name = {"gemini": "BeforeTool", "copilot": "preToolUse"}.get(agent, "PreToolUse")
    own = {"version": 1} if agent == "copilot" else {}
    if agent == "gemini":
        trust = {"folderTrust": {"enabled": row.endswith("not yet trusted")}}
        own = {"security": {"auth": {"selectedType": "gemini-api-key"}, **trust}}
    return {**own, "hooks": {name: entries}}


def prepare(agent, row):
    """Write the settings of an agent for a row."""
    agent.file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(settings(agent.name, row))
    agent.file.write_text(text[:-1] if row.endswith("not JSON") and "file" in row else text)
    agent.trusts_hooks = not row.endswith("not yet trusted")
    if not row.endswith("switched off"):
        return
    if agent.name == "codex":  # its user
        agent.config = "[features]\nhooks = false\n"
        return
    name, switch = SWITCHES[agent.name]
    file = agent.project / name
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(switch))


def table():
    """Return what the guide says: the outcome by the text of a row and by agent."""
    lines = re.findall(r"^\| (.+) \|$", GUIDE.read_text().split("<!-- why -->")[1], re.MULTILINE)
    cells = [[cell.strip(" *") for cell in line.split("|")] for line in lines[1:]]
    return {row: dict(zip(AGENTS, outcomes, strict=True)) for row, *outcomes in cells}


def test_the_table_of_the_guide_has_these_rows():
    found = table()
    assert list(found) == list(ROWS)
    outcomes = {cell for cells in found.values() for cell in cells.values()}
    assert outcomes == {"runs", "blocked", "stops", NO_TRUST}


CELLS = [(name, row) for name in AGENTS if name in THERE
         for row in ROWS if table()[row][name] != NO_TRUST]  # fmt: skip


@pytest.mark.skipif(not THERE, reason="HOOKBUS_AGENTS names no agents")
@pytest.mark.parametrize(("name", "row"), CELLS)
def test_a_hook_that_breaks_lets_the_call_run_or_not(tmp_path, name, row):
    agent = Agent(name, tmp_path)
    prepare(agent, row)
    has_run, _ = agent.has_run("echo hello")
    told = "blocked" if agent.results else "stops"  # the turn ends, or the agent does not start
    assert ("runs" if has_run else told) == table()[row][name]
