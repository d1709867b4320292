"""Make the environment of the tests under real servers: `python -m tests.servers.install`.

It is .venv-servers; one that is there is brought up to date.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / ".venv-servers" / "bin" / "python"


def install() -> None:
    """Make or update the environment, with the extra `servers` of hookbus.

    Raises:
        subprocess.CalledProcessError: if pip could not.
    """
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", PYTHON.parent.parent], check=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--editable", f"{ROOT}[test,cli,servers]"], check=True)


if __name__ == "__main__":
    install()
