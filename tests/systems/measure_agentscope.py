"""What a call of an AgentScope agent costs on hookbus, against stock: the ratio, and microseconds
per call.

    .venv-systems/agentscope/bin/python -m tests.systems.measure_agentscope

Stock and hookbus alternate. The fastest round of each counts, in processor time. Below 1 is faster
than stock.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from typing import Any

from agentscope.agent import AgentBase
from agentscope.message import Msg, TextBlock

from hookbus import Bus
from hookbus.adapters import agentscope

ROUNDS, CALLS = 15, 200


class Agent(AgentBase):
    async def reply(self, msg: Msg) -> Msg:
        await self.print(msg)
        return msg

    async def observe(self, msg: Msg) -> None:
        pass


def agent_with(hooks: int) -> Agent:
    agent = Agent()
    agent.set_console_output_enabled(False)
    for number in range(hooks):
        agent.register_instance_hook("pre_reply", f"pre {number}", lambda self, kwargs: None)
        agent.register_instance_hook(
            "post_reply", f"post {number}", lambda self, kwargs, output: None
        )
    return agent


async def seconds_per_call(call: Callable[[], Awaitable[Any]]) -> float:
    gc.collect()
    gc.disable()
    began = time.process_time()
    for _ in range(CALLS):
        await call()
    took = time.process_time() - began
    gc.enable()
    return took / CALLS


def measure(hooks: int, msg: Msg) -> dict[str, float]:
    """Return the fastest round of each setting, in seconds per reply (`await agent(msg)`, which
    prints once)."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for setting in ("stock", "default", "strict"):
            uninstall = (
                agentscope.install(Bus(), strict=setting == "strict")
                if setting != "stock"
                else lambda: None
            )
            agent = agent_with(hooks)
            took = asyncio.run(seconds_per_call(lambda: agent(msg)))
            best[setting] = min(took, best.get(setting, took))
            uninstall()
    return best


def main() -> None:
    small = Msg("user", "hi", "user")
    large = Msg("user", [TextBlock(type="text", text=f"block {n}") for n in range(500)], "user")
    columns = f"{'stock µs':>10}{'default':>10}{'strict':>10}"
    columns += f"{'default/stock':>15}{'strict/stock':>14}"
    print(f"{'one reply':44}{columns}")
    for title, hooks, msg in (
        ("no hooks", 0, small), ("1 pre-hook and 1 post-hook", 1, small),
        ("5 pre-hooks and 5 post-hooks", 5, small), ("1 and 1, a message of 500 blocks", 1, large),
    ):  # fmt: skip
        best = measure(hooks, msg)
        stock, default, strict = (best[setting] * 1e6 for setting in ("stock", "default", "strict"))
        print(
            f"{title:44}{stock:10.1f}{default:10.1f}{strict:10.1f}"
            f"{default / stock:15.2f}{strict / stock:14.2f}"
        )


if __name__ == "__main__":
    main()
