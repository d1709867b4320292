"""A guardrail and hook layer for Python agents: block, change, approve or observe any call.

One decorator makes a method hookable. Guards, modifiers and observers connect to its blinker
signals.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from blinker import ANY

from . import exceptions
from ._bus import Bus, default_bus, signal
from ._connections.connection import Connection
from ._connections.signal import HookSignal
from ._ground.baggage import baggage
from ._ground.late import import_late
from ._hookable import hookable
from ._marks.marks import receives
from .exceptions import HookBlocked, HookError, ReceiverError

if TYPE_CHECKING:
    from . import events, modes
    from ._calls.context import CallNext, HookContext
    from ._connections.verdicts import Ask, Block, Drop, Replace
    from ._instrument.instrument import hook_overrides, instrument
    from ._questions.hookspec import hookspec
    from ._views.explain import explain
    from ._views.report import report
    from .plugins._start import load_plugins

__version__ = "0.1.0"

__all__ = [
    "ANY", "Ask", "Block", "Bus", "CallNext", "Connection", "Drop", "HookBlocked", "HookContext",
    "HookError", "HookSignal", "ReceiverError", "Replace", "baggage", "default_bus", "events",
    "exceptions", "explain", "hook_overrides", "hookable", "hookspec", "instrument", "load_plugins",
    "modes", "receives", "report", "signal",
]  # fmt: skip

_MODULES = {
    "Ask": "_connections.verdicts", "Block": "_connections.verdicts", "CallNext": "_calls.context",
    "Drop": "_connections.verdicts", "HookContext": "_calls.context",
    "Replace": "_connections.verdicts", "events": "events", "explain": "_views.explain",
    "hook_overrides": "_instrument.instrument", "hookspec": "_questions.hookspec",
    "instrument": "_instrument.instrument", "load_plugins": "plugins._start",
    "modes": "modes", "report": "_views.report",
}  # fmt: skip
"""Names that are imported on first access, so that `import hookbus` stays fast."""


def __getattr__(name: str) -> Any:
    return import_late(__name__, _MODULES, name)


def __dir__() -> list[str]:
    return sorted(__all__)


if os.environ.get("HOOKBUS_JOURNAL") or os.environ.get("HOOKBUS_FLEET"):
    import_module(f"{__name__}._program.environment").begin()
