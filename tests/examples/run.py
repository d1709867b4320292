"""Run notebooks and scripts as a new user would: in a fresh process, without a network or keys."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hookbus

if TYPE_CHECKING:
    import nbformat


class Notebooks:
    """The packages `nbformat` and `nbclient`, each imported when a test first uses it, because that
    takes seconds.
    """

    def __getattr__(self, name: str) -> Any:
        return importlib.import_module(name)


notebooks = Notebooks()
EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 180

NO_NETWORK = """
import sys

def refuse(event, args):
    host = args[0] if "addrinfo" in event else None
    if event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    if host not in (None, "", "localhost", "127.0.0.1", "::1"):
        raise PermissionError(f"an example must not need a network: {event} {host}")

sys.addaudithook(refuse)
"""


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which Python finds this hookbus, no network and no key."""
    (folder / "sitecustomize.py").write_text(NO_NETWORK)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not re.search("KEY|TOKEN|SECRET|PASSWORD", name.upper())
    }
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(folder), str(Path(hookbus.__file__).parents[1])]),
        "PYTEST_ADDOPTS": "-p no:langsmith_plugin",  # which takes seconds to import
    }


def run_script(path: Path, folder: Path, typed: str = "") -> list[str]:
    """Run a script with something typed, and return the lines it prints."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", path], input=typed, capture_output=True, text=True,
        timeout=SECONDS, cwd=folder,
        env=environment(folder),
    )  # fmt: skip
    assert ran.returncode == 0, f"{path.name}:\n{ran.stderr}"
    return ran.stdout.splitlines()


def run_notebook(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Run a notebook, where it stands, and the answer of its exercise in a kernel of its own;
    return it with what its cells gave.

    Raises:
        AssertionError: naming the cell that failed, or that did not print what its comments say.
    """
    nbclient, nbformat = notebooks.nbclient, notebooks.nbformat
    notebook = nbformat.read(path, as_version=4)
    notebook.cells += [nbformat.v4.new_code_cell(answer) for answer in answers(notebook)]
    client = nbclient.NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )  # fmt: skip
    with client.setup_kernel(env=environment(folder)):
        for number, cell in enumerate(notebook.cells, 1):
            try:
                client.execute_cell(cell, number - 1)
            except nbclient.exceptions.CellExecutionError as error:
                raise AssertionError(f"{path.name}, cell {number}, failed:\n{error}") from None
            if cell.cell_type == "code":
                check_prints(f"{path.name}, cell {number}", cell)
    return notebook


def answers(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the code that is folded away in a notebook's text: the answers of its exercises."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    folded = re.findall(r"<details>.*?</details>", text, re.DOTALL)
    return [code for each in folded for code in re.findall(r"```python\n(.*?)```", each, re.DOTALL)]


def check_prints(where: str, cell: nbformat.NotebookNode) -> None:
    printed = [line.strip() for line in printed_by(cell)]
    rest = iter(printed)
    missing = [line for line in promised(cell.source) if line not in rest]
    assert not missing, (
        f"{where}: these were not printed, or not in this order: {missing}; printed were {printed}"
    )


def printed_by(cell: nbformat.NotebookNode) -> list[str]:
    return "".join(
        output.text for output in cell.outputs if output.get("name") == "stdout"
    ).splitlines()


def promised(source: str) -> list[str]:
    """Return what a cell says it prints: the comments behind its prints, then those at its end."""
    lines = source.strip().splitlines()
    behind = [
        line.rsplit("  # ", 1)[1].strip() for line in lines if "print(" in line and "  # " in line
    ]
    last = next(
        (place for place in range(len(lines), 0, -1) if not lines[place - 1].startswith("# ")), 0
    )
    return [*behind, *(line[2:].strip() for line in lines[last:])]
