"""Each cell of the table of policy engines, on the real packages.

hookbus always runs. For the others, `HOOKBUS_POLICY_ENGINES` names a folder with an environment for
each, which `.ci/nightly` makes.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs/explanation/policy-engines.md"
FOLDER = os.environ.get("HOOKBUS_POLICY_ENGINES")


def table():
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    engines = [each.strip() for each in lines[0].strip("|").split("|")][1:]
    rows = [line.strip("|").split("|") for line in lines[1:13]]
    return [
        (engine, row[0].split("`")[1], cell.strip())
        for row in rows for engine, cell in zip(engines, row[1:], strict=True)
    ]  # fmt: skip


@cache
def results(engine):
    script = str(Path(__file__).parent / "run.py")
    python = sys.executable if engine == "hookbus" else str(Path(FOLDER, engine, "bin", "python"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT) if engine == "hookbus" else ""}
    ran = subprocess.run(
        [python, script, engine], capture_output=True, text=True, timeout=120, env=environment
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout.splitlines()[-1])


def test_there_are_twelve_tasks_in_the_table():
    assert len({task for _, task, _ in table()}) == 12


@pytest.mark.parametrize("engine, task, cell", table())
def test_a_cell_is_what_the_package_does(engine, task, cell):
    if engine != "hookbus" and FOLDER is None:
        pytest.skip("HOOKBUS_POLICY_ENGINES names no folder with the packages")
    assert results(engine)[task] == cell
