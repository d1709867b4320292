"""`hookbus demo` on the command line: what it prints, and what bad input gets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hookbus.cli import main


def test_the_demo_runs_from_its_options_to_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "outcomes.json"
    assert main(["demo", "--attack", "direct", "--policy", "tools", "--json", str(file)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "not a model's attack rate" in out
    assert "without hooks" in out and "tools: everyday" in out and "provenance" not in out
    assert "One attack, call by call" in out
    assert len(json.loads(file.read_text())["outcomes"]) == 2 * (16 + 144)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--suite", "bankng"], "unknown suite 'bankng'; did you mean 'banking'?"),
        (
            ["--suite", "x"],
            "unknown suite 'x'; available: all, banking, slack, travel, workspace",
        ),
        (
            ["--attack", "importnt_instructions"],
            "unknown attack 'importnt_instructions'; did you mean 'important_instructions'?",
        ),
        (["--attack", "dos"], "the attack 'dos' injects no instruction that"),
        (["--attack", "manual"], "the attack 'manual' injects no instruction that"),
        (["--policy", "provenence"], "unknown policy 'provenence'; did you mean 'provenance'?"),
        (["--policy", "ask", "--policy", "x"], "unknown policy 'x'"),
        (
            ["--json", "/no/such/folder/outcomes.json"],
            "cannot write to '/no/such/folder/outcomes.json'",
        ),
        (["--json", "."], "cannot write to '.'"),
        (["--sweet", "banking"], "--sweet"),
        (["banking"], "banking"),
    ],
)
def test_bad_input_gets_a_message_and_exit_code_2(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("hookbus: ")
    assert message in err


def test_an_unknown_command_gets_a_message_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dmo"]) == 2
    assert "demo" in capsys.readouterr().err


def test_help_names_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--help"]) == 0
    help_text = capsys.readouterr().out
    for option in ("--suite", "--attack", "--policy", "--json"):
        assert option in help_text


@pytest.mark.parametrize("package", ["cyclopts", "rich", "agentdojo"])
def test_without_the_extra_it_says_how_to_install_it(package: str) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from hookbus.cli import main\nsys.exit(main(['demo']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "pip install 'hookbus[demo]'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_core_imports_none_of_the_extra() -> None:
    program = (
        "import hookbus, hookbus.cli, sys; "
        "print([n for n in ('cyclopts', 'rich', 'agentdojo') if n in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == "[]"
