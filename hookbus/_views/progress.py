"""Show the progress of a recording below the cell of a notebook while the cell runs."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from importlib import import_module
from typing import Any, Final

from .._ground.locks import Lock
from ..events import Blocked, Event, Failed, Finished, Mutated, Started
from .tables import brief, escape
from .waterfall import duration

EVERY_SECONDS: Final = 0.5
_MARKS: Final[dict[type[Event], str]] = {Mutated: "changed", Failed: "failed"}


def progress() -> Progress | None:
    """Return a progress display if the code runs in a notebook, else None."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return Progress() if getattr(shell, "kernel", None) is not None else None


class Progress:
    """A line that is updated every half second while the cell runs.

    A separate thread updates the line, because a long call emits no events while it runs.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lock, self._over = Lock(), threading.Event()
        self._counts: Counter[str] = Counter()
        self._under_way: dict[int, Started] = {}
        self._shown: Any = None
        self._thread = threading.Thread(target=self._run, name="hookbus: progress", daemon=True)
        self._thread.start()

    def note(self, event: Event) -> None:
        """Count an event."""
        with self._lock:
            if isinstance(event, Started):
                self._under_way[event.call_id] = event
            elif isinstance(event, Finished):
                self._under_way.pop(event.call_id, None)
                self._counts[event.outcome] += 1
            elif isinstance(event, Blocked) and not event.enforced:
                self._counts["shadow"] += 1
            elif type(event) in _MARKS:
                self._counts[_MARKS[type(event)]] += 1

    def end(self) -> None:
        """Update the line one last time, if it is visible."""
        self._over.set()
        self._thread.join()
        if self._shown is not None:
            self._write()

    def __str__(self) -> str:
        with self._lock:
            counts, calls = self._counts.copy(), list(self._under_way.values())
        parts = [f"{count} {word}" for word, count in counts.items()]
        if calls:
            inner = calls[-1]
            parts.append(f"{len(calls)} running, {inner.hook} of {brief(inner.sender)}")
        return f"{duration(time.monotonic() - self._began)}: {', '.join(parts) or 'no call yet'}"

    def _run(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            self._write()

    def _write(self) -> None:
        text = str(self)
        data = {"text/plain": text, "text/html": f"<div>{escape(text)}</div>"}
        if self._shown is None:
            display = import_module("IPython.display").display
            self._shown = display(data, raw=True, display_id=True)
        else:
            self._shown.update(data, raw=True)
