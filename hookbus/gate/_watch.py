"""Notices that the settings, the rules, the plugins or hookbus itself have changed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

Stamp = tuple[int, int, int, int, int]
"""A file's modification time and change time, its size, inode number and device. No program can set
the change time back, which also changes if the file is moved or renamed.
"""

_PACKAGE = Path(__file__).parent.parent
_BESIDE = re.compile(r"(-wal|-shm|-journal|-(spool|damaged)-[0-9a-f]{16}(-\d+)?)?")
"""The suffixes of the files that SQLite and a journal write beside a database."""


class Watch:
    """The files from which a server has loaded its code and settings. Add each file before reading
    it.

    Attributes:
        written: the databases that the server itself writes, which are ignored.
    """

    def __init__(self) -> None:
        self.written: tuple[str, ...] = ()
        self._files: dict[str, Stamp | None] = {}
        self._folders: dict[str, dict[str, Stamp | None]] = {}
        self.add(_PACKAGE / "__init__.py", *(_PACKAGE / "gate").glob("*.py"))

    def add(self, *files: str | Path) -> None:
        """Watch files."""
        self._files |= {os.fspath(each): _stamp(each) for each in files}

    def add_folder(self, folder: str | Path) -> None:
        """Watch all files of a folder, at any depth."""
        self._folders[os.fspath(folder)] = self._below(folder)

    def has_changed(self) -> bool:
        """Return whether any file has been changed, created or removed since it was added."""
        return any(_stamp(path) != stamp for path, stamp in self._files.items()) or any(
            self._below(folder) != stamps for folder, stamps in self._folders.items()
        )

    def _below(self, folder: str | Path) -> dict[str, Stamp | None]:
        return {path: _stamp(path) for path in _paths_below(folder) if not self._is_written(path)}

    def _is_written(self, path: str) -> bool:
        return any(
            path.startswith(each) and _BESIDE.fullmatch(path, len(each)) for each in self.written
        )


def _paths_below(folder: str | Path) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if each != "__pycache__"]
        yield from (os.path.join(path, name) for name in files)


def _stamp(path: str | Path) -> Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    times = found.st_mtime_ns, found.st_ctime_ns
    return *times, found.st_size, found.st_ino, found.st_dev


def files_of(modules: Iterable[ModuleType]) -> list[str]:
    """Return the files of modules that belong neither to Python nor to hookbus."""
    standard, ours = os.path.dirname(os.__file__) + os.sep, str(_PACKAGE) + os.sep
    found = [getattr(each, "__file__", None) for each in modules]
    return [
        path for path in found
        if isinstance(path, str) and not path.startswith(ours)
        and ("site-packages" in path or not path.startswith(standard))
    ]  # fmt: skip


def modules_since(before: Iterable[str]) -> list[ModuleType]:
    """Return the modules that were imported after the given modules."""
    known = set(before)
    return [module for name, module in list(sys.modules.items()) if name not in known]
