"""What a turn of Bub costs on hookbus, against stock Bub: the ratio, and microseconds per turn.

    .venv-systems/bub/bin/python -m tests.systems.measure_bub

Stock and hookbus alternate. The fastest round of each counts, in processor time. Below 1 is faster
than stock.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bub.hooks.interception import ToolCallDecision
from loguru import logger

from hookbus import Bus
from hookbus.adapters import bub

from .bub_parts import agent_hooks, call_tool, framework, plugin

ROUNDS, CALLS = 15, 200

Work = Callable[[], Awaitable[Any]]


async def load_state(session_id: str) -> dict[str, Any]:
    return {session_id: 1}


async def run_model(prompt: str) -> str:
    return prompt


def some_plugin() -> Any:
    """Return a plugin with most of what a turn asks for."""
    return plugin(
        resolve_session=lambda message: None, load_state=load_state,
        build_prompt=lambda message: message["content"], system_prompt=lambda prompt: "Be brief.",
        run_model=run_model, save_state=lambda state: None,
        render_outbound=lambda model_output: [{"content": model_output}],
        dispatch_outbound=lambda message: True,
    )  # fmt: skip


def turn(plugins: int) -> Work:
    bot = framework()
    for number in range(plugins):
        bot.plugin_manager.register(some_plugin(), name=f"plugin {number}")

    async def work() -> None:
        result = await bot.process_inbound({"content": "hi", "channel": "c", "chat_id": "1"})
        bot.get_system_prompt(result.prompt, result.state)

    return work


def tool_call(plugins: int) -> Work:
    """Return the call of a tool with this many policies, each of which changes its arguments, and
    as many observers."""

    def before(call: Any) -> Any:
        return ToolCallDecision.proceed({"x": call.arguments["x"] + 1})

    policies = {
        f"plugin {number}": plugin(before_tool_call=before, after_tool_call=lambda result: None)
        for number in range(plugins)
    }
    hooks = agent_hooks(**policies)
    return lambda: call_tool(hooks, lambda x: x, {"x": 1})


async def seconds_per_call(work: Work) -> float:
    for _ in range(20):
        await work()
    gc.collect()
    gc.disable()
    began = time.process_time()
    for _ in range(CALLS):
        await work()
    took = time.process_time() - began
    gc.enable()
    return took / CALLS


def measure(make: Callable[[], Work]) -> dict[str, float]:
    """Return the fastest round of each setting, in seconds per call."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for setting in ("stock", "default", "guarded", "strict"):
            bus = Bus()
            uninstall = (
                bub.install(bus, strict=setting == "strict") if setting != "stock" else lambda: None
            )
            if setting == "guarded":
                for hook in ("build_prompt", "tool_call"):
                    bus.signal(f"pre_{hook}").connect(
                        lambda sender: None, role="guard", name="guard"
                    )
            took = asyncio.run(seconds_per_call(make()))
            best[setting] = min(took, best.get(setting, took))
            uninstall()
    return best


CASES: dict[str, Callable[[], Work]] = {
    "a turn, 1 plugin": lambda: turn(1),
    "a turn, 4 plugins": lambda: turn(4),
    "a turn, 10 plugins": lambda: turn(10),
    "a tool's call, no plugin": lambda: tool_call(0),
    "a tool's call, 1 plugin": lambda: tool_call(1),
    "a tool's call, 4 plugins": lambda: tool_call(4),
}


def main() -> None:
    logger.remove()
    print(
        f"{'':29}{'stock µs':>10}{'default/stock':>15}{'one guard/stock':>17}{'strict/stock':>14}"
    )
    for title, make in CASES.items():
        best = measure(make)
        ratios = [best[setting] / best["stock"] for setting in ("default", "guarded", "strict")]
        print(
            f"{title:29}{best['stock'] * 1e6:10.1f}"
            f"{ratios[0]:15.2f}{ratios[1]:17.2f}{ratios[2]:14.2f}"
        )


if __name__ == "__main__":
    main()
