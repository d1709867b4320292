"""The gate: the guards of a settings file check the tool calls of coding agents."""

from ._agents import Tool, ToolFailed

__all__ = ["Tool", "ToolFailed"]


def __dir__() -> list[str]:
    return sorted(__all__)
