"""The gate, which checks the tool calls of coding agents with the guards of a settings file."""

from ._agents import Tool

__all__ = ["Tool"]


def __dir__() -> list[str]:
    return sorted(__all__)
