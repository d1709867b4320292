"""The README does what it says, and the front page of the documentation says the same."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .test_docs import untimed

ROOT = Path(__file__).parent.parent
README, FRONT = (ROOT / "README.md").read_text(), (ROOT / "docs" / "index.md").read_text()
PROGRAM, PRINTED = re.search(
    r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL
).groups()  # fmt: skip


def test_the_program_prints_what_stands_below_it(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    ran = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=60,
        env=environment,
    )  # fmt: skip
    assert ran.stderr == ""
    assert untimed(ran.stdout) == untimed(PRINTED)
    assert ran.stdout.count("█") > 1 and PRINTED.count("█") > 1


@pytest.mark.parametrize("kind", ["text", "python"], ids=["pictures", "the program"])
def test_the_front_page_shows_the_same(kind):
    of_readme, of_front = (
        re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for page in (README, FRONT)
    )
    assert of_readme and of_readme == of_front


def test_the_commands_make_their_own_environments():
    commands = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv") for command in commands)
