"""Run the tests under real servers in their environment: `python -m tests.servers [options of
pytest]`."""

import os
import subprocess
import sys

from .install import PYTHON, ROOT, install

if not PYTHON.exists():
    install()
here = {**os.environ, "HOOKBUS_SERVERS": "1"}
command = [PYTHON, "-m", "pytest", *sys.argv[1:], "tests/servers"]
sys.exit(subprocess.run(command, cwd=ROOT, env=here).returncode)
