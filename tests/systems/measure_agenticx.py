"""What AgenticX's hooks cost on hookbus, against stock AgenticX: the ratio, and microseconds per
run of hooks.

    .venv-systems/agenticx/bin/python -m tests.systems.measure_agenticx

Stock and hookbus alternate. The fastest round of each counts, in processor time. Below 1 is faster
than stock.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable
from typing import Any

from agenticx.hooks import tool_hooks
from agenticx.runtime.hooks import AgentHook, HookRegistry

from hookbus import Bus
from hookbus.adapters import agenticx

from .agenticx_run import execute, made_executor

ROUNDS, CALLS = 9, 200


def passing() -> Callable[[Any], None]:
    return lambda context: None


def seconds_per_run(work: Callable[[], object], calls: int) -> float:
    gc.collect()
    gc.disable()
    began = time.process_time()
    for _ in range(calls):
        work()
    took = time.process_time() - began
    gc.enable()
    return took / calls


def before_a_tool() -> None:
    tool_hooks.execute_before_tool_call_hooks(tool_hooks.ToolCallHookContext("read", {"path": "a"}))


async def seconds_per_tool_of_a_runtime(registry: HookRegistry) -> float:
    gc.collect()
    gc.disable()
    began = time.process_time()
    for _ in range(CALLS):
        await registry.run_before_tool_call("read", {}, None)
        await registry.run_after_tool_call("read", "text", None)
    took = time.process_time() - began
    gc.enable()
    return took / CALLS


def measure(hooks: int, what: str) -> dict[str, float]:
    """Return the fastest round of each setting, in seconds per run."""
    best: dict[str, float] = {}
    executor, registry = made_executor(read=lambda: "text"), HookRegistry()
    for _ in range(hooks):
        registry.register(AgentHook())
    for _ in range(ROUNDS):
        for setting in ("stock", "default", "strict"):
            uninstall = (
                agenticx.install(Bus(), strict=setting == "strict")
                if setting != "stock"
                else lambda: None
            )
            for _ in range(hooks):
                tool_hooks.register_before_tool_call_hook(passing())
            if what == "runtime":
                took = asyncio.run(seconds_per_tool_of_a_runtime(registry))
            elif what == "bus":
                took = seconds_per_run(before_a_tool, CALLS)
            else:
                took = seconds_per_run(lambda: execute(executor, "read"), CALLS // 4)
            tool_hooks.clear_all_tool_call_hooks()
            best[setting] = min(took, best.get(setting, took))
            uninstall()
    return best


def main() -> None:
    logging.disable(logging.CRITICAL)
    columns = f"{'stock µs':>10}{'default':>10}{'strict':>10}"
    columns += f"{'default/stock':>15}{'strict/stock':>14}"
    print(f"{'one run of hooks':44}{columns}")
    titles = {
        "bus": "before a tool",
        "executor": "a tool of an executor",
        "runtime": "before and after a tool of a runtime",
    }
    for what, title in titles.items():
        for hooks in (0, 1, 5):
            best = measure(hooks, what)
            name = f"{title}, {hooks} hook{'s' * (hooks != 1)}"
            stock, default, strict = (
                best[setting] * 1e6 for setting in ("stock", "default", "strict")
            )
            print(
                f"{name:44}{stock:10.1f}{default:10.1f}{strict:10.1f}"
                f"{default / stock:15.2f}{strict / stock:14.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
