"""AgenticX 0.6.5 on hookbus: the four modules of its hooks, with or without AgenticX itself."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from hookbus import Bus, default_bus

from ._agenticx_core import core_namespace
from ._agenticx_legacy import legacy_namespace
from ._agenticx_points import Points
from ._agenticx_runtime import runtime_namespace


def namespaces(bus: Bus = default_bus, *, strict: bool = False) -> dict[str, dict[str, Any]]:
    """Return what AgenticX's four modules of hooks hold, run by hookbus. AgenticX need not be installed.

    Each call gives names of its own: what is registered with one is not known to another. Loading policies from YAML
    (`core.hooks.tool_hooks`) stays with AgenticX.

    Args:
        bus: the bus the signals live on.
        strict: as in `install`.

    Returns:
        The public names of `core.hooks` under `"core"`, `hooks.llm_hooks` under `"llm"`, `hooks.tool_hooks` under `"tool"` and
        `runtime.hooks` under `"runtime"`.
    """
    points = Points(bus, strict)
    found = {
        "core": core_namespace(points),
        "llm": legacy_namespace(points, "llm"),
        "tool": legacy_namespace(points, "tool"),
        "runtime": runtime_namespace(points),
    }
    for names in found.values():
        for name, value in names.items():
            if isinstance(value, FunctionType):
                value.__name__ = value.__qualname__ = name
    return found
