"""What each extra of `setup.cfg` installs: `extras.tsv` as a page of the documentation.

    python -m tests.extras                     print the page
    python -m tests.extras --write             put it into docs/reference/extras.md
    python -m tests.extras --measure NAME ...  install these extras, or all, and note their sizes

An extra is measured in an empty folder, with the newest releases that fit the running Python, and
without byte code. With `uv` on the PATH this takes minutes, with pip alone an hour.
"""

import csv
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from .package_metadata import ROOT, SETUP, extras

ROWS: Final = ROOT / "tests" / "extras.tsv"
PAGE: Final = ROOT / "docs" / "reference" / "extras.md"
CORE: Final = SETUP["options"]["install_requires"].split()
CORE_NAMES: Final = ("hookbus", "blinker", "attrs")
WITHOUT_EXTRAS: Final = "hookbus"
"""The row of hookbus itself, with the packages that it always needs."""

MEASURED: Final = "November 2026"
"""When the sizes in the file were measured."""

HEAD: Final = """\
# Extras and the packages they install

`pip install hookbus` installs hookbus, blinker and attrs: {packages} packages, {megabytes} MB.
Everything else is an extra, so you install only what you use:
`pip install 'hookbus[guards,approvals,cli]'`.

The columns *packages* and *size* show what an extra adds to an empty environment, with the newest
releases in {month}, on Linux with Python 3.12 and without bytecode. Packages that are already
installed, such as your framework, add nothing. Extras share packages, so you cannot add up their
sizes.
"""
TAIL: Final = """\
`python -m tests.extras --write` generates this page from `tests/extras.tsv`. `python -m
tests.extras --measure` measures the sizes again.
"""
ABOUT: Final = {
    "Features": "If you use a feature whose extra is not installed, the error message names the "
    "extra.",
    "Frameworks": "Each extra requires the releases that its adapter was tested with. The adapter "
    "itself is part of hookbus.",
    "Development": "You need these extras only to work on hookbus itself.",
}


class Row(NamedTuple):
    """An extra.

    Attributes:
        extra: its name.
        group: the heading that it is under.
        gives: what you can do with it.
        why: why it needs these libraries.
        packages: how many packages come on top of hookbus, blinker and attrs.
        megabytes: their size once they are installed.
    """

    extra: str
    group: str
    gives: str
    why: str
    packages: str
    megabytes: str


def rows() -> list[Row]:
    """Return a row for each extra, in the order of the file."""
    with ROWS.open(newline="", encoding="utf-8") as lines:
        _, *found = csv.reader(lines, delimiter="\t")
    return [Row(*fields) for fields in found]


def measure(extra: str) -> tuple[int, float]:
    """Install an extra into an empty folder, and return how many packages it adds and their size.

    Raises:
        RuntimeError: if pip cannot install them.
    """
    is_core = extra == WITHOUT_EXTRAS
    requirements = [str(ROOT)] if is_core else [*CORE, *extras()[extra]]
    with TemporaryDirectory() as folder:
        command = [*_installer(), "-q", "--target", folder, *requirements]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(ran.stderr.strip()[-2000:])
        sizes = {
            each.metadata["Name"].lower(): sum(file.size or 0 for file in each.files or ())
            for each in distributions(path=[folder])
        }
    added = [size for name, size in sizes.items() if is_core or name not in CORE_NAMES]
    return len(added), sum(added) / 1e6


def _installer() -> list[str]:
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install", "--no-compile"]


def note(names: list[str]) -> None:
    """Measure extras, and write each result into the file at once."""
    for name in names or [row.extra for row in rows()]:
        packages, megabytes = measure(name)
        size = "under 0.1" if megabytes < 0.1 else f"{megabytes:.{int(megabytes < 10)}f}"
        changed = [
            row._replace(packages=str(packages), megabytes=size) if row.extra == name else row
            for row in rows()
        ]
        with ROWS.open("w", newline="", encoding="utf-8") as lines:
            write = csv.writer(lines, delimiter="\t", lineterminator="\n")
            write.writerows([Row._fields, *changed])
        print(name, packages, "packages", size, "MB", flush=True)


def page() -> str:
    """Return the text of the page."""
    [core] = [row for row in rows() if row.extra == WITHOUT_EXTRAS]
    parts = [HEAD.format(packages=core.packages, megabytes=core.megabytes, month=MEASURED)]
    for group, about in ABOUT.items():
        table = ["| extra | for | packages | size | why these packages |", "|---|---|---|---|---|"]
        table += [
            f"| `{row.extra}` | {row.gives} | {row.packages} | {row.megabytes} MB | {row.why} |"
            for row in rows() if row.group == group
        ]  # fmt: skip
        parts.append("\n".join([f"## {group}", "", about, "", *table, ""]))
    return "\n".join([*parts, TAIL])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--write"]:
            PAGE.write_text(page(), encoding="utf-8")
        case ["--measure", *names]:
            note(names)
        case _:
            print(page(), end="")
