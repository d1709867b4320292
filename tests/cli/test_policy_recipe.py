"""The page on introducing policies: its files are written, and its commands run in order."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..test_docs import DOCS, untimed
from .conftest import environment
from .test_policy_of_an_agent import AGENT

PAGE = (DOCS / "how-to" / "guards" / "introduce-policies.md").read_text()
BLOCKS = re.compile(
    r"(?:`([\w.]+)`:\n\n)?```(text|toml|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
REQUEST = re.compile(r"\b[0-9a-f]{16}\b")
CLOCK = re.compile(r"\b\d\d:\d\d:\d\d\.\d{3}\b")


def plain(line):
    """Return a line without what differs between runs."""
    return CLOCK.sub("CLOCK", untimed(REQUEST.sub("REQUEST", line)))


def steps():
    """Yield the files of the page as (name, text), and its commands as (command, lines)."""
    for name, kind, text in BLOCKS.findall(PAGE):
        if kind == "console":
            for part in text.removeprefix("$ ").split("\n$ "):
                command, *lines = part.splitlines()
                yield command, lines
        else:
            yield Path(name), text


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell")
def test_the_recipe_runs_and_prints_what_the_page_says(hookbus, folder):
    shutil.copy(AGENT, folder)
    own = f'hookbus() {{ {shlex.quote(sys.executable)} -m hookbus "$@"; }}\n'
    request, count = "", 0
    for step, expected in steps():
        if isinstance(step, Path):
            step.write_text(expected)
            continue
        command = REQUEST.sub(request, step)
        if command.startswith("hookbus "):
            _, out, error = hookbus(*shlex.split(command)[1:])
        else:
            ran = subprocess.run(
                ["sh", "-c", own + command], env=environment(), capture_output=True, text=True,
                timeout=120, check=False,
            )  # fmt: skip
            out, error = ran.stdout, ran.stderr
        printed = iter([plain(line) for line in out.splitlines()])
        missing = [line for line in expected if plain(line) not in printed]
        assert not missing, f"{command}: {missing} missing in\n{out}{error}"
        found = REQUEST.search(out)
        request, count = found[0] if found else request, count + 1
    assert count == 13
    sys.modules.pop("support_agent", None)
