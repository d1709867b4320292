"""Write each event as one line of JSON, in the format of `as_dict`."""

from __future__ import annotations

import json
import os
from typing import Any

from .. import HookError
from .._ground.keywords import named_options
from .._ground.locks import Lock
from .._outgoing.exporting import Exporter
from ..events import Event
from ._file import Lines

__all__ = ["JsonLines"]


def __dir__() -> list[str]:
    return sorted(__all__)


@named_options
class JsonLines(Exporter):
    """Appends each event to a file as one line of JSON.

    Several processes may write to the same file, unless `max_bytes` is set.

    Args:
        path: the file, readable by its owner only. A missing file is created.
        max_bytes: the maximum size. If the next line would exceed it, the file is renamed to
            `path.1`, the previous `path.1` to `path.2` and so on, and a new file is started. None
            means that the size is not limited.
        keep: the number of renamed files to keep. Older files are deleted.

    Raises:
        HookError: for an invalid limit.
        OSError: if the file cannot be opened.
    """

    def __init__(
        self, path: str | os.PathLike[str], max_bytes: int | None = None, keep: int = 5
    ) -> None:
        for name, value in (("max_bytes", max_bytes), ("keep", keep)):
            if value is not None and (type(value) is not int or value < 1):
                raise HookError(f"{name}={value!r:.40} must be a whole number of at least 1")
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
        """Disconnect the exporter from every bus, and close the file."""
        self._disconnect()
        with self._lock:
            self._lines.close()
