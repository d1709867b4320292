"""Whoever is killed, at whatever moment, nothing that was acknowledged is lost (G37, G38)."""

import os
import subprocess
import sys

import pytest

ROUNDS = int(os.environ.get("HOOKBUS_KILLS", 100 if os.environ.get("HOOKBUS_LONG") else 5))


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_whoever_is_killed_nothing_acknowledged_is_lost(path, durability):
    command = [sys.executable, "-m", "tests.journal.kill", str(path), str(ROUNDS), durability]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=3600, check=False)
    assert ended.returncode == 0, ended.stdout
    assert f"{durability}: {ROUNDS} rounds" in ended.stdout and " 0 problems" in ended.stdout


def test_whoever_is_killed_in_a_loop_every_call_that_returned_is_recorded(path):
    command = [sys.executable, "-m", "tests.journal.kill", str(path), str(ROUNDS), "loop"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=3600, check=False)
    assert ended.returncode == 0, ended.stdout
    assert f"loop: {ROUNDS} kills" in ended.stdout and " 0 problems" in ended.stdout
