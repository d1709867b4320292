"""An event loop without real waiting: its time passes immediately."""

from __future__ import annotations

import asyncio
import selectors


class _Patient(selectors.SelectSelector):
    """Waits for nothing: moves the clock to when something is due."""

    now = 0.0

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("nothing is due: the program hangs")
        self.now += max(timeout, 0)
        return super().select(0)


def run(program, until=1000.0):
    """Run a coroutine and the tasks it leaves, on a clock of its own; return what it returns."""
    selector = _Patient()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now
    loop.set_exception_handler(
        lambda loop, context: None
    )  # what an around leaves to itself may fail

    async def whole():
        result = await program
        while left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left, timeout=until)
        return result

    try:
        return loop.run_until_complete(whole())
    finally:
        loop.close()
