"""The journal a command reads, and what it is asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from cyclopts import Parameter

from .. import HookError
from .settings import Settings, find_settings

if TYPE_CHECKING:
    from ..journal import Journal


@Parameter(name="*")
@attrs.frozen
class Read:
    """Which journal is read."""

    journal: Path | None = None
    """The file of the journal; else HOOKBUS_JOURNAL, else the one that the settings name."""

    def file(self) -> Path:
        """Return the file.

        Raises:
            HookError: if none is named.
        """
        named = named_journal(self.journal)
        if named is None:
            raise HookError(
                "no journal is named: give --journal FILE, or journal = \"FILE\" in [tool.hookbus]"
            )
        return named

    def opened(self) -> Journal:
        """Return the journal, open to be read.

        Raises:
            HookError: if it is not there or cannot be read.
        """
        from ..journal import Journal

        file = self.file()
        if not file.is_file():
            raise HookError(f"there is no journal {file}: hookbus run --journal makes one")
        return Journal.reading(file)


def named_journal(option: Path | None, settings: Settings | None = None) -> Path | None:
    """Return the journal that the option names, else HOOKBUS_JOURNAL, else the settings."""
    if option is None and (said := os.environ.get("HOOKBUS_JOURNAL")):
        return Path(said)
    return option or (settings or find_settings()).journal


ANY_FILE = Read()
"""The journal that the settings name."""


def check_place(file: Path) -> None:
    """Look whether a file can be made, before anything is.

    Raises:
        HookError: if there is no folder for it, or it is one.
    """
    if file.is_dir():
        raise HookError(f"{file} is a folder: name a file")
    if not file.parent.is_dir():
        raise HookError(f"there is no folder {file.parent}: name a file in one that is there")


def asked(journal: Journal, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows that a journal has for a piece of SQL.

    Raises:
        HookError: if the file cannot be read.
    """
    from ..journal._file import reading

    with reading(journal.path) as db:
        return db.execute(statement, values).fetchall()
