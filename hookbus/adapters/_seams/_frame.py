"""The self-test of an adapter: one tool of its framework, called on a bus of its own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from hookbus import Block, Bus, HookBlocked

NAME: Final = "hookbus_self_test"
"""The name of the tool. The receivers of the self-test are connected for it alone, since other
threads may use the framework meanwhile."""

SECONDS: Final = 60.0
"""How long a self-test may take: frameworks are slow when they are first used."""

_REASON: Final = "the self-test blocks eve"

Pay = Callable[[int, str], str]


class SeamProblem(Exception):
    """A seam that is not as it was.

    Attributes:
        seam: its name.
        problem: what is wrong with it, as the rest of a sentence.
    """

    def __init__(self, seam: str, problem: str) -> None:
        super().__init__(f"{seam} {problem}")
        self.seam, self.problem = seam, problem


class Sample(NamedTuple):
    """A tool of a framework, named `NAME`, with the parameters `amount` and `to`.

    Attributes:
        ways: from the name of a seam, what calls the tool through it with an amount and a name;
            an `async def` where the framework is awaited.
        refused: given what a call returned or raised, the text of the block; empty if the framework
            gets it in another way.
        hook: the hook of the vocabulary that the calls come through.
        argument: the argument of that hook that has the name.
        when: the filter that selects the calls.
        awaits: whether plain ways await async receivers, too.
    """

    ways: Mapping[str, Callable[[int, str], Any]]
    refused: Callable[[Any], str]
    hook: str = "tool_call"
    argument: str = "arguments"
    when: Mapping[str, str] = {"name": NAME}
    awaits: bool = True


MakeSample = Callable[[Pay], Sample]


def functions_of(pay: Pay) -> tuple[Callable[[int, str], str], Callable[[int, str], Any]]:
    """Return the body of the tool as a function that a framework makes a tool of, and as one that
    is awaited."""

    def plain(amount: int, to: str) -> str:
        """Pay in the self-test.

        Args:
            amount: how much.
            to: whom.
        """
        return pay(amount, to)

    async def awaited(amount: int, to: str) -> str:
        """Pay in the self-test.

        Args:
            amount: how much.
            to: whom.
        """
        await asyncio.sleep(0)
        return pay(amount, to)

    plain.__name__ = awaited.__name__ = NAME
    return plain, awaited


def raised_text(given: Any) -> str:
    """Return the text of a refusal where a program gets it: it raises `HookBlocked`."""
    return str(given) if isinstance(given, HookBlocked) else ""


def run_self_test(make: MakeSample, install: Callable[[Bus], Callable[[], None]]) -> None:
    """Install on a private bus, call the tool in every way, and uninstall: without receivers, with
    a guard that blocks, with an async one, and with a modifier.

    Args:
        make: makes the tool, given its body.
        install: puts the framework on a bus, and returns what takes it off.

    Raises:
        SeamProblem: naming the seam that did not do what it does.
    """
    bus, problems = Bus(), list[BaseException]()
    uninstall = install(bus)

    def test() -> None:
        try:
            _Test(bus, make).run()
        except BaseException as error:  # it is raised where it can be caught
            problems.append(error)

    # A thread of its own: the caller may be inside of a running event loop.
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
        raise SeamProblem("the sample tool", f"could not be made: {_describe(error)}") from error


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
            raise SeamProblem(seam, f"did not run the tool once: it ran {len(self._paid)} times")

    def _check_block(self, seam: str, who: str, guard: Any, **options: Any) -> None:
        with self._connected("pre", guard, role="guard", **options):
            given = self._call(seam, 2, "eve")
        if self._paid:
            raise SeamProblem(seam, f"entered the body of a tool that {who} had blocked")
        try:
            text = self._sample.refused(given)
        except Exception as error:
            raise SeamProblem(seam, f"gave {given!r} for a refusal: {_describe(error)}") from error
        if _REASON not in text:
            raise SeamProblem(seam, f"did not give the framework's own refusal, but {given!r}")

    def _check_change(self, seam: str) -> None:
        with self._connected("pre", self._change):
            self._call(seam, 3, "eve")
        if self._paid != [(3, "bob")]:
            raise SeamProblem(seam, f"did not give the tool the changed arguments: {self._paid}")

    def _connected(self, phase: str, receiver: Any, **options: Any) -> Any:
        signal = self._bus.signal(f"{phase}_{self._sample.hook}")
        return signal.connected_to(receiver, when=dict(self._sample.when), **options)

    def _call(self, seam: str, amount: int, to: str) -> Any:
        """Call the tool; return what that gave or raised."""
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
