"""Every page of docs/ does what it says: its Python blocks run from top to bottom as one program, in a process of their own.

A comment behind a `print(...)` is what it prints, except where a table of `explain` or `report` is printed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hookbus

DOCS = Path(__file__).parent.parent / "docs"
ELSEWHERE = {f"from-{system}.md" for system in ("agentscope", "agenticx", "agno", "bub")}
"""These need a package of their own and are run by its tests, inside its environment (`python -m tests.systems`)."""
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "```python\n" in page.read_text() and page.name not in ELSEWHERE]


def program_of(text):
    """Return the Python blocks of a page, each line at its own number, so that a traceback names the line of the page."""
    lines, is_code = [], False
    for line in text.splitlines():
        is_end = line.startswith("```")
        lines.append(line if is_code and not is_end else "")
        is_code = line == "```python" or (is_code and not is_end)
    return "\n".join(lines) + "\n"


def promised(program):
    """Return what the comments behind prints say is printed."""
    prints = (line for line in program.splitlines() if "print(" in line and not re.search(r"\b(explain|report)\(", line))
    return [line.rsplit("  # ", 1)[1].strip() for line in prints if "  # " in line]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_runs_and_prints_what_it_says(page, tmp_path):
    path = tmp_path / f"{page.stem}.py"
    path.write_text(program_of(page.read_text()))
    environment = {**os.environ, "PYTHONPATH": str(Path(hookbus.__file__).parent.parent)}
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, timeout=120, cwd=tmp_path, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    printed = iter(line.strip() for line in ran.stdout.splitlines())
    missing = [line for line in promised(path.read_text()) if line not in printed]
    assert not missing, f"these were not printed, or not in this order: {missing}\n{ran.stdout}"


def test_there_are_pages_and_a_page_that_lies_is_found():
    assert {"from-pluggy.md", "ask-plugins.md"} <= {page.name for page in PAGES}
    assert promised('print(1)  # 2\nprint(explain(f))  # a table\nx = "print()"\n') == ["2"]
    assert program_of("text\n```python\nx = 1\n```\nmore\n```console\nls\n```\n") == "\n\nx = 1\n\n\n\n\n\n"


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_between_pages_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"
