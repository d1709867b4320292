"""The contract of each system's how-to page: its blocks print what it says, and every difference
names a test.
"""

import re
import subprocess
import sys
from pathlib import Path

from .hangs import SECONDS

ROOT = Path(__file__).resolve().parent.parent.parent


def printed_by(*command):
    """Return what Python prints for this command, run at the top of the repository."""
    ran = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


class PageTable:
    """The test of one page's table. A subclass says whose: `system = "agno"`."""

    system: str

    def text(self):
        return (ROOT / "docs" / "how-to" / f"from-{self.system}.md").read_text()

    def test_every_row_of_what_changes_names_a_test_that_is_there(self):
        table = self.text().split("## What changes")[1].splitlines()
        rows = [
            line.split("|")[1:-1] for line in table if line.startswith("| ") and "---" not in line
        ][1:]
        sources = "".join(path.read_text() for path in (ROOT / "tests" / "systems").glob("*.py"))
        assert len(rows) >= 10
        for row in rows:
            named = re.findall(r"`(test_\w+)`", row[-1])
            assert named and all(f"def {test}(" in sources for test in named), row


class PageContract(PageTable):
    """The same, and that of its blocks: each is a program of its own, followed by what it
    prints."""

    def test_every_block_of_the_page_prints_what_the_page_says(self, tmp_path):
        blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", self.text(), re.DOTALL)
        assert len(blocks) == self.text().count("```python") >= 3
        for number, (program, promised) in enumerate(blocks):
            path = tmp_path / f"block_{number}.py"
            path.write_text(program)
            assert printed_by(str(path)) == promised, f"block {number}"
