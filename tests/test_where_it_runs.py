"""What the pages, the package and the workflow claim is what was run, and where."""

import configparser
import re

from . import where_it_runs
from .where_it_runs import ROOT


def pythons(by, what=""):
    """Return the versions of Python on which somebody runs something."""
    named = [row.python for row in where_it_runs.rows() if row.by == by and what in row.what]
    return sorted({version for each in named for version in spread(each)})


def spread(text):
    """Return "3.11 to 3.13" as three versions."""
    first, _, last = text.partition(" to ")
    return [f"3.{minor}" for minor in range(int(first[2:]), int((last or first)[2:]) + 1)]


def test_the_page_is_what_the_command_makes():
    made = where_it_runs.page()
    assert where_it_runs.PAGE.read_text() == made, "python -m tests.where_it_runs --write"


def test_a_python_is_in_the_classifiers_where_the_core_s_tests_run_on_every_change():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    claimed = re.findall(r"Python :: (3\.\d+)", setup["metadata"]["classifiers"])
    assert claimed == pythons(".ci/run")


def test_every_change_and_the_workflow_run_the_pythons_that_the_table_names():
    run = (ROOT / ".ci" / "run").read_text()
    others = [each for names in re.findall(r"^for version in (.*); do$", run, re.M)
              for each in names.split()]  # fmt: skip
    assert ["3.11", *others] == pythons(".ci/run")
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    [matrix] = re.findall(r"^ +python: \[(.*)\]$", workflow, re.M)
    assert re.findall(r"3\.\d+", matrix) == pythons("GitHub")


def test_the_front_pages_name_the_first_and_the_last_python():
    first, *_, last = pythons(".ci/run")
    for page in ("README.md", "docs/index.md"):
        assert f"Python {first} to {last}" in (ROOT / page).read_text()
