"""What `setup.cfg` says about the package; pages and other tests read it here."""

import configparser
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SETUP: Final = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg", encoding="utf-8")

AUTHOR: Final = SETUP["metadata"]["author"]
REPOSITORY: Final = SETUP["metadata"]["url"]


def classifiers(kind: str) -> list[str]:
    """Return the classifiers that begin with a word such as "Framework"."""
    lines = SETUP["metadata"]["classifiers"].split("\n")
    return [line for line in lines if line.startswith(f"{kind} :: ")]


def project_urls() -> dict[str, str]:
    """Return the addresses that a package index shows, by their label."""
    lines = SETUP["metadata"]["project_urls"].strip().split("\n")
    return {label: url for label, _, url in (line.partition(" = ") for line in lines)}


def extras() -> dict[str, list[str]]:
    """Return the requirements of each extra, those of the extras it names included."""
    section = SETUP["options.extras_require"]
    return {name: [line for line in section[name].split("\n") if line] for name in section}
