"""Events as JSON lines: one line each, as `as_dict` has it."""

from __future__ import annotations

import json
import os
from typing import Any

from .. import HookError
from .._exporting import Exporter
from .._keywords import named_options
from .._locks import Lock
from ..events import Event
from ._file import Lines


@named_options
class JsonLines(Exporter):
    """Writes each event as one line of JSON to the end of a file.

    Several processes may write to one file that does not rotate.

    Args:
        path: the file, which only its owner may read; it is made where there is none.
        max_bytes: before a line would make it larger, the file becomes `path.1`, that one `path.2`
            and so on, and a new one begins. None is no limit.
        keep: how many such files there are; older ones are gone.

    Raises:
        HookError: for a limit that is none.
        OSError: if the file cannot be opened.
    """

    def __init__(
        self, path: str | os.PathLike[str], max_bytes: int | None = None, keep: int = 5
    ) -> None:
        for name, value in (("max_bytes", max_bytes), ("keep", keep)):
            if value is not None and (type(value) is not int or value < 1):
                raise HookError(f"{name}={value!r:.40} must be a whole number from 1")
        self._max_bytes, self._keep = max_bytes, keep
        self._lines, self._lock = Lines(path), Lock()

    def __call__(self, bus: Any, event: Event) -> None:
        self.is_used = True
        line = json.dumps(event.as_dict(), allow_nan=False)
        with self._lock:
            self._lines.check_open()
            is_full = self._max_bytes is not None and (
                self._lines.size + len(line) + 1 > self._max_bytes
            )
            if is_full and self._lines.size:
                self._lines.rotate(self._keep)
            self._lines.write(line)

    def close(self) -> None:
        """Disconnect it from every bus, and close the file."""
        self._disconnect()
        with self._lock:
            self._lines.close()
