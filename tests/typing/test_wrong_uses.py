"""Both type checkers refuse every wrong use that is marked, and nothing else in this folder."""

import ast
import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hookbus import HookSignal
from hookbus._connections.options import ConnectOptions, Options

HERE = Path(__file__).parent
WRONG = HERE / "wrong_uses.py"
FILES = sorted(HERE.glob("*.py"))


def by_mypy() -> list[tuple[str, int, str]]:
    said = run("mypy", "--strict", "--output", "json", "--no-error-summary")
    found = [json.loads(line) for line in said.splitlines()]
    return [(one["file"], one["line"], one["message"]) for one in found]


def by_pyright() -> list[tuple[str, int, str]]:
    found = json.loads(run("pyright", "--pythonpath", sys.executable, "--outputjson"))
    return [
        (one["file"], one["range"]["start"]["line"] + 1, one["message"])
        for one in found["generalDiagnostics"]
        if one["severity"] == "error"
    ]


def run(checker: str, *options: str) -> str:
    command = [sys.executable, "-m", checker, *options, *map(str, FILES)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1])
    assert ran.returncode == 1, ran.stdout + ran.stderr  # 0: nothing is wrong; more: it broke
    return ran.stdout


def statements(lines: list[str]) -> dict[int, int]:
    """Return the first line of the innermost statement by each line; decorators and the head of a
    function are one.
    """
    of: dict[int, int] = {}
    for node in ast.walk(ast.parse("\n".join(lines))):  # what is inside comes later
        if isinstance(node, ast.stmt):
            assert node.end_lineno is not None
            of |= dict.fromkeys(range(node.lineno, node.end_lineno + 1), node.lineno)
            for decorator in getattr(node, "decorator_list", ()):
                of[decorator.lineno] = node.lineno
    return of


def test_every_option_of_connect_is_one_of_the_typed_ones_and_described() -> None:
    assert {*Options._fields} == ConnectOptions.__optional_keys__ | {"role"}
    described = inspect.getdoc(HookSignal.connect) or ""
    assert [name for name in Options._fields if f"    {name}: " not in described] == []


@pytest.mark.parametrize("checked_by", [by_mypy, by_pyright])
def test_each_wrong_use_is_found_and_nothing_right_is_refused(
    checked_by: Callable[[], list[tuple[str, int, str]]],
) -> None:
    lines = WRONG.read_text().splitlines()
    of = statements(lines)
    marked = {of[number] for number, line in enumerate(lines, 1) if "  # wrong" in line}
    assert len(marked) >= 15
    found = checked_by()
    elsewhere = [one for one in found if Path(one[0]).name != WRONG.name]
    assert not elsewhere
    refused = {of[line] for _, line, _ in found}
    unmarked = [one for one in found if of[one[1]] not in marked]
    assert not unmarked
    assert not [f"{number}: {lines[number - 1]}" for number in sorted(marked - refused)]
