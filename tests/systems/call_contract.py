"""What every adapter does with injected arguments of a tool, and with calls of unknown tools.

A subclass runs its framework twice, with `inject` if the framework injects anything.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hookbus import Ask, Block, Bus, Replace, guards
from hookbus.approvals import Approved
from hookbus.events import Finished, Started
from hookbus.journal import Journal
from hookbus.testing import record

from .hangs import SECONDS
from .spans import spans_of
from .tool_contract import ANN

HIDDEN = "the-frameworks-own-4711"
"""Is somewhere in what is injected."""


class Wallet:
    """The tool `pay`, whose framework gives it more than its arguments."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, str]] = []
        self.injected: list[Any] = []

    def __call__(self, amount: int, to: str, *injected: Any) -> str:
        self.paid.append((amount, to))
        self.injected.append(injected)
        return f"paid {amount} to {to}"


class Installed:
    """An adapter, on a bus of the test."""

    install: Callable[..., Callable[[], None]]

    @pytest.fixture
    def bus(self):
        bus = Bus(values=True)
        undo = self.install(bus)
        yield bus
        undo()

    def run(self, way: Callable[..., Any], *args: Any) -> Any:
        found = way(*args)
        if inspect.isawaitable(found):
            found = asyncio.run(asyncio.wait_for(found, SECONDS))
        return found


class InjectedContract(Installed):
    """One tool gets what its framework injects."""

    def inject(self, wallet: Wallet) -> Any:
        """Have a model call `pay` with `ANN`; the tool calls the wallet with what it is given."""
        raise NotImplementedError

    def is_reached(self, injected: tuple[Any, ...]) -> bool:
        """Tell whether this is what the framework was to inject."""
        return HIDDEN in repr(injected)

    def test_what_is_injected_reaches_the_tool_and_is_no_argument(self, bus):
        wallet, seen = Wallet(), []
        bus.signal("pre_tool_call").connect(
            lambda sender, arguments, ctx: seen.append(
                (dict(arguments), HIDDEN in repr(ctx.kwargs))
            ),
            role="observe", name="look",
        )  # fmt: skip
        with record(bus) as fired:
            self.run(self.inject, wallet)
        assert wallet.paid == [(1, "ann")] and all(map(self.is_reached, wallet.injected))
        assert seen == [(ANN, False)]
        of_pay = [each for each in fired.events if getattr(each, "hook", "") == "tool_call"]
        assert of_pay and not any(HIDDEN in str(each.as_dict()) for each in of_pay)

    def test_a_call_of_such_a_tool_can_be_approved(self, bus):
        wallet, asked = Wallet(), []
        bus.signal("pre_tool_call").connect(
            lambda sender: Ask("may it?"), role="guard", name="asks"
        )

        @bus.approver
        def grace(request):
            asked.append(request.arguments["arguments"])
            return Approved("grace")

        self.run(self.inject, wallet)
        assert asked == [ANN] and wallet.paid == [(1, "ann")]
        assert all(map(self.is_reached, wallet.injected))

    def test_changed_arguments_leave_what_is_injected_where_it_is(self, bus):
        wallet = Wallet()
        bus.signal("pre_tool_call").connect(
            lambda sender, arguments: {"arguments": {"amount": 5, "to": "bob"}}, name="change"
        )
        self.run(self.inject, wallet)
        assert wallet.paid == [(5, "bob")] and all(map(self.is_reached, wallet.injected))


class UnknownContract(Installed):
    """A model asks for a tool that does not exist."""

    reads_refusals = True
    """Whether a model reads why such a call was refused."""

    def ask_for_fly(self) -> Any:
        """Have a model call the tool `fly`, which nobody has, with `to="moon"`. Return what it
        reads, or what the run raises, as text."""
        raise NotImplementedError

    def test_a_call_of_a_tool_that_does_not_exist_is_reported(self, bus):
        seen = []
        bus.signal("pre_tool_call").connect(
            lambda sender, name, kind, arguments: seen.append((name, kind, dict(arguments))),
            role="observe", name="look", when={"name": "fly"},
        )  # fmt: skip
        with record(bus) as fired:
            assert self.run(self.ask_for_fly)
        assert seen == [("fly", "unknown", {"to": "moon"})]
        assert [each.labels.get("name") for each in fired.of(Started)].count("fly") == 1

    def test_what_a_model_reads_of_such_a_tool_is_as_without_hooks(self):
        plain = self.run(self.ask_for_fly)
        undo = self.install(Bus())
        try:
            hooked = self.run(self.ask_for_fly)
        finally:
            undo()
        assert plain == hooked

    def test_a_counting_guard_counts_such_calls(self, bus):
        asked = []

        @bus.signal("pre_tool_call").connect_via(role="guard", when={"name": "fly"})
        def no_loops(sender, name):
            asked.append(name)
            return Block("that is enough")

        told = self.run(self.ask_for_fly)
        assert asked == ["fly"]
        assert ("that is enough" in told) or not self.reads_refusals


class PauseContract(Installed):
    """The body of `pay` hands control back to its framework.

    Attributes:
        pauses: by what a body does so, by name: each makes an exception.
        is_async: whether the hook is awaited.
    """

    is_async = True

    pauses: dict[str, Callable[[], BaseException]]

    def pause(self, body: Callable[[], Any]) -> Any:
        """Have a model call `pay` once, whose body this is. Return what came of the run, as
        text."""
        raise NotImplementedError

    @pytest.fixture
    def ran(self):
        return []

    def body(self, name: str, ran: list[str]) -> Callable[[], Any]:
        def run() -> Any:
            ran.append(name)
            raise self.pauses[name]()

        return run

    def outcome(self, name: str, ran: list[str]) -> str:
        """Return what comes of a run: also what is raised, by its type."""
        try:
            return str(self.run(self.pause, self.body(name, ran)))
        except BaseException as error:
            return f"{type(error).__name__}: {error}"

    def test_a_pause_goes_through_what_rescues_retries_and_records(
        self, name, tmp_path, monkeypatch
    ):
        monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
        plain_ran: list[str] = []
        plain = self.outcome(name, plain_ran)
        around = goes_around_async if self.is_async else goes_around
        for way in (rescues, retries, falls_back, around, keeps):
            bus, ran = Bus(), []
            undo = self.install(bus)
            try:
                with way(bus, tmp_path), record(bus) as fired, spans_of(bus) as spans:
                    found = self.outcome(name, ran)
                    calls = [span for span in spans() if span[0].startswith("execute_tool")]
            finally:
                undo()
            ended = [each.outcome for each in fired.of(Finished) if each.hook == "tool_call"]
            assert (way, ran, found) == (way, plain_ran, plain)
            assert ended == ["paused"] * len(ran), way
            assert [span[2:] for span in calls] == [("paused", None)] * len(ran), way


@contextmanager
def rescues(bus: Bus, folder: Any) -> Iterator[None]:
    bus.signal("error_tool_call").connect(lambda sender: Replace("rescued"), name="rescue")
    yield


@contextmanager
def retries(bus: Bus, folder: Any) -> Iterator[None]:
    bus.register(guards.retry(attempts=3, wait_initial=0.001))
    yield


@contextmanager
def falls_back(bus: Bus, folder: Any) -> Iterator[None]:
    bus.register(guards.fallback({"arguments": {"amount": 9, "to": "bob"}}))
    yield


@contextmanager
def goes_around(bus: Bus, folder: Any) -> Iterator[None]:
    """What is around tries again and gives something else."""

    def swallow(sender: Any, call_next: Any) -> Any:
        for _ in range(2):
            try:
                return call_next()
            except Exception:  # noqa: S112
                continue
        return "swallowed"

    bus.signal("around_tool_call").connect(swallow)
    yield


@contextmanager
def goes_around_async(bus: Bus, folder: Any) -> Iterator[None]:
    async def swallow(sender: Any, call_next: Any) -> Any:
        for _ in range(2):
            try:
                return await call_next()
            except Exception:  # noqa: S112
                continue
        return "swallowed"

    bus.signal("around_tool_call").connect(swallow)
    yield


@contextmanager
def keeps(bus: Bus, folder: Any) -> Iterator[None]:
    with Journal(folder / "journal.db") as journal:
        journal.attach(bus)
        journal.durable("tool_call", bus=bus)
        yield
        journal.flush()
        ends = [each.data for each in journal.records() if each.type == "hookbus.finished"]
        assert {each["outcome"] for each in ends if each["hook"] == "tool_call"} == {"paused"}


def pytest_generate_tests(metafunc: Any) -> None:
    """Run what takes a name for each pause of its class; import this into the test's module."""
    if "name" in metafunc.fixturenames and hasattr(metafunc.cls, "pauses"):
        metafunc.parametrize("name", metafunc.cls.pauses)
