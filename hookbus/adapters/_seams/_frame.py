"""The self-test of an adapter, which calls one tool of its framework on a private bus."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from hookbus import Block, Bus, HookBlocked

NAME: Final = "hookbus_self_test"
"""The name of the tool. The receivers of the self-test are called only for this tool, because other
threads may use the framework during the test.
"""

SECONDS: Final = 60.0
"""The time limit of a self-test in seconds. It is long because frameworks are slow on first use."""

_REASON: Final = "the self-test blocks eve"

Pay = Callable[[int, str], str]


class SeamProblem(Exception):
    """A seam of the framework is missing, has changed, or fails the self-test.

    Attributes:
        seam: the name of the seam.
        problem: the problem, as a phrase that follows the name of the seam.
    """

    def __init__(self, seam: str, problem: str) -> None:
        super().__init__(f"{seam} {problem}")
        self.seam, self.problem = seam, problem


class Sample(NamedTuple):
    """A tool of a framework, named `NAME` or as in `when`, with the parameters `amount` and `to`.

    Attributes:
        ways: maps the name of each seam to a function that calls the tool through this seam, with
            an amount and a recipient. The function is an `async def` if the framework is async.
        refused: takes the result or exception of a blocked call, and returns the text of the
            denial, or an empty string if it contains none.
        hook: the common hook, such as `tool_call`, that runs for the calls.
        argument: the argument of the hook that contains the recipient's name.
        when: the condition by which the receivers recognize the calls of the self-test.
        awaits: whether sync calls also await async receivers.
        text: returns the complete text that a reader of a result or exception gets. By default,
            this is the text of the object and of all its attributes.
    """

    ways: Mapping[str, Callable[[int, str], Any]]
    refused: Callable[[Any], str]
    hook: str = "tool_call"
    argument: str = "arguments"
    when: Mapping[str, str] = {"name": NAME}
    awaits: bool = True
    text: Callable[[Any], str] | None = None


MakeSample = Callable[[Pay], Sample]


def functions_of(pay: Pay) -> tuple[Callable[[int, str], str], Callable[[int, str], Any]]:
    """Return the body of the tool as a sync and as an async function. A framework can create a tool
    from either.
    """

    def plain(amount: int, to: str) -> str:
        """Pay in the self-test.

        Args:
            amount: the amount.
            to: the recipient.
        """
        return pay(amount, to)

    async def awaited(amount: int, to: str) -> str:
        """Pay in the self-test.

        Args:
            amount: the amount.
            to: the recipient.
        """
        await asyncio.sleep(0)
        return pay(amount, to)

    plain.__name__ = awaited.__name__ = NAME
    return plain, awaited


def raised_text(given: Any) -> str:
    """Return the text of a denial that was raised as `HookBlocked`."""
    return str(given) if isinstance(given, HookBlocked) else ""


def run_self_test(make: MakeSample, install: Callable[[Bus], Callable[[], None]]) -> None:
    """Install the adapter on a private bus, call the tool in every way, and uninstall the adapter.
    Each way is tested without receivers, with a guard that blocks, with an async guard, and with a
    modifier.

    Args:
        make: creates the tool, given its body.
        install: installs the adapter on a bus, and returns the function that uninstalls it.

    Raises:
        SeamProblem: with the name of the seam that failed.
    """
    bus, problems = Bus(), list[BaseException]()
    uninstall = install(bus)

    def test() -> None:
        try:
            _Test(bus, make).run()
        except BaseException as error:  # raised again in the thread of the caller
            problems.append(error)

    # A new thread: the caller may be inside a running event loop.
    thread = threading.Thread(target=test, name="hookbus-self-test", daemon=True)
    try:
        thread.start()
        thread.join(SECONDS)
    finally:
        uninstall()
    if thread.is_alive():
        raise SeamProblem("the self-test", f"did not end within {SECONDS:.0f} seconds")
    if problems:
        error = problems[0]
        if isinstance(error, SeamProblem) or not isinstance(error, Exception):
            raise error
        raise SeamProblem("the sample tool", f"could not be created: {_describe(error)}") from error


class _Test:
    def __init__(self, bus: Bus, make: MakeSample) -> None:
        self._paid: list[tuple[int, str]] = []
        self._bus, self._sample = bus, make(self._pay)

    def _pay(self, amount: int, to: str) -> str:
        self._paid.append((amount, to))
        return f"paid {amount} to {to}"

    def run(self) -> None:
        for seam in self._sample.ways:
            self._check_plain_call(seam)
            self._check_block(seam, "a guard", self._guard)
            if self._sample.awaits or inspect.iscoroutinefunction(self._sample.ways[seam]):
                self._check_block(seam, "an async guard", self._guard_async, timeout=SECONDS)
            self._check_change(seam)

    def _check_plain_call(self, seam: str) -> None:
        given = self._call(seam, 1, "ann")
        if isinstance(given, BaseException):
            raise SeamProblem(seam, f"raised {_describe(given)}") from given
        if self._paid != [(1, "ann")]:
            times = len(self._paid)
            raise SeamProblem(seam, f"should have run the tool once, but ran it {times} times")

    def _check_block(self, seam: str, who: str, guard: Any, **options: Any) -> None:
        with self._connected("pre", guard, role="guard", **options):
            given = self._call(seam, 2, "eve")
        if self._paid:
            raise SeamProblem(seam, f"entered the body of a tool that {who} had blocked")
        try:
            text = self._sample.refused(given)
        except Exception as error:
            problem = f"returned {given!r} for a blocked call: {_describe(error)}"
            raise SeamProblem(seam, problem) from error
        if _REASON not in text:
            problem = f"returned {given!r} for a blocked call, not the framework's refusal"
            raise SeamProblem(seam, problem)

    def _check_change(self, seam: str) -> None:
        with self._connected("pre", self._change):
            self._call(seam, 3, "eve")
        if self._paid != [(3, "bob")]:
            raise SeamProblem(seam, f"did not pass the changed arguments to the tool: {self._paid}")

    def _connected(self, phase: str, receiver: Any, **options: Any) -> Any:
        signal = self._bus.signal(f"{phase}_{self._sample.hook}")
        return signal.connected_to(receiver, when=dict(self._sample.when), **options)

    def _call(self, seam: str, amount: int, to: str) -> Any:
        """Call the tool, and return its result or exception."""
        self._paid.clear()
        way = self._sample.ways[seam]
        try:
            return asyncio.run(way(amount, to)) if inspect.iscoroutinefunction(way) else way(
                amount, to)  # fmt: skip
        except Exception as error:
            return error

    # -- receivers ---------------------------------------------------------------------------------

    def _guard(self, sender: Any, ctx: Any) -> Block | None:
        return Block(_REASON) if "eve" in repr(ctx.kwargs[self._sample.argument]) else None

    async def _guard_async(self, sender: Any, ctx: Any) -> Block | None:
        await asyncio.sleep(0)
        return self._guard(sender, ctx)

    def _change(self, sender: Any, ctx: Any) -> dict[str, Any]:
        return {self._sample.argument: _renamed(ctx.kwargs[self._sample.argument])}


def _renamed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _renamed(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_renamed(each) for each in value]
    return "bob" if value == "eve" else value


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
