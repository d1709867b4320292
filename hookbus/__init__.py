"""One decorator makes any method of an agent hookable; ordinary blinker signals carry who may watch, change or stop it."""

from blinker import ANY

from . import events, exceptions, modes
from ._bus import Bus, default_bus, receives, signal
from ._context import Block, Drop, HookContext, Replace
from ._hookable import hookable
from ._hookspec import hookspec
from ._instrument import instrument
from ._plugins import load_plugins
from ._report import explain, report
from ._signal import Connection, HookSignal
from .exceptions import HookBlocked, HookError, ReceiverError

__all__ = [
    "ANY", "Block", "Bus", "Connection", "Drop", "HookBlocked", "HookContext", "HookError", "HookSignal", "ReceiverError",
    "Replace", "default_bus", "events", "exceptions", "explain", "hookable", "hookspec", "instrument", "load_plugins", "modes",
    "receives", "report", "signal",
]  # fmt: skip
