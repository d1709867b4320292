"""What a tool's call costs on hookbus, against stock Agno: the ratio, and microseconds per call.

    .venv-systems/agno/bin/python -m tests.systems.measure_agno

Stock and hookbus alternate. The fastest round of each counts, in processor time. Below 1 is faster
than stock.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from typing import Any

from agno.tools.function import Function, FunctionCall

from hookbus import Bus
from hookbus.adapters import agno

ROUNDS, CALLS = 15, 100


def tool(x: int) -> int:
    return x


async def atool(x: int) -> int:
    return x


def passing(func: Any, args: dict[str, Any]) -> Any:
    return func(**args)


async def apassing(func: Any, args: dict[str, Any]) -> Any:
    return await func(**args)


def seconds_per_call(function: Function) -> float:
    gc.collect()
    gc.disable()
    began = time.process_time()
    for _ in range(CALLS):
        FunctionCall(function=function, arguments={"x": 1}).execute()
    took = time.process_time() - began
    gc.enable()
    return took / CALLS


async def seconds_per_async_call(function: Function) -> float:
    gc.collect()
    gc.disable()
    began = time.process_time()
    for _ in range(CALLS):
        await FunctionCall(function=function, arguments={"x": 1}).aexecute()
    took = time.process_time() - began
    gc.enable()
    return took / CALLS


def measure(hooks: int, *, is_async: bool) -> dict[str, float]:
    """Return the fastest round of each setting, in seconds per call."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for setting in ("stock", "default", "strict"):
            uninstall = (
                agno.install(Bus(), strict=setting == "strict")
                if setting != "stock"
                else lambda: None
            )
            chain = [apassing if is_async else passing] * hooks
            function = Function(
                name="tool", entrypoint=atool if is_async else tool, tool_hooks=chain or None
            )
            took = (
                asyncio.run(seconds_per_async_call(function))
                if is_async
                else seconds_per_call(function)
            )
            best[setting] = min(took, best.get(setting, took))
            uninstall()
    return best


def main() -> None:
    logging.disable(logging.CRITICAL)
    columns = f"{'stock µs':>10}{'default':>10}{'strict':>10}"
    columns += f"{'default/stock':>15}{'strict/stock':>14}"
    print(f"{'one call of a tool':30}{columns}")
    for is_async in (False, True):
        for hooks in (0, 1, 5, 10):
            best = measure(hooks, is_async=is_async)
            plural, execute = "s" * (hooks != 1), "aexecute" if is_async else "execute"
            title = f"{execute}, {hooks} pass-through hook{plural}"
            stock, default, strict = (
                best[setting] * 1e6 for setting in ("stock", "default", "strict")
            )
            print(
                f"{title:30}{stock:10.1f}{default:10.1f}{strict:10.1f}"
                f"{default / stock:15.2f}{strict / stock:14.2f}"
            )


if __name__ == "__main__":
    main()
