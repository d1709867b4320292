"""Share events and switches between agents on several machines, and decide their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._ground.late import import_late

if TYPE_CHECKING:
    from ._fleet import Fleet, Status
    from ._policy import policy

__all__ = ["Fleet", "Status", "policy"]

_MODULES = {"Fleet": "_fleet", "Status": "_fleet", "policy": "_policy"}


def __getattr__(name: str) -> Any:
    return import_late(__name__, _MODULES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
