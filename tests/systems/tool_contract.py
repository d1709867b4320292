"""The contract of every framework adapter for tool calls, in every mode of its framework.

The tests of each framework subclass `ToolContract`, in a separate environment. A subclass says how
a run is made: a scripted model requests calls of the tool `pay`, gets their results, and answers
"done". Each mode is a method marked with `@mode`, an `async def` if the framework requires it. It
gets the body of the tool and the arguments of each call, and returns the messages to the model.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, NamedTuple

import pytest

from hookbus import Block, Bus, HookError, Replace
from hookbus.events import Failed, Finished
from hookbus.guards import tool_policy
from hookbus.testing import record

from .contract import attributes_of, changes
from .hangs import SECONDS
from .pages import ROOT, printed_by
from .writes import PLACES, ROLES, connect_lines, connect_writer

SECRET = "pin-4711"
"""Every result holds it."""


class Told(NamedTuple):
    """What came of a run.

    Attributes:
        answers: what the model read of each call, in their order; of a direct call, what the
            program got, or the text of what it caught.
        everything: all that the model and the framework hold of the results afterwards, as text.
        went_on: whether the run came to its end.
    """

    answers: Sequence[str]
    everything: str
    went_on: bool = True


def mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method of a contract as a way to run."""
    function.is_mode = True  # type: ignore[attr-defined]
    return function


class Tool:
    """The tool `pay`: what it was called with, and the result it gives."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, str]] = []
        self._lock = threading.Lock()

    def __call__(self, amount: int, to: str) -> str:
        with self._lock:
            self.paid.append((amount, to))
        return f"paid {amount} to {to}, {SECRET}"


ANN, EVE = {"amount": 1, "to": "ann"}, {"amount": 2, "to": "eve"}


class ToolContract:
    """One guard holds under the framework, in every mode.

    Attributes:
        adapter: its name among the adapters.
        package: its name on PyPI.
        module: what it is imported as.
        pay: what the calls of the tool are told from others by, such as those of an agent that is a
            tool itself.
        besides: how many tool calls more each mode makes, of agents that are tools.
        kinds: what `kind` is in each mode where it is not "function".
        program: the modes in which a program calls, and no model reads.
        counts: what the framework itself changes in its modules when it runs, such as a counter.
        threads: the modes in which tools run in threads, where a guard is waited for to its end.
        unnamed: the modes in which nothing says what parameters a tool has; "*" is all.
    """

    adapter: str
    package: str
    module: str
    pay: dict[str, str] = {"name": "pay"}
    besides: dict[str, int] = {}
    kinds: dict[str, str] = {}
    program: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()

    def install(self, bus: Bus, **options: Any) -> Callable[[], None]:
        raise NotImplementedError

    # -- the frame ---------------------------------------------------------------------------------

    @pytest.fixture
    def bus(self):
        bus = Bus(values=True)
        undo = self.install(bus)
        yield bus
        undo()

    @pytest.fixture
    def tool(self):
        return Tool()

    def run(self, mode: str, tool: Callable[..., Any], *calls: dict[str, Any]) -> Told:
        way = getattr(self, mode)
        if not inspect.iscoroutinefunction(way):
            return way(tool, calls)
        return asyncio.run(asyncio.wait_for(way(tool, calls), SECONDS))

    def not_to_eve(self, bus, **options):
        asked = []

        @bus.signal("pre_tool_call").connect_via(role="guard", when=self.pay, **options)
        def not_to_eve(sender, name, arguments):
            asked.append((name, arguments["to"]))
            return Block("eve is not allowed") if arguments["to"] == "eve" else None

        return asked

    # -- blocks ------------------------------------------------------------------------------------

    def test_without_a_guard_the_tool_runs_and_its_result_is_told(self, bus, mode, tool):
        told = self.run(mode, tool, ANN)
        assert tool.paid == [(1, "ann")] and SECRET in told.answers[0] and told.went_on

    def test_a_guard_blocks_one_call_and_the_model_reads_why(self, bus, mode, tool):
        asked = self.not_to_eve(bus)
        told = self.run(mode, tool, ANN, EVE)
        assert tool.paid == [(1, "ann")], "the body was entered"
        assert "eve is not allowed" in told.answers[1] and "not_to_eve" in told.answers[1]
        assert SECRET in told.answers[0], "the sibling was harmed"
        assert told.went_on
        pay = self.pay["name"]
        assert sorted(asked) == [(pay, "ann"), (pay, "eve")], "not asked once each"

    def test_a_block_may_bring_the_result(self, bus, mode, tool):
        bus.signal("pre_tool_call").connect(
            lambda sender: Block("no", result="try tomorrow"), role="guard", when=self.pay
        )
        told = self.run(mode, tool, ANN)
        assert tool.paid == [] and "try tomorrow" in told.answers[0] and told.went_on

    def test_an_async_guard_blocks_too(self, bus, mode, tool):
        @bus.signal("pre_tool_call").connect_via(role="guard", when=self.pay, timeout=10)
        async def guard(sender, arguments):
            await asyncio.sleep(0)
            return Block("eve is not allowed") if arguments["to"] == "eve" else None

        told = self.run(mode, tool, ANN, EVE)
        assert tool.paid == [(1, "ann")] and "eve is not allowed" in told.answers[1]

    def test_a_guard_that_breaks_closes_and_leaks_nothing(self, bus, mode, tool):
        @bus.signal("pre_tool_call").connect_via(role="guard", when=self.pay)
        def broken(sender):
            raise LookupError("the policy is in /secret/file")

        told = self.run(mode, tool, ANN)
        assert tool.paid == [] and "guard failed" in told.answers[0]
        assert "/secret/file" not in told.everything

    def test_a_guard_that_is_late_closes(self, bus, mode, tool):
        released = threading.Event()

        @bus.signal("pre_tool_call").connect_via(role="guard", when=self.pay, timeout=0.05)
        def late(sender):
            released.wait(5)

        told = self.run(mode, tool, ANN)
        released.set()
        assert tool.paid == [] and "guard failed" in told.answers[0]

    def test_a_guard_of_the_result_withholds_it(self, bus, mode, tool):
        @bus.signal("post_tool_call").connect_via(role="guard", when=self.pay)
        def no_pins(sender, result):
            return Block("a pin stays here") if SECRET in str(result) else None

        told = self.run(mode, tool, ANN)
        assert "a pin stays here" in told.answers[0] and SECRET not in told.everything

    def test_a_rule_for_an_argument_that_the_tool_does_not_have_is_noticed(self, bus, mode, tool):
        guard = tool_policy(allow="*", deny={self.pay["name"]: {"too": "eve"}})
        bus.register(guard)
        told = self.run(mode, tool, EVE)
        if {mode, "*"} & {*self.unnamed}:
            assert any("'too'" in each for each in guard.unused_rules())
        else:
            assert tool.paid == [] and "did you mean 'to'" in told.answers[0]

    # -- changes -----------------------------------------------------------------------------------

    def test_changed_arguments_arrive_and_are_what_guards_saw(self, bus, mode, tool):
        asked = self.not_to_eve(bus)
        bus.signal("pre_tool_call").connect(
            lambda sender, arguments: {"arguments": {**arguments, "to": "bob"}}, when=self.pay
        )
        self.run(mode, tool, EVE)
        assert tool.paid == [(2, "bob")] and asked == [(self.pay["name"], "bob")]

    def test_a_changed_result_is_told_and_no_copy_of_the_old_one(self, bus, mode, tool):
        bus.signal("post_tool_call").connect(
            lambda sender, result: str(result).replace(SECRET, "****"),
            on_error="block",
            when=self.pay,
        )
        told = self.run(mode, tool, ANN)
        assert "paid 1 to ann, ****" in told.answers[0] and SECRET not in told.everything

    def test_a_replaced_call_is_told_its_result_without_running(self, bus, mode, tool):
        bus.signal("pre_tool_call").connect(lambda sender: Replace("from the cache"), when=self.pay)
        told = self.run(mode, tool, ANN)
        assert tool.paid == [] and "from the cache" in told.answers[0] and told.went_on

    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("role", ROLES)
    def test_a_write_in_place_reaches_no_tool_and_is_reported(self, bus, mode, tool, role, place):
        if place == "nested":
            connect_lines(bus, when=self.pay)
        connect_writer(bus, role, place, when=self.pay)
        with record(bus) as fired:
            try:
                self.run(mode, tool, ANN)
            except Exception:  # what an around raises goes out, where the framework lets it
                assert role == "around"
        assert tool.paid == ([(1, "ann")] if role in ("modify", "observe") else [])
        acted = {"guard": "blocked", "around": "raised"}.get(role, "isolated")
        failures = {(each.receiver, each.action) for each in fired.of(Failed)}
        assert failures == {("write", acted)}  # some frameworks try again

    def test_an_around_may_run_the_tool_from_a_plain_thread(self, bus, mode, tool):
        @bus.signal("around_tool_call").connect_via(when=self.pay)
        def elsewhere(sender, call_next):
            found = []
            thread = threading.Thread(target=lambda: found.append(call_next()))
            thread.start()
            thread.join()
            return found[0]

        told = self.run(mode, tool, ANN)
        assert tool.paid == [(1, "ann")] and SECRET in told.answers[0] and told.went_on

    # -- what receivers see ------------------------------------------------------------------------

    def test_receivers_see_the_vocabulary(self, bus, mode, tool):
        seen = []

        @bus.signal("post_tool_call").connect_via(role="observe", when=self.pay)
        def look(sender, name, arguments, call_id, kind, tool, result):
            seen.append((name, arguments, kind, tool is sender, SECRET in str(result)))

        self.run(mode, tool, ANN)
        assert seen == [(self.pay["name"], ANN, self.kinds.get(mode, "function"), True, True)]

    def test_events_tell_every_call_once(self, bus, mode, tool):
        with record(bus) as fired:
            self.run(mode, tool, ANN, EVE)
        ended = [each.outcome for each in fired.of(Finished) if each.hook == "tool_call"]
        assert ended == ["returned"] * (2 + self.besides.get(mode, 0))

    # -- many at once ------------------------------------------------------------------------------

    def test_of_twenty_calls_at_once_all_are_asked_and_ten_refused(self, bus, mode, tool):
        asked = self.not_to_eve(bus)
        calls = [{"amount": i, "to": "eve" if i % 2 else "ann"} for i in range(20)]
        told = self.run(mode, tool, *calls)
        assert sorted(tool.paid) == [(i, "ann") for i in range(0, 20, 2)]
        assert len(asked) == 20
        assert ["eve is not allowed" in answer for answer in told.answers] == [False, True] * 10

    # -- cancellation ------------------------------------------------------------------------------

    def test_a_cancelled_run_hangs_not_and_runs_nothing_afterwards(self, bus, mode, tool):
        way = getattr(self, mode)
        if not inspect.iscoroutinefunction(way):
            return  # nobody can cancel it
        asked, loop = asyncio.Event(), asyncio.new_event_loop()

        @bus.signal("pre_tool_call").connect_via(role="guard", when=self.pay)
        async def waits(sender):
            loop.call_soon_threadsafe(asked.set)
            await asyncio.sleep(1 if mode in self.threads else 2 * SECONDS)

        async def main():
            running = asyncio.ensure_future(way(tool, [ANN]))
            await asyncio.wait_for(asked.wait(), SECONDS)
            running.cancel()
            await asyncio.wait({running}, timeout=SECONDS)
            assert running.done()
            await asyncio.sleep(0.05)

        begun = time.monotonic()
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(main())
        assert tool.paid == [] and time.monotonic() - begun < SECONDS

    # -- the page ----------------------------------------------------------------------------------

    def test_the_page_prints_what_it_says(self, tmp_path):
        page = ROOT / "docs" / "how-to" / "frameworks" / f"{self.adapter.replace('_', '-')}.md"
        program = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[0]
        assert f"adapters.{self.adapter}." in program
        path = tmp_path / "page.py"
        path.write_text(program)
        said = [line.rpartition("  # ")[2] for line in program.splitlines() if "print(" in line]
        assert said and printed_by(str(path)).splitlines() == said

    def test_the_example_prints_what_it_says(self):
        path = ROOT / "examples" / f"{self.adapter}_agent.py"
        if path.exists():
            said = path.read_text().partition("# It prints:\n")[2].replace("# ", "")
            assert said and printed_by(str(path)) == said

    # -- put in place and taken back ---------------------------------------------------------------

    def test_uninstall_leaves_no_trace_and_nobody_is_asked(self, mode, tool):
        self.run(mode, tool, ANN)  # loads what is loaded late
        bus, before = Bus(), attributes_of(self.module)
        asked = self.not_to_eve(bus)
        undo = self.install(bus)
        try:
            assert changes(before, attributes_of(self.module)) != []
            self.run(mode, tool, EVE)
        finally:
            undo()
            undo()
        assert {*changes(before, attributes_of(self.module))} <= {*self.counts}
        assert bus.hook_names() == [] and len(asked) == 1
        self.run(mode, tool, EVE)
        assert len(asked) == 1 and tool.paid == [(1, "ann"), (2, "eve")]

    def test_the_sentence_of_a_refusal_can_be_ones_own(self, mode, tool):
        bus = Bus()
        undo = self.install(bus, say=lambda blocked: f"Sorry: {blocked.reason}.")
        try:
            self.not_to_eve(bus)
            told = self.run(mode, tool, EVE)
        finally:
            undo()
        if mode not in self.program:
            assert "Sorry: eve is not allowed." in told.answers[0]

    def test_installing_twice_and_an_unknown_version_are_refused(self, monkeypatch):
        undo = self.install(Bus())
        try:
            with pytest.raises(HookError, match="already runs on hookbus"):
                self.install(Bus())
        finally:
            undo()
        installed = metadata.version(self.package)
        monkeypatch.setattr(metadata, "version", lambda name: "0.0.1")
        with pytest.raises(HookError, match=r"0\.0\.1 is installed, and this adapter supports"):
            self.install(Bus())
        monkeypatch.undo()
        assert metadata.version(self.package) == installed


def pytest_generate_tests(metafunc: Any) -> None:
    """Run what takes a mode in each that the class has; import this into the test's module."""
    if "mode" in metafunc.fixturenames:
        modes = [
            name for name, each in inspect.getmembers(metafunc.cls) if hasattr(each, "is_mode")
        ]
        metafunc.parametrize("mode", modes)
