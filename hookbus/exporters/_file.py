"""A file of lines, each written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from .. import HookError
from .._platform import BINARY, read_at


class Lines:
    """Lines at the end of a file: one write for each, so that what was written is there if the
    process dies.

    Args:
        path: the file; it is made where there is none.
        anew: whether to begin with an empty file, to which nobody else writes.

    Attributes:
        size: how many bytes it has.
        is_open: whether it was not closed.
    """

    def __init__(self, path: str | os.PathLike[str], *, anew: bool = False) -> None:
        self.path = Path(path)
        self.is_open, self._is_own = True, anew
        self._file: int | None = self._open(anew)

    def _open(self, anew: bool = False) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY
        # What happened is for who runs the program.
        file = os.open(self.path, flags | (os.O_TRUNC if anew else 0), 0o600)
        self.size = os.fstat(file).st_size
        self._is_torn = self.size > 0 and read_at(file, 1, self.size - 1) != b"\n"
        return file

    def check_open(self) -> None:
        """Raise HookError if the file was closed."""
        if not self.is_open:
            raise HookError(f"{self.path} was closed: make another exporter")

    def write(self, text: str) -> None:
        """Write a text and the end of the line.

        Raises:
            OSError: if it cannot be written as a whole. Then the next one begins a new line.
            HookError: if the file was closed.
        """
        self.check_open()
        if self._file is None:  # rotating it failed half way
            self._file = self._open()
        data = ("\n" * self._is_torn + text + "\n").encode()
        written = os.write(self._file, data)
        self.size += written
        self._is_torn = written < len(data)
        if self._is_torn:
            self._mend(written)
            raise OSError(f"{self.path}: {written} of {len(data)} bytes were written")

    def _mend(self, written: int) -> None:
        """Take half a line away, where nobody else writes to the file."""
        if self._is_own and self._file is not None:
            os.ftruncate(self._file, self.size - written)
            self.size -= written
            self._is_torn = False

    def rotate(self, keep: int) -> None:
        """Begin an empty file; those before are `path.1`, the latest, to `path.<keep>`."""
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
