"""Keep a list of all exporters, so that `report` can find exporters without a bus."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final, Self

from .._hooks.switchboard import buses


class Exporter:
    """A listener that sends events outside the process. The program must close it before exit.

    Attributes:
        is_used: whether the exporter has received an event or was closed.
    """

    is_used = False
    _place = ""
    _bus: weakref.ref[Any] | None = None

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Create the exporter, and record the line of code that created it."""
        made = super().__new__(cls)
        made._place = _caller()
        _all.add(made)
        return made

    def _note_bus(self, bus: Any) -> None:
        """Record the bus whose events this exporter receives."""
        self._bus = weakref.ref(bus)

    def _disconnect(self) -> None:
        """Disconnect the closed exporter from every bus."""
        self.is_used = True
        for bus in buses():
            bus.events.disconnect(self)


_all: Final[weakref.WeakSet[Exporter]] = weakref.WeakSet()


def unconnected() -> Iterator[str]:
    """Yield a message for each exporter that is not connected to a bus."""
    connected = {
        id(each.function) for bus in buses() for each in bus.events.connections()
    }  # fmt: skip
    for exporter in list(_all):
        is_past = exporter._bus is not None and exporter._bus() is None  # its bus has been freed
        if not (exporter.is_used or is_past or id(exporter) in connected):
            yield (
                f"the exporter {type(exporter).__name__} ({exporter._place}) is not connected to "
                "a bus and exports nothing: write bus.events.connect(exporter)"
            )


def _caller() -> str:
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "hookbus":
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "unknown"
