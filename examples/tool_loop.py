"""A tool-calling loop with a budget, a deadline and a retry, without changing the loop itself.

    python examples/tool_loop.py

`think` replaces a model. It gets the messages so far, and returns the next tool call or None.
"""

import asyncio

from hookbus import Block, HookBlocked, default_bus, hookable, signal

PRICES = {"search": 3, "fetch": 5, "sleep": 1}
SECONDS = 0.2


class Loop:
    def __init__(self, budget):
        self.budget, self.spent, self.fetched = budget, 0, 0

    @hookable("tool")
    async def tool(self, name, argument):
        return await getattr(self, name)(argument)

    async def search(self, words):
        return f"3 pages about {words}"

    async def fetch(self, page):
        self.fetched += 1
        if self.fetched == 1:
            raise ConnectionError("reset by peer")
        return f"the text of {page}"

    async def sleep(self, seconds):
        await asyncio.sleep(seconds)

    async def run(self, think):
        messages = []
        while (call := think(messages)) is not None:
            try:
                messages.append(await self.tool(*call))
            except HookBlocked as blocked:
                messages.append(f"refused: {blocked.reason}")
            except Exception as error:
                messages.append(f"failed: {type(error).__name__}")
        return messages


@signal("pre_tool").connect_via(Loop, role="guard")
def within_budget(loop, name):
    """Check each attempt, including retries. A tool without a price is refused."""
    if name not in PRICES:
        return Block(f"{name} has no price")
    if loop.spent + PRICES[name] > loop.budget:
        return Block(f"{name} costs {PRICES[name]}, and {loop.budget - loop.spent} are left")
    loop.spent += PRICES[name]


@signal("around_tool").connect_via(Loop, priority=10)
async def retry(loop, call_next):
    try:
        return await call_next()
    except ConnectionError:
        return await call_next()


@signal("around_tool").connect_via(Loop)
async def deadline(loop, call_next):
    async with asyncio.timeout(SECONDS):
        return await call_next()


CALLS = [
    ("search", "hooks"), ("fetch", "page 1"), ("sleep", 5), ("delete", "all"), ("search", "more"),
    ("fetch", "page 2"),
]  # fmt: skip


def think(messages):
    return CALLS[len(messages)] if len(messages) < len(CALLS) else None


if __name__ == "__main__":
    default_bus.require_guard("tool")
    loop = Loop(budget=18)
    for call, message in zip(CALLS, asyncio.run(loop.run(think))):
        print(f"{call[0]:<7} {message}")
    print(f"spent {loop.spent} of {loop.budget}")
