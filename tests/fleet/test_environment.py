"""HOOKBUS_FLEET: a program joins a fleet and ships its journal without a change to its code."""

import os
import subprocess
import sys

import pytest

from hookbus.fleet import Fleet

from .postgres import PASSWORDS

PROGRAM = """
from hookbus import HookBlocked, hookable

@hookable("tool_call")
def call(name, arguments):
    return "ran"

for name in ("read", "pay"):
    try:
        print(call(name, {}))
    except HookBlocked as blocked:
        print(blocked)
"""


@pytest.fixture
def operator(postgres):
    """An operator of the fleet with the usual name, on which nothing is in force afterwards."""
    Fleet.make(postgres.url("owner"), agents="agent", operators="operator")
    with Fleet(postgres.url("operator")) as opened:
        yield opened
        for word in opened.status().words:
            opened.revive(word["name"], by="test")


def run(folder, url, *command, **more):
    (folder / "agent.py").write_text(PROGRAM)
    done = subprocess.run(
        [*(command or (sys.executable, "agent.py"))], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "HOOKBUS_FLEET": url, **more}, check=False,
    )  # fmt: skip
    assert not any(word in done.stdout + done.stderr for word in PASSWORDS.values())
    return done


@pytest.mark.parametrize("way", ["alone", "hookbus run"])
def test_a_program_is_bound_from_its_first_call_and_its_journal_is_shipped(
    operator, postgres, tmp_path, way
):
    operator.kill("pay", by="ada", reason="a wrong amount")
    command = (sys.executable, "-m", "hookbus", "run", "agent.py") if way != "alone" else ()
    journal = str(tmp_path / "journal.db")
    done = run(tmp_path, postgres.url("agent"), *command, HOOKBUS_JOURNAL=journal)
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first == "ran" and "pay is stopped by ada: a wrong amount" in second
    events = list(operator.events(f"reader of {way}"))
    assert {each.type for each in events} >= {"hookbus.finished", "hookbus.blocked"}
    assert operator.status().members == []


def test_a_program_whose_fleet_cannot_be_reached_does_not_start(postgres, tmp_path):
    done = run(tmp_path, postgres.url("agent", password="wrong"))
    assert done.returncode == 1 and done.stdout == ""
    assert "HookError: the fleet at 127.0.0.1" in done.stderr
    done = run(tmp_path, postgres.url("agent"), sys.executable, "-m", "hookbus", "fleet", "--help")
    assert done.returncode == 0
