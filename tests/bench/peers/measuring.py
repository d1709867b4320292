"""Install the peers, and measure the installed ones in their environments."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.bench.harness import Effort, Measured

from . import PEERS, Peer

ROOT = Path(__file__).parents[3]
VENVS = ROOT / ".venv-bench"


def install(names: Sequence[str]) -> int:
    """Make an environment per peer and install it there; return an exit code."""
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; there are: {', '.join(PEERS)}")
        return 2
    failed = [name for name in names or PEERS if not _install(PEERS[name])]
    if failed:
        print(f"not installed: {', '.join(failed)}")
    return 1 if failed else 0


def _install(peer: Peer) -> bool:
    python = _python(peer.python)
    if python is None:
        print(f"{peer.name} needs Python {peer.python}, which is not here")
        return False
    print(f"{peer.name}: {' '.join(peer.requirements)}, in {VENVS.name}/{peer.name}", flush=True)
    home = VENVS / peer.name
    made = subprocess.run([python, "-m", "venv", "--clear", str(home)]).returncode == 0
    return (
        made
        and subprocess.run(
            [str(home / "bin" / "pip"), "install", "-q", *peer.requirements]
        ).returncode
        == 0
    )


def _python(version: str | None) -> str | None:
    if version is None or sys.version.startswith(f"{version}."):
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*sorted(pyenv.glob(f"{version}.*/bin/python")), shutil.which(f"python{version}")]
    return next((str(python) for python in found if python is not None), None)


def installed() -> list[str]:
    return [name for name in PEERS if (VENVS / name / "bin" / "python").exists()]


def measure(name: str, effort: Effort, keys: Iterable[str]) -> list[Measured]:
    """Return a peer's rows, measured in its own environment.

    Raises:
        RuntimeError: with the last line it said, if it could not be measured.
    """
    command = [
        str(VENVS / name / "bin" / "python"), "-m", f"{__package__}.run", name, str(effort.seconds),
        str(effort.rounds),
    ]  # fmt: skip
    ran = subprocess.run([*command, *keys], cwd=ROOT, capture_output=True, text=True, timeout=900)
    if ran.returncode:
        raise RuntimeError((ran.stderr.strip() or "it said nothing").splitlines()[-1])
    return [Measured(**row) for row in json.loads(ran.stdout.splitlines()[-1])]


def add(rows: Sequence[Measured], name: str, found: Sequence[Measured]) -> None:
    """Write a peer's ratios into the rows they belong to."""
    by_key = {row.key: row for row in rows}
    for measured in found:
        row = by_key[measured.key]
        if name in measured.ratios:
            row.ratios[name], row.ns[name] = measured.ratios[name], measured.ns[name]
            low, high = measured.spread[name]
            row.spread[name] = low, high
        if name in measured.failed:
            row.failed[name] = measured.failed[name]
