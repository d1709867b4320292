"""What the site generates from the code: compiled functions of calls, tables of the covered
systems, notebooks, and the names in the API.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from functools import cache, reduce
from pathlib import Path
from typing import Any

import attrs
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

from hookbus import explain
from tests.systems import coverage

TITLES = {
    "agentscope": "AgentScope", "agenticx": "AgenticX", "agno": "Agno", "bub": "Bub",
    "openclaw": "OpenClaw",
}  # fmt: skip
KINDS = {
    "feature": "Features", "defect": "Defects of the system that hookbus does not have",
    "preserve": "Behavior that the adapter preserves",
}  # fmt: skip

OVERLOADED = (
    "hookbus._marks.marks", "hookbus._connections.signal", "hookbus._questions.hookspec",
    "hookbus.plugins._api",
)  # fmt: skip
"""Modules whose overloads only repeat the docstrings in types."""


def copy_notebooks(examples: Path, target: Path) -> None:
    """Copy the notebooks, with the files that they read or link to, into the docs."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(examples, target, ignore=shutil.ignore_patterns("*.md", "__pycache__", ".*"))
    for path in target.glob("*.ipynb"):
        path.write_text(path.read_text().replace("](../docs/", "](../"))


class SystemsTotals(SphinxDirective):
    """A table that counts the tested rows of each system."""

    def run(self) -> list[nodes.Node]:
        lines = [
            "| system | kind | rows | tested | left out, with a reason | missing |",
            "|---|---|---|---|---|---|",
        ]
        counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        tested = tests_by_row()
        for row in coverage.rows():
            counts[row.system, row.kind][_state(row, tested)] += 1
        for (system, kind), (done, excused, missing) in counts.items():
            lines.append(
                f"| {_title(system)} | {kind} | {done + excused + missing} | {done} | {excused} | "
                f"{missing} |"
            )
        return self.parse_text_to_nodes("\n".join(lines))


class SystemsRows(SphinxDirective):
    """A table of every row of every system, with the tests that name it."""

    def run(self) -> list[nodes.Node]:
        tested, lines = tests_by_row(), []
        for system in dict.fromkeys(row.system for row in coverage.rows()):
            lines += ["", f"## {_title(system)}"]
            for kind, title in KINDS.items():
                rows = [row for row in coverage.rows() if (row.system, row.kind) == (system, kind)]
                if rows:
                    lines += ["", f"**{title}**", "", "| row | about | test |", "|---|---|---|"]
                lines += [
                    f"| {row.row} | {_cell(row.about)} | {_tests(row, tested)} |" for row in rows
                ]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


class CallText(SphinxDirective):
    """The function that hookbus compiles for a hookable of the page's Python blocks."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        page = Path(self.env.doc2path(self.env.docname))
        made = made_by(page.read_text(), page.name)
        first, *rest = self.arguments[0].split(".")
        hookable = reduce(getattr, rest, made[first])
        text = nodes.literal_block(text=(explain(hookable, source=True).source or "").strip("\n"))
        text["language"] = "python"
        return [text]


@cache
def made_by(page: str, name: str) -> dict[str, Any]:
    """Return the names that the Python of a page defines."""
    lines, is_code = [], False
    for line in page.splitlines():
        is_end = line.startswith("```")
        lines.append(line if is_code and not is_end else "")
        is_code = line == "```python" or (is_code and not is_end)
    made: dict[str, Any] = {"__name__": Path(name).stem, "print": lambda *values: None}
    exec(compile("\n".join(lines), name, "exec"), made)
    return made


def tests_by_row() -> dict[tuple[str, str], list[str]]:
    """Return the tests of every row, as `python -m tests.systems.coverage` counts them."""
    known: dict[str, set[str]] = defaultdict(set)
    for row in coverage.rows():
        known[row.system].add(row.row)
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for _, name in coverage.tests():
        system, rows = coverage.covered_by(name, known) or ("", [])
        for each in rows:
            found[system, each].append(name)
    return found


def _state(row: coverage.Row, tested: dict[tuple[str, str], list[str]]) -> int:
    return 0 if (row.system, row.row) in tested else 1 if row.excused else 2


def _title(system: str) -> str:
    return TITLES.get(system, system)


def _cell(text: str) -> str:
    return re.sub(r"([|*_<`\[])", r"\\\1", text)


def _tests(row: coverage.Row, tested: dict[tuple[str, str], list[str]]) -> str:
    names = tested.get((row.system, row.row), [])
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return (
        f"`{names[0]}`{more}"
        if names
        else f"left out: {_cell(row.excused)}"
        if row.excused
        else "none yet"
    )


def indent_code(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Show the indented parts of a docstring as code."""
    for number in range(len(lines) - 2, -1, -1):
        is_code = (
            not lines[number + 1].strip()
            and number + 2 < len(lines)
            and lines[number + 2].startswith("    ")
        )
        if is_code and lines[number].strip() and not lines[number].startswith("    "):
            lines[number + 1 : number + 2] = ["", "::", ""]


def name_defaults(
    app: Sphinx, what: str, name: str, obj: Any, options: object, signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:  # fmt: skip
    """Show the default values of attrs classes instead of the code that attrs generates."""
    if signature and isinstance(obj, type) and attrs.has(obj):
        fields = attrs.fields_dict(obj)
        signature = re.sub(
            r"attr_dict\['(\w+)'\]\.default", lambda found: repr(fields[found[1]].default),
            signature,
        )  # fmt: skip
        signature = signature.replace("= NOTHING", "= ...")
    return signature, returns


def find_public(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Node
) -> nodes.Node | None:
    """Link a name of a private module to the public name that documents it."""
    name = str(node.get("reftarget", "")).rpartition(".")[2]
    objects: dict[str, Any] = env.domains.python_domain.objects
    for public in sorted((each for each in objects if each.rpartition(".")[2] == name), key=len):
        if node.get("refdomain") == "py":
            return env.domains.python_domain.resolve_xref(
                env,
                node["refdoc"],
                app.builder,
                objects[public].objtype,
                public,
                node,
                content,  # type: ignore[arg-type]
            )
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("systems-totals", SystemsTotals)
    app.add_directive("systems-rows", SystemsRows)
    app.add_directive("call-text", CallText)
    app.connect("autodoc-process-docstring", indent_code, priority=400)
    app.connect("autodoc-process-signature", name_defaults)
    app.connect("missing-reference", find_public)
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    for name in OVERLOADED:
        overloaded = ModuleAnalyzer.for_module(name)
        overloaded.analyze()
        overloaded.overloads.clear()
    return {"parallel_read_safe": True}
