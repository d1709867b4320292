"""Opens the journal that a command reads, and queries it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from cyclopts import Parameter

from .. import HookError
from .._program.settings import Settings, find_settings, find_user_file, read_settings

if TYPE_CHECKING:
    from ..journal import Journal


def name_file_of_gate(key: str) -> str:
    """Return the end of an error message that names a file of `hookbus gate`, whose settings other
    commands do not search for.

    Args:
        key: the key of the file in the settings: `journal` or `approvals`.

    Returns:
        An empty string if the gate has no settings or if the file does not exist.
    """
    try:
        file = getattr(read_settings(find_user_file()), key)
        return f"; hookbus gate uses {file}" if file is not None and file.is_file() else ""
    except (HookError, OSError, RuntimeError):  # the home is not known, or is not readable
        return ""


@Parameter(name="*")
@attrs.frozen
class Read:
    """The journal to read."""

    journal: Path | None = None
    """the file of the journal. Default: HOOKBUS_JOURNAL, or the file in the settings."""

    def file(self) -> Path:
        """Return the path of the journal.

        Raises:
            HookError: if no journal is configured.
        """
        named = named_journal(self.journal)
        if named is None:
            raise HookError(
                "no journal is configured: pass --journal FILE, or set "
                f"journal = \"FILE\" in [tool.hookbus]{name_file_of_gate('journal')}"
            )
        return named

    def opened(self) -> Journal:
        """Return the journal, open for reading. Recover the records of killed processes first.

        Raises:
            HookError: if the journal does not exist or cannot be read.
        """
        from ..journal import Journal
        from ..journal._recovery import has_left_spools

        file = self.file()
        if not file.is_file():
            raise HookError(
                f"the journal {file} does not exist: create it with hookbus run --journal"
            )
        journal = Journal.reading(file)
        with suppress(HookError, OSError):  # this user may only read
            if has_left_spools(journal.path):
                Journal(file).close()
        return journal


def named_journal(option: Path | None, settings: Settings | None = None) -> Path | None:
    """Return the journal of the option, of HOOKBUS_JOURNAL, or of the settings, in this order."""
    if option is None and (path := os.environ.get("HOOKBUS_JOURNAL")):
        return Path(path)
    return option or (settings or find_settings()).journal


ANY_FILE = Read()
"""The journal in the settings."""


def check_place(file: Path) -> None:
    """Check whether a file can be created, before any work starts.

    Raises:
        HookError: if the file's folder does not exist, or if the path is a folder.
    """
    if file.is_dir():
        raise HookError(f"{file} is a folder: pass the path of a file")
    if not file.parent.is_dir():
        raise HookError(f"the folder {file.parent} does not exist: create it first")


def asked(journal: Journal, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows that an SQL query selects in a journal.

    Raises:
        HookError: if the file cannot be read.
    """
    from ..journal._file import reading

    with reading(journal.path) as db:
        return db.execute(statement, values).fetchall()
