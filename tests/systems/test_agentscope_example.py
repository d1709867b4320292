"""AgentScope's own example of hooks prints the same on hookbus, and every block of the how-to page what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("agentscope")

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "how-to" / "from-agentscope.md").read_text()


def printed_by(*command):
    ran = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_example_of_its_tutorial_prints_the_same_on_stock_and_on_hookbus():
    stock = printed_by("-m", "tests.systems.example_agentscope", "stock")
    assert stock == printed_by("-m", "tests.systems.example_agentscope", "hookbus")
    assert "answer: Hello, world! [instance pre_reply] [class pre_reply] [instance post_reply]\n" in stock
    assert "sunny in London" in stock and stock.count("<pre_acting: tool_call>") == 1


BLOCKS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_page_prints_what_the_page_says(number, tmp_path):
    program, promised = BLOCKS[number]
    path = tmp_path / "block.py"
    path.write_text(program)
    assert printed_by(str(path)) == promised


def test_every_block_of_the_page_is_run_and_every_better_names_a_test_that_is_there():
    assert len(BLOCKS) == PAGE.count("```python") >= 3
    rows = [line.split("|")[1:-1] for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line][1:]
    named = [re.findall(r"`(test_\w+)`", better) for _, _, better in rows]
    sources = "".join(path.read_text() for path in (ROOT / "tests" / "systems").glob("*.py"))
    assert len(rows) >= 10
    for row, tests in zip(rows, named):
        assert tests, f"no test is named: {row}"
        for test in tests:
            assert f"def {test}(" in sources, test
