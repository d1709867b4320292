"""Which exporters there are, so that `report` names those that are connected to no bus."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final, Self

from ._hooks.strangers import buses


class Exporter:
    """A listener of events that takes them out of the process, and is closed in the end.

    Attributes:
        is_used: whether it was given an event, or was closed.
    """

    is_used = False
    _place = ""
    _bus: weakref.ref[Any] | None = None

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Remember where it was made."""
        made = super().__new__(cls)
        made._place = _caller()
        _all.add(made)
        return made

    def _note_bus(self, bus: Any) -> None:
        """Note the bus that gives it its events from now on."""
        self._bus = weakref.ref(bus)

    def _disconnect(self) -> None:
        """Disconnect it from every bus: it was closed."""
        self.is_used = True
        for bus in buses():
            bus.events.disconnect(self)


_all: Final[weakref.WeakSet[Exporter]] = weakref.WeakSet()


def unconnected() -> Iterator[str]:
    """Name the exporters that were made and that no bus gives its events."""
    connected = {
        id(each.function) for bus in buses() for each in bus.events.connections()
    }  # fmt: skip
    for exporter in list(_all):
        is_past = exporter._bus is not None and exporter._bus() is None  # its bus is gone
        if not (exporter.is_used or is_past or id(exporter) in connected):
            yield (
                f"the exporter {type(exporter).__name__} ({exporter._place}) is connected to no "
                "bus and exports nothing: write bus.events.connect(exporter)"
            )


def _caller() -> str:
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "hookbus":
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "unknown"
