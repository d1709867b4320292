"""A test case of the adapter contract: an adapter on a separate bus, and a tool."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from .._bus import Bus
from .._connections.verdicts import Block

if TYPE_CHECKING:
    from ..adapters._seams import Sample

Install = Callable[[Bus], Callable[[], None]]
MakeSample = Callable[[Callable[[int, str], str]], "Sample"]

SECONDS: Final = 60.0
"""The time limit of one call."""

SECRET: Final = "pin-4711"
"""A part of every result."""

_MOST: Final = 1000


def expect(is_so: bool, problem: str) -> None:
    if not is_so:
        raise AssertionError(problem)


class Case:
    """An adapter on a separate bus, and a tool of its framework.

    Attributes:
        paid: the arguments with which the body of the tool was called.
    """

    def __init__(self, make: MakeSample, install: Install, way: str) -> None:
        self.bus, self.install, self.paid = Bus(values=True), install, list[tuple[int, str]]()
        self._lock = threading.Lock()
        self.uninstall = install(self.bus)
        try:
            self.sample = make(self._pay)
            self._way = self.sample.ways[way]
        except BaseException:
            self.uninstall()
            raise
        self.is_async = inspect.iscoroutinefunction(self._way)

    def _pay(self, amount: int, to: str) -> str:
        with self._lock:
            self.paid.append((amount, to))
        return f"paid {amount} to {to}, {SECRET}"

    def connect(self, phase: str, receiver: Callable[..., Any], **options: Any) -> None:
        """Connect a receiver for the calls of the sample."""
        signal = self.bus.signal(f"{phase}_{self.sample.hook}")
        signal.connect(receiver, when=dict(self.sample.when), weak=False, **options)

    def connect_guard(self) -> list[str]:
        """Connect a guard that blocks payments to eve; return the list of the names it saw."""
        seen: list[str] = []

        def not_to_eve(sender: Any, ctx: Any) -> Block | None:
            seen.append("eve" if self.is_for_eve(ctx) else "another")
            return Block("nothing goes to eve") if self.is_for_eve(ctx) else None

        self.connect("pre", not_to_eve, role="guard", name="not_to_eve")
        return seen

    def is_for_eve(self, ctx: Any) -> bool:
        return "eve" in repr(ctx.kwargs[self.sample.argument])

    def call(self, *calls: tuple[int, str]) -> list[Any]:
        """Make calls to the tool concurrently, and return the result or exception of each."""
        if not self.is_async:
            if len(calls) == 1:
                return [self._outcome(*calls[0])]
            with ThreadPoolExecutor(len(calls)) as threads:
                return [*threads.map(lambda each: self._outcome(*each), calls)]

        async def every() -> list[Any]:
            running = (asyncio.wait_for(self._way(*each), SECONDS) for each in calls)
            return await asyncio.gather(*running, return_exceptions=True)

        return asyncio.run(every())

    def _outcome(self, amount: int, to: str) -> Any:
        try:
            return self._way(amount, to)
        except Exception as error:
            return error

    def expect_refusal(self, given: Any, reason: str) -> None:
        text = self.sample.refused(given)
        expect(reason in text, f"the refusal does not say {reason!r}: {given!r:.500}")

    def expect_paid(self, *calls: tuple[int, str]) -> None:
        expect(sorted(self.paid) == sorted(calls), f"the tool ran {self.paid}, not {[*calls]}")

    def expect_text(self, given: Any, *, has: str | None = None, lacks: str | None = None) -> None:
        text = (self.sample.text or _everything_in)(given)
        expect(has is None or has in text, f"the result does not have {has!r}: {text:.500}")
        expect(lacks is None or lacks not in text, f"the result still has {lacks!r}: {text:.500}")


def _everything_in(value: Any) -> str:
    """Return the text of an object and of all objects that it references, nearest first."""
    texts, waiting, seen = list[str](), [value], set[int]()
    while waiting and len(seen) < _MOST:
        each = waiting.pop(0)
        if id(each) in seen or isinstance(each, (type, ModuleType, FunctionType)):
            continue
        seen.add(id(each))
        texts.append(str(each))
        if isinstance(each, Mapping):
            waiting += each.values()
        elif isinstance(each, (list, tuple, set)):
            waiting += each
        elif hasattr(each, "__dict__"):
            waiting += vars(each).values()
    return "\n".join(texts)
