"""AgenticX's modules of hooks in one setting: stock, on hookbus, restored, without AgenticX."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

from hookbus import Bus
from hookbus.adapters import agenticx

IS_INSTALLED = find_spec("agenticx") is not None or os.environ.get("HOOKBUS_SYSTEM") == "agenticx"
"""Whether the real package is to be tested: where it is there, and where it must be."""

MODULES = {
    "core": "agenticx.core.hooks", "llm": "agenticx.hooks.llm_hooks",
    "tool": "agenticx.hooks.tool_hooks", "runtime": "agenticx.runtime.hooks",
}  # fmt: skip


def real() -> SimpleNamespace:
    """Return the four modules of the installed package."""
    return SimpleNamespace(**{name: import_module(module) for name, module in MODULES.items()})


def forget_hooks() -> None:
    """Take out whatever is registered with the installed package."""
    import agenticx.core.hooks as core
    import agenticx.hooks as hooks

    core.clear_all_llm_hooks()
    core.clear_all_tool_hooks()
    hooks.clear_all_llm_call_hooks()
    hooks.clear_all_tool_call_hooks()
    hooks.clear_hooks()


@contextmanager
def modules_in(
    setting: str, bus: Bus | None = None, *, strict: bool = False
) -> Iterator[SimpleNamespace]:
    """Have the four modules in a setting: `stock`, `installed`, `uninstalled` or `namespaces`."""
    bus = Bus() if bus is None else bus
    if setting == "namespaces":
        yield SimpleNamespace(
            **{
                name: SimpleNamespace(**names)
                for name, names in agenticx.namespaces(bus, strict=strict).items()
            }
        )
        return
    uninstall = agenticx.install(bus, strict=strict) if setting != "stock" else lambda: None
    if setting == "uninstalled":
        uninstall()
    try:
        yield real()
    finally:
        forget_hooks()
        uninstall()


def hook_with(agx, **methods):
    return type("Hook", (agx.runtime.AgentHook,), methods)()
