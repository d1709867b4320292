"""The README does what it says."""

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_twenty_lines_print_what_their_comments_say(tmp_path):
    program = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    path = tmp_path / "twenty.py"
    path.write_text(program)
    ran = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    promised = [
        line.rsplit("  # ", 1)[1].strip()
        for line in program.splitlines()
        if "print(" in line and "explain" not in line
    ]
    printed = ran.stdout.splitlines()
    assert printed[:2] == promised
    assert [line.split()[2] for line in printed[4:]] == ["redact", "no_keys", "remember"]
    assert f"{path}:" in printed[4]


def test_the_commands_make_their_own_environments():
    commands = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv") for command in commands)
