"""Determines the kind of a tool by its class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any


def kind_by_class(kinds: Mapping[str, str]) -> Callable[[Any], str]:
    """Return a function for `kind=` of an adapter. The function takes a tool, and checks the tool's
    classes in MRO order. It returns the kind of the first class that matches a glob, or
    `"function"`.

    Args:
        kinds: the kind for each glob over the full names of classes, such as
            `{"agentlib.mcp.*": "mcp"}`.
    """

    def kind_of(tool: Any) -> str:
        names = (f"{cls.__module__}.{cls.__qualname__}" for cls in type(tool).__mro__)
        return next((kind for name in names for glob, kind in kinds.items()
                     if fnmatchcase(name, glob)), "function")  # fmt: skip

    return kind_of
