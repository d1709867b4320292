"""The command `hookbus` where its extras are not installed, and the version it is."""

import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hookbus
from hookbus import cli
from hookbus._cli.app import made

ROOT = Path(__file__).parent.parent


def hooked(*words, without=()):
    """Run `python -m hookbus`, with some packages as if they were not installed."""
    missing = "".join(f"sys.modules[{name!r}] = None; " for name in without)
    program = (
        f"import runpy, sys; {missing}sys.argv[1:] = {words!r}; "
        "runpy.run_module('hookbus', run_name='__main__')"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize("without", [(), ("cyclopts", "rich")], ids=["as it is", "no extras"])
def test_it_says_its_version(without):
    assert hooked("--version", without=without) == (0, f"{hookbus.__version__}\n", "")


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("demo", "--help")])
def test_help_without_extras_says_which_one_each_command_needs(words):
    code, out, err = hooked(*words, without=("cyclopts", "rich"))
    assert (code, err) == (0, "")
    commands = [name for name in made("", cli.demo) if name.isalpha()]
    assert len(commands) >= 7
    for command in commands:
        assert re.search(rf"^  {command} +pip install 'hookbus\[[\w,]+\]'", out, re.M)


@pytest.mark.parametrize("words, extra", [
    (("demo",), "demo"), (("demo", "--suite", "banking"), "demo"), (("hooks", "x"), "cli"),
])  # fmt: skip
def test_what_needs_an_extra_says_so_and_does_nothing(words, extra):
    code, out, err = hooked(*words, without=("cyclopts", "rich"))
    assert (code, out) == (2, "")
    assert f"hookbus {words[0]} needs" in err
    assert f"pip install 'hookbus[{extra}]'" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("word", ["nope", "--nope"])
def test_a_command_that_there_is_not_needs_no_extra(word):
    code, out, err = hooked(word, without=("cyclopts", "rich"))
    assert (code, out) == (2, "")
    assert err == f"hookbus has no command {word!r}: see hookbus --help\n"


def test_what_an_option_needs_is_named_by_its_own_extra(tmp_path):
    (tmp_path / "script.py").write_text("print('never')")
    words = "run", "--otel", str(tmp_path / "script.py")
    code, out, err = hooked(*words, without=("opentelemetry",))
    assert (code, out) == (2, "")
    assert "pip install 'hookbus[otel]'" in err


def test_a_module_of_hookbus_that_is_missing_is_no_missing_extra():
    code, _, err = hooked("demo", "--help", without=("hookbus.exceptions",))
    assert code == 1
    assert "Traceback" in err


def test_importing_the_command_runs_nothing():
    ran = subprocess.run(
        [sys.executable, "-c", "import hookbus.__main__"], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_version_is_written_once_and_the_changelog_begins_with_it():
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    assert config["metadata"]["version"] == "attr: hookbus.__version__"
    changelog = (ROOT / "CHANGELOG.md").read_text()
    heading, introduction = re.search(r"^## (.*)\n\n(.*)", changelog, re.M).groups()
    newest = introduction if heading == "Unreleased" else heading
    assert re.findall(r"\d+\.\d+\.\d+", newest)[:1] == [hookbus.__version__]


def test_every_python_that_is_promised_is_tested_before_a_release():
    setup, workflow = (ROOT / "setup.cfg").read_text(), ROOT / ".github" / "workflows" / "ci.yml"
    promised = re.findall(r"Python :: (3\.\d+)", setup)
    [tested] = re.findall(r"python: \[(.*)\]", workflow.read_text())
    assert promised
    assert {f'"{version}"' for version in promised} <= {*tested.split(", ")}
