"""What every adapter does with what its framework puts among a tool's arguments, and with calls of
tools that do not exist. A subclass runs its framework twice; `inject` where it injects anything.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from hookbus import Ask, Block, Bus
from hookbus.approvals import Approved
from hookbus.events import Started
from hookbus.testing import record

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
        return asyncio.run(asyncio.wait_for(found, 60)) if inspect.isawaitable(found) else found


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
            lambda sender, arguments, ctx: seen.append((dict(arguments), HIDDEN in repr(ctx.kwargs))),
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
        bus.signal("pre_tool_call").connect(lambda sender: Ask("may it?"), role="guard", name="asks")

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
