"""Make the environment of the tests under real servers: `python -m tests.servers.install`.

It is `.venv-servers`, and an existing one is updated.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.systems.install import constraints_of, run_pip, wanted_by

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / ".venv-servers" / "bin" / "python"


def install() -> None:
    """Make or update the environment, with the extra `servers` of hookbus.

    Raises:
        subprocess.CalledProcessError: if pip could not.
    """
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", PYTHON.parent.parent], check=True)
    run_pip(PYTHON, "install", "--editable", *wanted_by("servers"),
            constraints=constraints_of("servers"))  # fmt: skip


if __name__ == "__main__":
    install()
