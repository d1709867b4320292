"""Bub's own examples of hooks print the same on hookbus, and every block of the how-to page what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("bub")

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "how-to" / "from-bub.md").read_text()


def printed_by(*command):
    ran = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_examples_of_its_documentation_print_the_same_on_stock_and_on_hookbus():
    stock = printed_by("-m", "tests.systems.example_bub", "stock")
    assert stock == printed_by("-m", "tests.systems.example_bub", "hookbus")
    assert "'content': '[echo] hello'" in stock and "stream: [echo] in pieces" in stock
    assert "tool: [{'kind': 'tool', 'message': 'that is not allowed'}]\n" in stock and "turn failed: no prompt\n" in stock


BLOCKS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_page_prints_what_the_page_says(number, tmp_path):
    program, promised = BLOCKS[number]
    path = tmp_path / "block.py"
    path.write_text(program)
    assert printed_by(str(path)) == promised


def test_every_block_of_the_page_is_run_and_every_better_names_a_test_that_is_there():
    assert len(BLOCKS) == PAGE.count("```python") >= 3
    table = PAGE.split("## What changes")[1].splitlines()
    rows = [line.split("|")[1:-1] for line in table if line.startswith("| ") and "---" not in line][1:]
    named = [re.findall(r"`(test_\w+)`", better) for _, _, better in rows]
    sources = "".join(path.read_text() for path in (ROOT / "tests" / "systems").glob("*.py"))
    assert len(rows) >= 10
    for row, tests in zip(rows, named):
        assert tests, f"no test is named: {row}"
        for test in tests:
            assert f"def {test}(" in sources, test
