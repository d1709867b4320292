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
    "exits with 2 without a text": "exit 2",
    "denies, and exits with 1": prints("deny", "; exit 1"),
    "allows, and exits with 2 with a reason": prints("allow", "; echo no >&2; exit 2"),
    "denies, with a key more than the schema": prints("deny", more=1),
    "asks, where no user is": prints("ask"),
    "does not exist": "/no/such/program",
    "is beside one of an unknown type": prints("deny"),
}


def entry(agent, command):
    if agent == "copilot":
        return {"type": "command", "bash": command, "timeoutSec": 2}
    return {"hooks": [{"type": "command", "command": command,
                       "timeout": 2000 if agent == "gemini" else 2}]}  # fmt: skip


def settings(agent, row):
    """Return the settings of an agent with one hook before every tool."""
    made = ROWS[row]
    entries = [entry(agent, made if isinstance(made, str) else made(agent))]
    if row == "is beside one of an unknown type":
        other = {"type": "shout"}
        entries.append(other if agent == "copilot" else {"hooks": [other]})
    name = {"gemini": "BeforeTool", "copilot": "preToolUse"}.get(agent, "PreToolUse")
    return {**({"version": 1} if agent == "copilot" else {}), "hooks": {name: entries}}


def table():
    """Return what the guide says: the outcome by the text of a row and by agent."""
    lines = re.findall(r"^\| (.+) \|$", GUIDE.read_text().split("<!-- why -->")[1], re.MULTILINE)
    cells = [[cell.strip(" *") for cell in line.split("|")] for line in lines[1:]]
    return {row: dict(zip(AGENTS, outcomes, strict=True)) for row, *outcomes in cells}


def test_the_table_of_the_guide_has_these_rows():
    found = table()
    assert list(found) == list(ROWS)
    assert {cell for cells in found.values() for cell in cells.values()} == {"runs", "blocked"}


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    made = {}

    def named(name):
        if name not in made:
            made[name] = Agent(name, tmp_path_factory.mktemp("why"))
        return made[name]

    return named


@pytest.mark.skipif(not THERE, reason="HOOKBUS_AGENTS names no agents")
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("name", [each for each in AGENTS if each in THERE])
def test_a_hook_that_breaks_lets_the_call_run_or_not(agents, name, row):
    agent = agents(name)
    agent.file.parent.mkdir(parents=True, exist_ok=True)
    base = json.loads(agent.file.read_text()) if name == "gemini" else {}
    agent.file.write_text(json.dumps({**base, **settings(name, row)}))
    has_run, _ = agent.has_run("echo hello")
    assert ("runs" if has_run else "blocked") == table()[row][name]
