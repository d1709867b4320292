"""OpenClaw's own example of a permission request runs here, and its how-to page names tests that are there."""

import re
import subprocess
import sys
from pathlib import Path

from . import coverage

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "how-to" / "from-openclaw.md").read_text()


def test_the_example_of_its_documentation_asks_before_it_deploys():
    ran = subprocess.run(
        [sys.executable, "-m", "tests.systems.example_openclaw"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "read",
        "[warning] Deploy service: Deploy service to staging. allow-once | allow-always | deny",
        "deploy approval resolved: allow-always",
        "deployed to staging",
        "[critical] Deploy service: Deploy service to production. allow-once | deny",
        "deploy approval resolved: timeout",
        "blocked: Approval timed out",
    ]


def test_every_better_of_the_page_names_a_test_that_is_there():
    table = [line.split("|") for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| you had")]
    there = {name for _, name in coverage.tests()}
    assert len(table) > 10
    for row in table:
        named = re.findall(r"`(test_\w+)`", row[3])
        assert named and set(named) <= there, row
