"""Exporters: send events to files, logs and OpenTelemetry. Connect an exporter with
`bus.events.connect`. Each exporter has its own module.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import chrome, jsonl, log, otel

__all__ = ["chrome", "jsonl", "log", "otel"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
