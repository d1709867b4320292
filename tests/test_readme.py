"""The README does what it says, the front page of the documentation says the same, and the README
is short, plain and readable on a package index.
"""

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .test_docs import untimed

ROOT = Path(__file__).parent.parent
README, FRONT = (ROOT / "README.md").read_text(), (ROOT / "docs" / "index.md").read_text()
PROGRAM, PRINTED = re.search(
    r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL
).groups()  # fmt: skip
LINK = re.compile(r"(!?)\[[^]]*\]\(([^)]+)\)")
INSTALL = "```console\npip install hookbus\n"
NOT_PROSE = re.compile(r"```.*?```|<!--.*?-->|^\|.*?$|^#.*?$|^!\[.*?\)$", re.DOTALL | re.MULTILINE)
"""Code, comments, tables, headings and pictures."""


def address():
    """Return the address of the repository, which is a setting in one place."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return setup["metadata"].get("url", "https://github.com/hookbus/hookbus")


def prose(text):
    """Return the paragraphs and list items of a page as plain text, links as their words."""
    paragraphs = re.split(r"\n\s*\n|\n(?=- )", NOT_PROSE.sub("\n\n", text))
    words = (LINK.sub(lambda link: re.sub(r"^!?\[(.*)\]\(.*$", r"\1", link[0]), each)
             for each in paragraphs)  # fmt: skip
    plain = (" ".join(re.sub(r"\*\*|^- ", "", each.strip()).split()) for each in words)
    return [each for each in plain if each]


def sentences(text):
    """Return the number of words of each sentence of a page."""
    ends = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"]|hookbus)")
    return [len(each.split()) for part in prose(text) for each in ends.split(part)]


def figures(text):
    """Return what a reader meets on a page, in numbers."""
    counts = sentences(text)
    links = LINK.findall(text)
    return {
        "words of prose": sum(counts),
        "words a sentence": round(sum(counts) / len(counts), 1),
        "longest sentence": max(counts),
        "words before the install line": sum(sentences(text.partition(INSTALL)[0])),
        "pictures": sum(is_picture == "!" for is_picture, _ in links),
        "relative links": sum(not target.startswith("https://") for _, target in links),
    }


def test_the_readme_is_short_plain_and_absolute(capsys):
    found = figures(README)
    with capsys.disabled():
        print("\nREADME: " + ", ".join(f"{name} {number}" for name, number in found.items()))
    assert 500 <= found["words of prose"] <= 650
    assert 10 <= found["words a sentence"] <= 18
    assert found["longest sentence"] <= 30
    assert found["words before the install line"] <= 40
    assert found["pictures"] >= 2
    assert found["relative links"] == 0


def test_the_figures_are_counted_as_a_reader_would():
    page = (
        "# Not counted\n\nFive words are in this. And [two more](docs/a.md).\n\n```python\nx = 1\n"
        "```\n\n| a | b |\n\n<!-- no -->\n![picture](https://example.org/a.png)\n\n- **One** item\n"
        "\n```console\npip install hookbus\n```\n"
    )
    assert figures(page) == {
        "words of prose": 10, "words a sentence": 3.3, "longest sentence": 5,
        "words before the install line": 10, "pictures": 1, "relative links": 1,
    }  # fmt: skip


def test_every_link_into_the_repository_names_a_file_of_it():
    raw = address().replace("//github.com", "//raw.githubusercontent.com")
    inside = re.compile(rf"(?:{address()}/(?:blob|tree)|{raw})/main/([^)#]+)")
    names = inside.findall(README)
    assert len(names) > 10
    assert [name for name in names if not (ROOT / name).exists()] == []
    others = [target for _, target in LINK.findall(README) if not inside.match(target)]
    assert {target for target in others if "hookbus" in target} == {f"{address()}/issues"}


def test_the_program_is_a_guard_of_twelve_lines():
    assert len([line for line in PROGRAM.splitlines() if line]) == 12


def test_the_program_prints_what_is_shown_below_it(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    ran = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=60,
        env=environment,
    )  # fmt: skip
    assert ran.stderr == ""
    assert untimed(ran.stdout) == untimed(PRINTED)


@pytest.mark.parametrize("kind", ["text", "python"], ids=["output", "program"])
def test_the_front_page_shows_the_same(kind):
    of_readme, of_front = (
        re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for page in (README, FRONT)
    )
    assert of_readme and of_readme == of_front


def test_the_commands_make_their_own_environments():
    commands = re.findall(r"<!-- command: \w+ -->\n```console\n(.*?)```", README, re.DOTALL)
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv") for command in commands)
