"""The notebooks run from top to bottom, print what they say, draw, and hold their outputs."""

import os
import re

import pytest

from .outputs import LOCAL_PATH, differences, masked, opening_of, store
from .run import EXAMPLES, notebooks, promised, run_notebook

NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
ALL = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
HERE = [
    path
    for path in NOTEBOOKS
    if not path.stem.endswith(("systems", "frameworks"))
    or os.environ.get("HOOKBUS_SYSTEM") == "all"
]
"""Those of the systems and frameworks need environments (`python -m tests.systems.install`), and
say so by failing.
"""


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == [
        "01_first_hook", "02_guard_a_tool", "03_streaming_and_around", "04_five_systems",
        "05_an_attack_stopped", "06_a_plugin", "07_six_frameworks",
    ]  # fmt: skip


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.stem)
def test_a_notebook_runs_in_a_fresh_kernel_draws_and_gives_its_stored_outputs(path, tmp_path):
    notebook = run_notebook(path, tmp_path)
    command = "`python -m tests.examples.outputs --write` stores the outputs anew"
    assert not (found := differences(path, notebook)), "\n".join([command, *found])
    outputs = [
        output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    ]
    said = "".join(output.text for output in outputs if output.get("name") == "stderr")
    # A guard that fails is logged.
    assert all(" failed, " in line and "are not logged)" in line for line in said.splitlines())
    pages = [page for output in outputs if (page := output.get("data", {}).get("text/html"))]
    assert any("<svg" in page and 'class="hookbus"' in page for page in pages), "it shows pictures"
    assert not re.search(r"<script|https?://", "".join(pages))


@ALL
def test_a_notebook_is_stored_with_the_outputs_of_one_run(path):
    notebook = notebooks.nbformat.read(path, as_version=4)
    notebooks.nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)], (
        f"store its outputs: `python -m tests.examples.outputs --write {path.stem}`"
    )
    outputs = [output for cell in code for output in cell.outputs]
    assert outputs and not LOCAL_PATH.search(str(outputs)), "no path of this machine is stored"
    assert all(cell.metadata == {} and "attachments" not in cell for cell in notebook.cells)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}


@ALL
def test_a_notebook_has_its_parts_and_reads_in_ten_minutes(path):
    notebook = notebooks.nbformat.read(path, as_version=4)
    cells = notebook.cells
    assert re.match(r"# .+\n\n\*\*[^*]+[.]\*\*\n", cells[0].source), (
        "a title, and one sentence of purpose"
    )
    assert "\n\nYou will see " in cells[0].source and opening_of(notebook), "and a picture"
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert "## What you can do now\n" in "".join(texts[-2:]) and "## Exercise\n" in texts[-1]
    assert "<details><summary>One answer</summary>" in texts[-1]
    assert sum(len(cell.source.split()) for cell in cells) < 1800
    assert max(len(cell.source.splitlines()) for cell in cells if cell.cell_type == "code") <= 40
    for link in re.findall(r"\]\((\w[^):]+)\)", "".join(texts)):
        assert (EXAMPLES / link).exists(), link


# -- and what is wrong is found --------------------------------------------------------------------


def write(path, *cells):
    made = notebooks.nbformat.v4
    code = [made.new_code_cell(source) for source in cells]
    notebook = made.new_notebook(cells=[made.new_markdown_cell("# Broken"), *code])
    notebooks.nbformat.write(notebook, path)
    return path


def test_a_broken_notebook_is_found_with_its_cell(tmp_path):
    path = write(
        tmp_path / "broken.ipynb", "from hookbus import signal", "signal('not a name')",
        "print('never')",
    )  # fmt: skip
    with pytest.raises(
        AssertionError,
        match=r"(?s)broken\.ipynb, cell 3, failed:.*'not a name'.*must be an identifier",
    ):
        run_notebook(path, tmp_path)


def test_a_notebook_that_lies_is_found_with_its_cell(tmp_path):
    path = write(tmp_path / "lies.ipynb", "print(1)  # 1", "print(2)\nprint(3)\n# 2\n# 4")
    with pytest.raises(
        AssertionError,
        match=r"lies\.ipynb, cell 3: these were not printed, or not in this order: \['4'\]",
    ):
        run_notebook(path, tmp_path)


def test_a_notebook_that_needs_a_network_is_found(tmp_path):
    path = write(
        tmp_path / "calls.ipynb",
        "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=5)",
    )
    with pytest.raises(AssertionError, match=r"(?s)calls\.ipynb, cell 2.*must not need a network"):
        run_notebook(path, tmp_path)


def test_an_answer_that_is_wrong_is_found(tmp_path):
    path = write(tmp_path / "answer.ipynb", "x = 1")
    notebook = notebooks.nbformat.read(path, as_version=4)
    folded = "<details>\n\n```python\nprint(x)  # 2\n```\n\n</details>"
    notebook.cells.append(notebooks.nbformat.v4.new_markdown_cell(folded))
    notebooks.nbformat.write(notebook, path)
    with pytest.raises(AssertionError, match=r"answer\.ipynb, cell 4: these were not printed"):
        run_notebook(path, tmp_path)


def test_stored_outputs_may_differ_in_times_addresses_and_paths_only(tmp_path):
    print_it = "import os; print(f'{os.getpid() % 7 + 1} ms at {id(os):#x}'); print('one')"
    path = write(tmp_path / "times.ipynb", print_it)
    assert store(path, run_notebook(path, tmp_path))
    stored = path.read_text()
    fresh = run_notebook(path, tmp_path)
    assert differences(path, fresh) == [] and not store(path, fresh)
    path.write_text(stored.replace('"one\\n"', '"two\\n"'))
    assert [line for line in differences(path, fresh) if line[1:7] == "stdout"] == [
        "-stdout: two", "+stdout: one",
    ]  # fmt: skip


def test_an_opening_that_shows_what_no_cell_prints_is_found(tmp_path):
    path = write(tmp_path / "opens.ipynb", "print('one')")
    notebook = notebooks.nbformat.read(path, as_version=4)
    notebook.cells[0].source += "\n\n```text\none\ntwo\n```"
    notebooks.nbformat.write(notebook, path)
    fresh = run_notebook(path, tmp_path)
    store(path, fresh)
    assert differences(path, fresh) == ["opens.ipynb opens with: two"]


def test_what_is_masked_in_an_output():
    assert masked("3.2 ms x  █│ y") == masked("17 µs x y")
    assert masked("/tmp/ipykernel_1/2.py:3") == masked("/var/f/T/ipykernel_7/99.py:3")
    assert masked("/tmp/tmpah39fmhf/a.py") == masked("/var/f/tmp_12345x/a.py")
    assert masked("12 calls") != masked("13 calls")


def test_what_a_cell_promises_are_its_comments_behind_prints_and_at_its_end():
    assert promised("# 0\nprint(1)  # 1\nx = 2  # no\nprint(x)\n# 2\n# 3") == ["1", "2", "3"]
    assert promised("x = 1") == []
