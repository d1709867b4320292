"""Run the tests of one system inside its environment: `python -m tests.systems agentscope [options
of pytest]`."""

import os
import subprocess
import sys

from .install import ROOT, SYSTEMS, install, python_of


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in SYSTEMS:
        sys.exit(f"name a system: {', '.join(SYSTEMS)}")
    name, options = arguments[0], arguments[1:]
    if not python_of(name).exists():
        install(name)
    tests = sorted(
        str(path) for path in (ROOT / "tests" / "systems").glob(f"test_{SYSTEMS[name].tests}_*.py")
    )
    if name not in ("openclaw", "agno-2"):  # no package, and not the newest of its adapter
        tests.append(str(ROOT / "tests" / "systems" / "test_seams.py"))
    if not tests:
        sys.exit(f"there are no tests/systems/test_{SYSTEMS[name].tests}_*.py")
    # Their packages warn about what is theirs; ours still fail.
    warnings = ["-W", "default", "-W", "error::hookbus.exceptions.HookWarning"]
    here = {**os.environ, "HOOKBUS_SYSTEM": name}
    return subprocess.run(
        [python_of(name), "-m", "pytest", *warnings, *options, *tests], cwd=ROOT, env=here
    ).returncode


sys.exit(main(sys.argv[1:]))
