"""Measure what a guard adds to a tool call under each framework, next to the framework alone.

    python -m tests.systems.costs             those with an environment
    python -m tests.systems.costs langchain   this one

A scripted model requests fifty calls of a tool that does nothing, in the first mode of the
framework's contract. A row shows processor time per call, the best of several runs.
"""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import time
from importlib import import_module
from typing import Any

from hookbus import Bus

from .install import ROOT, SYSTEMS, python_of
from .tool_contract import ToolContract

ELSEWHERE = {"claude_agent", "litellm"}
"""Whose tools run in a program of its own, and which has none."""

CALLS, RUNS = 50, 40


def contract_of(name: str) -> ToolContract:
    """Return the contract of a framework's `install`."""
    module = import_module(f"tests.systems.test_{name}_contract")
    found = [
        each for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, ToolContract) and "install" in vars(each)
        and each.__module__ == module.__name__ and not each.__name__.endswith("Guarded")
    ]  # fmt: skip
    return found[0]()


def main_mode(contract: ToolContract) -> str:
    """Return the first way to run that is awaited, as most programs do."""
    names = [name for cls in reversed(type(contract).__mro__) for name in vars(cls)]
    modes = [name for name in names if hasattr(getattr(contract, name), "is_mode")]
    awaited = [name for name in modes if inspect.iscoroutinefunction(getattr(contract, name))]
    return (awaited or modes)[0]


def seconds(contract: ToolContract, mode: str) -> float:
    """Return what one call takes, the model and the rest of the run included."""
    calls = [{"amount": i, "to": "ann"} for i in range(CALLS)]
    way = getattr(contract, mode)

    async def awaited() -> Any:
        begun = time.process_time()
        await way(lambda amount, to: "paid", calls)
        return time.process_time() - begun

    if inspect.iscoroutinefunction(way):
        return float(asyncio.run(awaited())) / CALLS
    begun = time.process_time()
    way(lambda amount, to: "paid", calls)
    return (time.process_time() - begun) / CALLS


def row(name: str) -> str:
    contract = contract_of(name)
    mode = main_mode(contract)
    best = [float("inf")] * 3
    seconds(contract, mode)  # loads what is loaded late
    for _ in range(RUNS):
        best[0] = min(best[0], seconds(contract, mode))
        bus = Bus()
        undo = contract.install(bus)
        best[1] = min(best[1], seconds(contract, mode))
        bus.signal("pre_tool_call").connect(lambda sender, arguments: None, role="guard")
        seconds(contract, mode)  # writes the function
        best[2] = min(best[2], seconds(contract, mode))
        undo()
    bare, idle, guarded = (each * 1e6 for each in best)
    return (
        f"{name:16} {bare:10,.0f} {idle - bare:+10.0f} {guarded - bare:+10.0f} "
        f"{guarded / bare:8.2f}   {mode}"
    )


def main(arguments: list[str]) -> None:
    frameworks = [name for name, system in SYSTEMS.items() if system.is_framework]
    here = [name for name in frameworks if name not in ELSEWHERE and python_of(name).exists()]
    print(f"{'a tool call, µs':16} {'bare':>10} {'installed':>10} {'a guard':>10} {'ratio':>8}")
    for name in arguments or here:
        run = f"from tests.systems.costs import row; print(row({name!r}))"
        done = subprocess.run(
            [python_of(name), "-W", "ignore", "-c", run], cwd=ROOT, capture_output=True, text=True
        )
        print(done.stdout.strip().splitlines()[-1] if done.stdout else f"{name:16} {done.stderr}")


if __name__ == "__main__":
    main(sys.argv[1:])
