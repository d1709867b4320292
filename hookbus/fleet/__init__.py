"""Decide calls of agents on other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._ground.late import import_late

if TYPE_CHECKING:
    from ._policy import policy

__all__ = ["policy"]

_MODULES = {"policy": "_policy"}


def __getattr__(name: str) -> Any:
    return import_late(__name__, _MODULES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
