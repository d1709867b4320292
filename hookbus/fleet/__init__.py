"""Share events and switches between agents on several machines, and decide their calls."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._fleet import Fleet, Status
    from ._policy import policy

__all__ = ["Fleet", "Status", "policy"]

_MODULES = {"Fleet": "_fleet", "Status": "_fleet", "policy": "_policy"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
