"""Make small random mistakes in the core, and list those that no test notices.

    pip install pytest-cov
    pytest -n auto --cov=hookbus --cov-context=test --cov-report= \
        --durations=0 --durations-min=0 tests/... > build/durations
    python -m tests.mutants build/durations --sample 300 --seed 1

Tests that set a trace function end the coverage of all later tests. Run them in a second command,
with `--cov-append`.

Each mistake is made in a copy of the project. The tests that ran its line, by the coverage data,
run there, the quick ones first. Mutators on PyPI change functions at run time, or run all tests for
each mutant. hookbus compiles functions from text, which is mutated here line by line.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple

from .seeded_bugs import ROOT, copied, tested

PACKAGE: Final = ROOT / "hookbus"
CORE: Final = (
    "_advice _approval _background _callables _calls _checks _connections _contents _events "
    "_ground _hooks _marks _questions _waiting _bus.py _hookable.py _instrument _dispatch.py "
    "events.py exceptions.py modes.py"
).split()
STORY: Final = "_calls/story.txt"
OPPOSITE: Final = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in",
    ast.NotIn: "in", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
}  # fmt: skip
FIRST: Final = 40
"""So many quick tests, some of each of a few files, are run first; then the random programs, and at
last others that ran the line.
"""
ORACLE: Final = "tests/properties/"
A_FILE: Final = 4
MOST: Final = 500


class Mutant(NamedTuple):
    """What stands from `start` to `end` of the file's bytes becomes `wrong`."""

    file: str
    line: int
    last: int
    start: int
    end: int
    wrong: str
    was: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {short(self.was)} -> {short(self.wrong)}"


def short(text: str) -> str:
    """The text in one line."""
    return re.sub(r"\s+", " ", text.strip())[:70] or "(nothing)"


class Mutator(ast.NodeVisitor):
    """Every mutant of one file."""

    def __init__(self, file: str, source: bytes) -> None:
        self._file, self._source, self.found = file, source, list[Mutant]()
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.visit(ast.parse(source))

    def _at(self, node: ast.AST) -> tuple[int, int]:
        place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return self._starts[place[0] - 1] + place[1], self._starts[place[2] - 1] + place[3]

    def _put(self, node: ast.AST, wrong: str) -> None:
        start, end = self._at(node)
        self._between(start, end, node.lineno, node.end_lineno, wrong)  # type: ignore[attr-defined]

    def _between(self, start: int, end: int, line: int, last: int, wrong: str) -> None:
        was = self._source[start:end].decode()
        self.found.append(Mutant(self._file, line, last, start, end, wrong, was))

    def _text(self, node: ast.AST) -> str:
        start, end = self._at(node)
        return self._source[start:end].decode()

    def _tested(self, test: ast.expr) -> None:
        if not isinstance(test, ast.Constant):
            self._put(test, "True")
            self._put(test, "False")

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return
        self._tested(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._tested(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._put(node.test, "False")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._put(test, "True")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            left, right = self._text(node.left), self._text(node.comparators[0])
            self._put(node, f"({left} {OPPOSITE[type(node.ops[0])]} {right})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for gone in range(len(node.values)):
            rest = [f"({self._text(v)})" for at, v in enumerate(node.values) if at != gone]
            word = " and " if isinstance(node.op, ast.And) else " or "
            self._put(node, f"({word.join(rest)})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._put(node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._put(node, str(not node.value))
        elif isinstance(node.value, int):
            self._put(node, str(node.value + 1))

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if not isinstance(node.value, ast.Yield | ast.YieldFrom):
            self._put(node, "pass")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._put(node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._put(node.value, "None")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not all(isinstance(target, ast.Name) for target in node.targets):
            self._put(node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._put(node, "pass")
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        self._put(node, "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._put(node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self._put(node, "continue")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """What annotates is no code."""

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(part)

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function  # noqa: N815


def of_story(source: bytes) -> Iterator[Mutant]:
    """Every line of the texts that does something, gone; and every condition of one, ignored."""
    start, in_texts = 0, False
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        text = line.decode().rstrip("\n")
        code, mark, _ = text.partition("  #? ")
        begin, end = start + len(code) - len(code.lstrip()), start + len(code)
        start, in_texts = start + len(line), in_texts or text.startswith("== ")
        if not in_texts or not text.strip() or text[0] in "#=":
            continue
        if not code.endswith(":"):
            yield Mutant(STORY, number, number, begin, end, "pass", text.strip())
        if mark:
            yield Mutant(STORY, number, number, end, end + len(text) - len(code), "", text.strip())


def all_mutants() -> list[Mutant]:
    """The mutants of the core, in the order of its files."""
    found: list[Mutant] = []
    for part in CORE:
        place = PACKAGE / part
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found += Mutator(str(path.relative_to(PACKAGE)), path.read_bytes()).found
    found += of_story((PACKAGE / STORY).read_bytes())
    return found


def seconds_of(durations: Path) -> dict[str, float]:
    """How long each test took, as pytest's `--durations=0` lists it."""
    took: dict[str, float] = {}
    for line in durations.read_text().splitlines():
        if said := re.match(r"(\d+\.\d+)s (?:call|setup|teardown) +(\S.*)", line):
            took[said[2]] = took.get(said[2], 0.0) + float(said[1])
    return took


class Selection:
    """Which tests ran a line, quick ones first and from many files."""

    def __init__(self, durations: Path) -> None:
        import coverage

        self._seconds = seconds_of(durations)
        self._data = coverage.CoverageData(os.environ.get("COVERAGE_FILE", ".coverage"))
        self._data.read()
        self._files = {
            name.rpartition("/hookbus/")[2]: name for name in self._data.measured_files()
        }

    def __call__(self, mutant: Mutant) -> list[str]:
        at = self._files.get(mutant.file.replace(STORY, "_calls/writer.py"), "")
        lines = self._data.contexts_by_lineno(at)
        wanted = lines if mutant.file == STORY else range(mutant.line, mutant.last + 1)
        ran = {said.rpartition("|")[0] for line in wanted for said in lines.get(line, ())} - {""}
        if not ran:  # only while hookbus is imported
            ran = {said.rpartition("|")[0] for said in self._data.measured_contexts()} - {""}
        return self._spread(ran)

    def _spread(self, tests: set[str]) -> list[str]:
        places = Counter(test.partition("::")[0] for test in tests)
        seen: Counter[str] = Counter()
        ranked = []
        for test in sorted(tests, key=lambda test: (self._seconds.get(test, 0.0), test)):
            file = test.partition("::")[0]
            seen[file] += 1
            is_slow = self._seconds.get(test, 0.0) > 0.5
            ranked.append((is_slow, (seen[file] - 1) // A_FILE, -places[file], test))
        found = [test for *_, test in sorted(ranked)]
        rest = found[FIRST:]
        oracle = [test for test in rest if test.startswith(ORACLE)]
        return found[:FIRST] + oracle + [test for test in rest if not test.startswith(ORACLE)]


def survives(mutant: Mutant, tests: list[str], copy: Path) -> bool:
    """Whether the tests pass with the mutant planted in this copy."""
    target = copy / "hookbus" / mutant.file
    source = target.read_bytes()
    target.write_bytes(source[: mutant.start] + mutant.wrong.encode() + source[mutant.end :])
    try:
        if mutant.file.endswith(".py"):
            try:
                compile(target.read_bytes(), mutant.file, "exec")
            except SyntaxError:
                return False
        return all(
            passes(copy, part, seconds)
            for part, seconds in ((tests[:FIRST], 60), (tests[FIRST:MOST], 400))
            if part
        )
    finally:
        target.write_bytes(source)


def passes(copy: Path, tests: list[str], seconds: float) -> bool:
    """Whether these tests pass there in so many seconds."""
    ran = tested(copy, tests, seconds)
    if ran is not None and ran.returncode == 4 and "not found" in ran.stderr + ran.stdout:
        raise RuntimeError(ran.stderr[-500:])
    return ran is not None and ran.returncode == 0


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("durations", type=Path)
    options.add_argument("--sample", type=int, help="so many, drawn from all (all of them)")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--in", dest="place", default="", help="only those whose place begins so")
    options.add_argument("--survivors", type=Path, help="only those of what an earlier run printed")
    options.add_argument("--workers", type=int, default=os.cpu_count())
    asked = options.parse_args()
    mutants = [mutant for mutant in all_mutants() if str(mutant).startswith(asked.place)]
    if asked.survivors:
        lines = asked.survivors.read_text().splitlines()
        said = {line.partition("tests ")[2] for line in lines if line.startswith("SURVIVED")}
        mutants = [mutant for mutant in mutants if str(mutant) in said]
    total = len(mutants)
    if asked.sample:
        mutants = random.Random(asked.seed).sample(mutants, min(asked.sample, total))
    tests_of, survived = Selection(asked.durations), 0
    chosen = [(mutant, tests_of(mutant)) for mutant in mutants]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.workers) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(asked.workers):
            copies.put(copied(f"{folder}/{number}", "examples", "docs"))

        def tried(pair: tuple[Mutant, list[str]]) -> bool:
            copy = copies.get()
            try:
                return survives(*pair, copy)
            finally:
                copies.put(copy)

        for (mutant, tests), lives in zip(chosen, pool.map(tried, chosen), strict=True):
            survived += lives
            print("SURVIVED" if lives else "caught  ", f"{len(tests):5} tests", mutant, flush=True)
    print(f"{survived} of {len(mutants)} mutants survived ({total:,} there are)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
