"""The committed outputs of the notebooks: `python -m tests.examples.outputs --write`.

    python -m tests.examples.outputs              compare with a fresh run; exit 1 if they differ
    python -m tests.examples.outputs --write      run the notebooks and store their outputs
    python -m tests.examples.outputs --write 01   only the notebooks whose name begins with 01

A stored output stays as it is while the fresh one differs in times, ids, addresses and paths only.
"""

from __future__ import annotations

import argparse
import re
import sys
from copy import copy
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from .run import EXAMPLES, notebooks, run_notebook

if TYPE_CHECKING:
    import nbformat

PROGRESS = re.compile(r"[\d.]+ (ms|s): ")
"""A line that a running cell shows after half a second: a slow machine shows more of them."""

WATERFALL = re.compile(r"\d+ calls? in ")
OPENING = re.compile(r"```text\n(.*?)```", re.DOTALL)

MASKS = (
    (r"\b\d[\d.]* ?(ns|µs|ms|s|seconds)\b", "TIME"),
    (r"\b0x[0-9a-f]+", "ADDRESS"),
    (r"[█-▏│]+", ""),  # the bars of a waterfall
    (r"\s+", ""),  # text wraps elsewhere where a time or a path is longer
    (r"(/[\w.-]+)*/ipykernel_\d+/\d+\.py", "CELL"),
    (r"(/[\w.-]+)*/tmp[\w-]{6,}/", "FOLDER/"),
)
MARKUP = re.compile(r"<style>.*?</style>|<[^>]*>", re.DOTALL)

LOCAL_PATH = re.compile(r"(?<![\w.])/(home|root|Users|work|builds)/")


def masked(text: str) -> str:
    """Return a text without what differs from run to run."""
    for pattern, replacement in MASKS:
        text = re.sub(pattern, replacement, text)
    return text


def kept_outputs(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the outputs of a cell as they are stored: pieces of a stream joined, no progress."""
    kept: list[nbformat.NotebookNode] = []
    for output in map(copy, cell.outputs):
        if PROGRESS.match(output.get("data", {}).get("text/plain", "")):
            continue
        name = output.get("name")
        if name and kept and kept[-1].get("name") == name:
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def lines_of(cell: nbformat.NotebookNode) -> list[str]:
    """Return the outputs of a cell, masked: the lines of each stream, then the pictures."""
    outputs, found = kept_outputs(cell), []
    for name in ("stdout", "stderr"):
        text = "".join(output.text for output in outputs if output.get("name") == name)
        found += [f"{name}: {masked(line)}" for line in text.splitlines()]
    for data in (output.get("data", {}) for output in outputs):
        if "text/html" in data:  # and not its text/plain, whose tables wrap by width
            found.append(f"text/html: {masked(MARKUP.sub(' ', data['text/html']))}")
        else:
            found += [f"{kind}: {masked(text)}" for kind, text in sorted(data.items())]
    return found


def opening_of(notebook: nbformat.NotebookNode) -> str:
    """Return the text block of the first cell, which shows what the reader will see."""
    return "".join(OPENING.findall(notebook.cells[0].source)[:1])


def is_waterfall(text: str) -> bool:
    return not text or WATERFALL.match(text) is not None


def waterfall_of(fresh: nbformat.NotebookNode) -> str:
    """Return the first waterfall of a run, as text: one with a block if there is one."""
    found = [text for text in texts_of(fresh) if WATERFALL.match(text)]
    return next((text for text in found if " blocked" in text), "".join(found[:1]))


def texts_of(fresh: nbformat.NotebookNode) -> list[str]:
    """Return every output of a run as text."""
    outputs = [output for cell in fresh.cells for output in cell.get("outputs", [])]
    return [
        output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs
    ]


def opening_problems(stored: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> list[str]:
    """Return what the first cell shows, and a fresh run does not."""
    opening = opening_of(stored)
    if is_waterfall(opening):
        return [opening] if masked(opening) != masked(waterfall_of(fresh)) else []
    printed = "\n".join(texts_of(fresh)).splitlines()
    return [line for line in opening.splitlines() if line not in printed]


def differences(path: Path, fresh: nbformat.NotebookNode) -> list[str]:
    """Return how the outputs of a fresh run differ from those stored in the file."""
    found = []
    stored = notebooks.nbformat.read(path, as_version=4)
    found += [f"{path.name} opens with: {each}" for each in opening_problems(stored, fresh)]
    for number, (old, new) in enumerate(zip(stored.cells, fresh.cells), 1):
        if old.cell_type == "code":
            where = f"{path.name}, cell {number}"
            names = f"{where}, stored", f"{where}, fresh"
            found += unified_diff(lines_of(old), lines_of(new), *names, lineterm="", n=0)
    return found


def store(path: Path, fresh: nbformat.NotebookNode) -> bool:
    """Store the outputs of a fresh run in the file, and return whether that changed it."""
    stored = notebooks.nbformat.read(path, as_version=4)
    before = notebooks.nbformat.writes(stored)
    code = [(old, new) for old, new in zip(stored.cells, fresh.cells) if old.cell_type == "code"]
    for number, (old, new) in enumerate(code, 1):
        if lines_of(old) != lines_of(new):
            old.outputs = kept_outputs(new)
        old.execution_count = number
        for output in old.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    if is_waterfall(opening_of(stored)) and opening_problems(stored, fresh):
        stored.cells[0].source = OPENING.sub(
            lambda _: f"```text\n{waterfall_of(fresh).rstrip()}\n```",
            stored.cells[0].source,
            count=1,
        )
    if notebooks.nbformat.writes(stored) != before:
        notebooks.nbformat.write(stored, path)
        return True
    return False


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.examples.outputs")
    parser.add_argument("--write", action="store_true", help="store the fresh outputs")
    parser.add_argument("names", nargs="*", help="how the names of the notebooks begin")
    options = parser.parse_args(arguments)
    failed = False
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        if options.names and not path.name.startswith(tuple(options.names)):
            continue
        with TemporaryDirectory() as folder:
            fresh = run_notebook(path, Path(folder))
        if options.write:
            print(f"{path.name}: {'written' if store(path, fresh) else 'unchanged'}", flush=True)
        else:
            found = differences(path, fresh)
            print(*found or [f"{path.name}: as stored"], sep="\n", flush=True)
            failed = failed or bool(found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
