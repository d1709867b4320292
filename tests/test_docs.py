"""Every page of docs/ does what it says: its Python blocks run from top to bottom as one program,
in a process of their own.

A comment behind a `print(...)`, or right below it, is what it prints, except where a table of
`explain` or `report` is printed. A block of text right below a block of Python is what that prints.
A page that has tests on it is run by pytest.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hookbus
from hookbus import adapters
from hookbus._connections.options import ROLES
from hookbus._connections.phases import EXTRA_NAMES, PHASES

from . import floors
from .docs_site import Page, cells_of, problems_of, problems_of_notebooks

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
ELSEWHERE = {f"from-{system}.md" for system in ("agentscope", "agenticx", "agno", "bub")} | {
    "operate-a-fleet.md", "hand-on-events.md", "under-a-durable-workflow.md",
}
"""Pages that need a package of their own. Its tests run them in its environment (`python -m
tests.systems`), as they run those of FRAMEWORKS. The page on fleets needs a Postgres, and
tests/fleet runs it. tests/recipes runs the last two.
"""
FRAMEWORKS = DOCS / "how-to" / "frameworks"
PYTEST = ("-m", "pytest", "-qs", "-p", "no:cacheprovider", "-p", "hookbus._pytest")
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if "```python\n" in page.read_text()
    and page.name not in ELSEWHERE
    and page.parent != FRAMEWORKS
]


def program_of(text):
    """Return the Python blocks of a page, each line at its own number, so that a traceback names
    the line of the page.
    """
    lines, is_code = [], False
    for line in text.splitlines():
        is_end = line.startswith("```")
        lines.append(line if is_code and not is_end else "")
        is_code = line == "```python" or (is_code and not is_end)
    return "\n".join(lines) + "\n"


def untimed(text):
    """Return what is printed without what differs between runs: times, and where bars stand."""
    bars = re.sub(r"[\u2580-\u259f│]+", " ", text)
    return re.sub(r" +", " ", re.sub(r"\d[\d.]* (ns|µs|ms|s)\b", "TIME", bars)).strip()


TABLES = re.compile(r"\b(explain|report)\(")


def is_uncommented_print(line):
    """Return whether the comment of a print may be on the next line."""
    return line.lstrip().startswith("print(") and "  # " not in line and not TABLES.search(line)


def promised(text):
    """Return what a page says is printed: by the comments behind prints or right below them, and in
    blocks of text right below blocks of Python.
    """
    said = []
    for code, printed in re.findall(
        r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", text, re.DOTALL | re.MULTILINE
    ):
        above = ""
        for line in code.splitlines():
            if "print(" in line and "  # " in line and not TABLES.search(line):
                said.append(line.rsplit("  # ", 1)[1].strip())
            elif line.lstrip().startswith("# ") and is_uncommented_print(above):
                said.append(line.strip().removeprefix("# "))
            above = line
        said += [line.strip() for line in printed.splitlines()]
    return said


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_runs_and_prints_what_it_says(page, tmp_path):
    text = page.read_text()
    path = tmp_path / f"{page.stem}.py"
    path.write_text(program_of(text))
    environment = {**os.environ, "PYTHONPATH": str(Path(hookbus.__file__).parent.parent)}
    environment.pop("COLUMNS", None)
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others take seconds to import
    has_tests = re.search(r"^(def test_|Test\w+ = )", text, re.MULTILINE)
    run = [sys.executable, "-W", "error", *(PYTEST if has_tests else ()), str(path)]
    ran = subprocess.run(
        run, capture_output=True, text=True, timeout=120, cwd=tmp_path, env=environment
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    printed = iter(untimed(line) for line in ran.stdout.splitlines())
    missing = [line for line in promised(text) if untimed(line) not in printed]
    assert not missing, f"these were not printed, or not in this order: {missing}\n{ran.stdout}"


@pytest.mark.parametrize("name", ["tutorial.md", "how-to/export-traces.md"])
def test_a_page_as_one_program_logs_what_it_shows_and_nothing_else(name, tmp_path):
    text = (DOCS / name).read_text()
    path = tmp_path / "first.py"
    path.write_text(program_of(text))
    environment = {**os.environ, "PYTHONPATH": str(Path(hookbus.__file__).parent.parent)}
    ran = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env=environment,
    )  # fmt: skip

    def unplaced(line):
        return re.sub(r"[\w./-]*first\.py:\d+", "first.py:LINE", line)

    shown = {unplaced(line) for line in text.splitlines()}
    assert ran.returncode == 0
    logged = [unplaced(line) for line in ran.stderr.splitlines()]
    assert logged == [line for line in logged if line in shown]
    assert len(logged) == (1 if name == "tutorial.md" else 0)


def test_times_and_bars_are_all_that_may_differ():
    assert untimed("  a   142 µs  ███  x") == untimed("  a     7 ms        █  x")
    assert untimed("  a   142 µs  ███  x") != untimed("  a   142 µs  ███  y")


def test_there_are_pages_and_a_page_that_lies_is_found():
    assert {"from-pluggy.md", "ask-plugins.md"} <= {page.name for page in PAGES}
    page = (
        '```python\nprint(1)  # 2\nprint(explain(f))  # a table\nx = "print()"\n```\n\n'
        "```text\n3\n```\n\n```text\nno\n```\n"
    )
    assert promised(page) == ["2", "3"]
    code = "if x:\n    print(1)\n    # 4\nprint(2)  # 5\n# no output\nprint(report())\n# 6\n"
    below = f"```python\n{code}```\n"
    assert promised(below) == ["4", "5"]
    assert (
        program_of("text\n```python\nx = 1\n```\nmore\n```console\nls\n```\n")
        == "\n\nx = 1\n\n\n\n\n\n"
    )


def wanted_by(pattern):
    """Return what a pattern finds in the pages, each with the pages that it is in."""
    found = {}
    for page in (*sorted(DOCS.rglob("*.md")), *ROOT.glob("*.md")):
        for each in re.findall(pattern, page.read_text()):
            found.setdefault(each, []).append(page)
    return found


def test_links_between_pages_lead_somewhere():
    links = wanted_by(r"\]\(([^)#:]+?)(?:#[^)]*)?\)")
    assert len(links) > 100
    assert [
        (page.name, link)
        for link, pages in links.items()
        for page in pages
        if not (page.parent / link).exists()
    ] == []


def test_a_test_that_a_page_names_is_there():
    named = wanted_by(r"`(test_\w+|tests/[\w./]+)`")
    assert len(named) > 100
    tests = "\n".join(path.read_text() for path in ROOT.glob("tests/**/*.py"))
    known = {*re.findall(r"def (test_\w+)", tests)}
    missing = {name for name in named if name not in known and not (ROOT / name).exists()}
    assert {name: named[name] for name in missing} == {}


def test_a_command_that_a_page_names_is_there():
    modules, scripts = wanted_by(r"python -m (tests[\w.]*)"), wanted_by(r"\.ci/\w+")
    assert len(modules) > 10 and ".ci/nightly" in scripts
    paths = {name: ROOT / name.replace(".", "/") for name in modules}
    assert {
        name: modules[name]
        for name, path in paths.items()
        if not (path.with_suffix(".py").exists() or (path / "__main__.py").exists())
    } == {}
    assert {name: scripts[name] for name in scripts if not (ROOT / name).exists()} == {}


def test_the_picture_of_the_floors_is_the_import_contract():
    drawn = floors.PLACE.search(floors.PAGE.read_text())
    assert drawn is not None
    assert drawn.group() == floors.picture(), "make it anew: python -m tests.floors --write"


def test_every_folder_has_an_import_contract_of_its_own():
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in Path(hookbus.__file__).parent.rglob("__init__.py")
    }
    assert set(floors.contracts()) == folders


def test_every_module_has_its_place_in_the_picture_and_says_what_it_is_for():
    modules = {
        path.stem if path.is_file() else path.name
        for path in Path(hookbus.__file__).parent.iterdir()
    }
    assert {name for floor in floors.floors() for name in floor} == modules - {
        "__init__", "__main__", "__pycache__", "py",
    }  # fmt: skip
    assert all(floors.job_of(name) for floor in floors.floors() for name in floor)


def test_the_table_of_phases_is_that_of_the_code():
    text = (DOCS / "reference" / "signals-and-phases.md").read_text()
    rows = re.findall(
        r"^\| `(\w+)` \| .*? \| ([\w, ()]+) \| (.*?) \|$",
        text.partition("## What a receiver can return")[0],
        re.M,
    )
    roles = {phase: ", ".join(ROLES[phase]).replace("around", "(none)") for phase in PHASES}
    assert [
        (phase, roles[phase], ", ".join(f"`{name}`" for name in EXTRA_NAMES[phase]))
        for phase in PHASES
    ] == rows


def test_the_api_has_every_public_name():
    api = (DOCS / "reference" / "api.md").read_text()
    names = [*hookbus.__all__, *(f"hookbus.adapters.{name}" for name in adapters.__all__)]
    assert [name for name in names if not re.search(rf"\b{name}\b", api)] == []


def test_what_is_loaded_from_elsewhere_and_links_to_nowhere_are_found():
    links = "".join(
        f'<a href="{target}">x</a>'
        for target in ("#gone", "b.html", "#here", "https://example.org")
    )
    page = Page(f'<script src="https://cdn.example/x.js"></script>{links}<h1 id="here">x</h1>')
    problems = problems_of({DOCS / "index.html": page})
    assert [problem.partition(", ")[0] for problem in problems] == [
        "index.html loads https://cdn.example/x.js", "index.html links to #gone",
        "index.html links to b.html"
    ]  # fmt: skip


def test_a_page_of_a_notebook_without_its_outputs_is_found():
    cells, page = cells_of(ROOT / "examples"), DOCS / "notebooks" / "01_first_hook.html"
    assert len(cells) == 7 and sum("print(" in cell for cell in cells[page.stem]) > 5
    shown = '<div class="cell_output docutils container">'
    [problem] = problems_of_notebooks({page: shown}, cells)
    assert problem.startswith("01_first_hook.html shows 1 outputs")
    assert problems_of_notebooks({page: shown * 10}, cells) == []
