"""The gate: the tools of coding agents under the guards of one settings file."""

from ._agents import Tool

__all__ = ["Tool"]


def __dir__() -> list[str]:
    return sorted(__all__)
