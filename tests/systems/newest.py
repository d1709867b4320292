"""Run the contract of every adapter on the newest release of its framework, and print a table.

    python -m tests.systems.newest            all of them
    python -m tests.systems.newest agno mcp   these

Each has a separate environment in .venv-newest/<name>, without constraints. The exit code is 1 if a
release fails the self-test of its adapter or the contract.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from hookbus.adapters.__main__ import SEAMS

from .install import ROOT, SYSTEMS, make_environment, python_of, run_pip, wanted_by

FOLDER = ".venv-newest"

PACKAGES = {name: seam.package for name, seam in SEAMS.items()} | {
    name: name for name in ("agenticx", "agno", "bub")
}
"""What is installed in its newest release. The adapter of AgentScope 1 has no newer one."""

ASK = """
import importlib, warnings
from importlib import metadata
from hookbus.adapters.__main__ import rows
for row in rows():
    if row[0] == {name!r}:
        print(row[2], row[3], sep="|")
"""


class Row(NamedTuple):
    """What came of one framework.

    Attributes:
        tested: the versions that the adapter says it was tested with.
        state: the newest release, and what the adapter says of it.
        contract: the last line of its tests.
        passed: whether both are well.
    """

    name: str
    tested: str
    state: str
    contract: str
    passed: bool


def run(name: str) -> Row:
    """Install the newest release of a framework, and run the contract in it."""
    python = python_of(name, FOLDER)
    try:
        make_environment(python, SYSTEMS[name].python)
        run_pip(python, "install", "--editable", *wanted_by(name))
        run_pip(python, "install", "--upgrade", PACKAGES[name])
    except subprocess.CalledProcessError as error:
        return Row(name, "", "", f"pip could not install it: exit code {error.returncode}", False)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOOKBUS_SYSTEM": name}
    asked = subprocess.run([python, "-c", ASK.format(name=name)], cwd=ROOT, env=environment,
                           text=True, capture_output=True)  # fmt: skip
    tested, _, state = (asked.stdout.strip().splitlines() or [""])[-1].partition("|")
    contract = ROOT / "tests" / "systems" / f"test_{name}_contract.py"
    tests = [str(contract), str(ROOT / "tests" / "systems" / "test_seams.py")]
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default", *tests]
    ran = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True)
    (logs := Path(ROOT, FOLDER, "logs")).mkdir(exist_ok=True)
    (logs / f"{name}.txt").write_text(asked.stderr + ran.stdout + ran.stderr)
    last = (ran.stdout.strip().splitlines() or ["pytest said nothing"])[-1]
    fits = re.search(r": (tested|untested, self-test passed)$", state) is not None
    return Row(name, tested, state, last.strip("= "), fits and ran.returncode == 0)


def main(names: list[str]) -> int:
    rows = []
    for name in names or PACKAGES:
        if name not in PACKAGES:
            sys.exit(f"there is no adapter {name!r}; there are {', '.join(PACKAGES)}")
        rows.append(run(name))
        print(" | ".join((*rows[-1][:4], "ok" if rows[-1].passed else "FAILED")), flush=True)
    if failed := [row.name for row in rows if not row.passed]:
        print(f"failed: {', '.join(failed)}; their output is in {FOLDER}/logs")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
