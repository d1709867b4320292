"""The page on durable workflows, with the real DBOS, killed at two moments.

`HOOKBUS_RECIPES` names an environment with its packages, which `.ci/nightly` makes.
"""

import signal
import subprocess

import pytest

from ..test_docs import DOCS, program_of, promised
from .environment import FOLDER, environment, python

pytestmark = pytest.mark.skipif(FOLDER is None, reason="HOOKBUS_RECIPES names no environment")
PAGE = (DOCS / "how-to" / "under-a-durable-workflow.md").read_text()


def run(folder, *words):
    return subprocess.run(
        [python(), "pay.py", *words], cwd=folder, env=environment(), capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


def counts(moment):
    """Return how often the page says that the guard and the body run."""
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| {moment}")]
    return [int(cell) for cell in row.strip("| ").split("|")[1:]]


@pytest.mark.parametrize("moment", ["after-step", "in-step"])
def test_a_step_is_replayed_once_it_is_recorded_and_else_judged_again(moment, tmp_path):
    (tmp_path / "pay.py").write_text(program_of(PAGE))
    killed = run(tmp_path, moment)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    resumed = run(tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.splitlines() == promised(PAGE)
    notes = (tmp_path / "notes").read_text().split()
    assert [notes.count("guard"), notes.count("body")] == counts(f"`{moment}`")


def test_without_a_kill_the_call_is_judged_once(tmp_path):
    (tmp_path / "pay.py").write_text(program_of(PAGE))
    assert run(tmp_path).stdout.splitlines() == promised(PAGE)
    notes = (tmp_path / "notes").read_text().split()
    assert [notes.count("guard"), notes.count("body")] == counts("never")
