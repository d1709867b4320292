"""A file that is written line by line. Each line is written completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from .. import HookError
from .._external.platform import BINARY, read_at


class Lines:
    """Appends lines to a file, with one write per line, so that written lines survive a crash of
    the process.

    Args:
        path: the file. A missing file is created.
        anew: whether to start with an empty file. In that case, no other process may write to the
            file.

    Attributes:
        size: the size in bytes.
        is_open: whether the file is open.
    """

    def __init__(self, path: str | os.PathLike[str], *, anew: bool = False) -> None:
        self.path = Path(path)
        self.is_open, self._is_own = True, anew
        self._file: int | None = self._open(anew)

    def _open(self, anew: bool = False) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY
        # Only the user who runs the program may read the events.
        file = os.open(self.path, flags | (os.O_TRUNC if anew else 0), 0o600)
        self.size = os.fstat(file).st_size
        self._is_torn = self.size > 0 and read_at(file, 1, self.size - 1) != b"\n"
        return file

    def check_open(self) -> None:
        """Raise HookError if the file is closed."""
        if not self.is_open:
            raise HookError(f"{self.path} is closed: create a new exporter")

    def write(self, text: str) -> None:
        """Write a string as one line.

        Raises:
            OSError: if the line cannot be written completely. The next write then starts a new
                line.
            HookError: if the file is closed.
        """
        self.check_open()
        if self._file is None:  # an earlier rotation failed
            self._file = self._open()
        data = ("\n" * self._is_torn + text + "\n").encode()
        written = os.write(self._file, data)
        self.size += written
        self._is_torn = written < len(data)
        if self._is_torn:
            self._mend(written)
            raise OSError(f"{self.path}: {written} of {len(data)} bytes were written")

    def _mend(self, written: int) -> None:
        """Remove an incomplete line, if no other process writes to the file."""
        if self._is_own and self._file is not None:
            os.ftruncate(self._file, self.size - written)
            self.size -= written
            self._is_torn = False

    def rotate(self, keep: int) -> None:
        """Start an empty file, and rename the older files from `path.1` (the latest) to
        `path.<keep>`.
        """
        self._let_go()
        for number in range(keep, 1, -1):
            older = Path(f"{self.path}.{number - 1}")
            if older.exists():
                older.replace(f"{self.path}.{number}")
        self.path.replace(f"{self.path}.1")
        self._file = self._open()

    def close(self) -> None:
        """Close the file."""
        self.is_open = False
        self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)
