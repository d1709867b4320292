"""The reference of the command line, generated from the `--help` of each command.

python -m tests.cli.reference --write    put it into docs/reference/cli.md
"""

import io
import os
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

from hookbus import cli
from hookbus._cli.app import made

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "cli.md"
PLACE = re.compile(r"(?<=<!-- help -->\n).*", re.DOTALL)


def commands():
    """Return the words of every command."""
    found = []
    for name in made("", cli.demo):
        if name.isalpha():
            inner = [each for each in made("", cli.demo)[name] if each.isalpha()]
            found += [(name,), *((name, each) for each in inner)]
    return found


def help_of(words):
    """Return what a command says for `--help`, in 80 columns."""
    said, columns = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    try:
        with redirect_stdout(said):
            assert cli.main([*words, "--help"]) == 0
    finally:
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
    return "\n".join(line.rstrip() for line in said.getvalue().strip().splitlines())


def reference():
    """Return the part of the page that is made."""
    return "".join(
        f"\n## `hookbus {' '.join(words)}`\n\n```text\n{help_of(words)}\n```\n"
        for words in commands()
    )


def words_in(text):
    """Return a text without what cyclopts draws around it."""
    return re.sub(r"[^\w\s<>=./:;,()'\[\]-]", " ", text).split()


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(PLACE.sub(lambda _: reference(), PAGE.read_text()))
    else:
        print(reference(), end="")
