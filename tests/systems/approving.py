"""The contract of approvals: the framework's own approvals carry a guard's question to a person.

A subclass says how its framework starts a run, where it stores a paused one, and how it resumes.
The paused run is on disk, so that another process can continue it.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookbus import Ask, Block, Bus, HookError
from hookbus.approvals import Approved, Store

from .install import ROOT
from .tool_contract import ANN, EVE, SECRET, Told, Tool

Asked = list[dict[str, Any]]
"""What a person is shown: `id`, `question`, `tool`, `arguments`."""

Answers = list[dict[str, Any]]
"""What they say to some of it, as `hookbus.adapters` reads it."""


def yes(asked: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": asked["id"], "approved": True, **more}


def no(asked: dict[str, Any], reason: str) -> dict[str, Any]:
    return {"id": asked["id"], "approved": False, "reason": reason}


class ApprovalContract:
    """The tool `pay` is behind a guard that asks about everybody and blocks eve.

    Attributes:
        adapter: its name among the adapters.
        no: what a model reads of a person's "not today".
    """

    adapter: str
    no = "not today"
    install: Callable[..., Callable[[], None]]

    async def begin(self, body: Any, calls: Any, saved: Path) -> Asked | Told:
        """Have a scripted model ask for the calls; what is paused is saved."""
        raise NotImplementedError

    async def go_on(self, body: Any, calls: Any, saved: Path, answers: Answers) -> Asked | Told:
        """Resume what was saved with these answers, their way."""
        raise NotImplementedError

    # -- the frame ---------------------------------------------------------------------------------

    @pytest.fixture
    def store(self, tmp_path):
        return Store(tmp_path / "approvals.db")

    @pytest.fixture
    def bus(self, store):
        bus = Bus()
        undo = self.install(bus, approver=store)
        asks(bus)
        yield bus
        undo()

    @pytest.fixture
    def tool(self):
        return Tool()

    @pytest.fixture
    def saved(self, tmp_path):
        return tmp_path / "saved"

    async def converse(
        self, tool: Any, calls: Sequence[Any], saved: Path, person: Callable[[Any], Any]
    ) -> Told:
        found = await self.begin(tool, calls, saved)
        for _ in range(5):
            if isinstance(found, Told):
                return found
            said = [answer for answer in map(person, found) if answer is not None]
            found = await self.go_on(tool, calls, saved, said)
        raise AssertionError(f"the run is still paused: {found}")

    # -- answers -----------------------------------------------------------------------------------

    async def test_a_yes_lets_the_call_that_was_shown_run_once(self, bus, tool, saved, store):
        asked = []

        def person(shown):
            assert tool.paid == [], "it ran before anybody said yes"
            asked.append(shown)
            return yes(shown)

        told = await self.converse(tool, [ANN], saved, person)
        assert [(each["tool"], each["arguments"]) for each in asked] == [("pay", ANN)]
        assert "may ann be paid?" in asked[0]["question"]
        assert tool.paid == [(1, "ann")] and SECRET in told.answers[0] and told.went_on
        assert [case.state for case in store.history()] == ["used"]

    async def test_a_no_is_what_the_model_reads(self, bus, tool, saved):
        told = await self.converse(tool, [ANN], saved, lambda shown: no(shown, "not today"))
        assert tool.paid == [] and told.went_on
        assert self.no in told.answers[0]

    async def test_each_call_has_an_answer_of_its_own(self, bus, tool, saved):
        def person(shown):
            is_yes = shown["arguments"]["to"] == "bob"
            return yes(shown) if is_yes else no(shown, "not today")

        calls = [ANN, {"amount": 3, "to": "bob"}, EVE]
        told = await self.converse(tool, calls, saved, person)
        assert tool.paid == [(3, "bob")] and SECRET in told.answers[1]
        assert SECRET not in told.answers[0] and "eve is not allowed" in told.answers[2]

    async def test_the_person_is_shown_what_will_run(self, bus, tool, saved):
        bus.signal("pre_tool_call").connect(
            lambda sender, arguments: {"arguments": {**arguments, "to": "bob"}}
        )
        asked = []

        def person(shown):
            asked.append(shown)
            return yes(shown)

        told = await self.converse(tool, [ANN], saved, person)
        assert asked[0]["arguments"] == {"amount": 1, "to": "bob"}
        assert tool.paid == [(1, "bob")] and told.went_on

    def test_without_it_nobody_is_asked(self, tmp_path):
        bus, store = Bus(), Store(tmp_path / "approvals.db")
        self.install(bus, approver=store)()
        bus.approver(lambda request: Approved("grace"))  # nobody is there any more
        with pytest.raises(HookError, match="already has an approver"):
            self.install(bus, approver=store)
        with pytest.raises(HookError, match="must be a hookbus.approvals.Store"):
            self.install(Bus(), approver=True)
        self.install(Bus())()

    def test_the_page_prints_what_it_says(self, tmp_path):
        page = ROOT / "docs" / "how-to" / "frameworks" / f"{self.adapter.replace('_', '-')}.md"
        programs = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
        [program] = [each for each in programs if "approver=" in each]
        assert f"adapters.{self.adapter}." in program
        said = [line.rpartition("  # ")[2] for line in program.splitlines() if "print(" in line]
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
        )
        assert said and done.stdout.splitlines() == said, done.stderr


class PausedContract(ApprovalContract):
    """Where a paused run is kept, and may be gone on with by another process."""

    async def test_an_answer_to_something_else_lets_nothing_pass(self, bus, tool, saved):
        asked = await self.begin(tool, [ANN], saved)
        again = await self.go_on(tool, [ANN], saved, [{**yes(asked[0]), "id": "another"}])
        assert [each["id"] for each in again] == [asked[0]["id"]] and tool.paid == []
        told = await self.go_on(tool, [ANN], saved, [yes(asked[0])])
        assert tool.paid == [(1, "ann")] and told.went_on

    async def test_other_arguments_are_another_question(self, bus, tool, saved, store):
        asked = await self.begin(tool, [ANN], saved)
        changes = bus.signal("pre_tool_call").connected_to(
            lambda s, arguments: {"arguments": {**arguments, "amount": 9000}}
        )
        with changes:
            await self.go_on(tool, [ANN], saved, [yes(asked[0])])
        other = store.pending()[-1]
        assert tool.paid == [] and other.id != asked[0]["id"]
        assert other.arguments["arguments"] == {"amount": 9000, "to": "ann"}

    async def test_a_yes_that_was_used_is_none_for_the_same_run_again(self, bus, tool, saved):
        asked = await self.begin(tool, [ANN], saved)
        kept = saved.read_bytes()
        await self.go_on(tool, [ANN], saved, [yes(asked[0])])
        assert tool.paid == [(1, "ann")]
        saved.write_bytes(kept)
        await self.go_on(tool, [ANN], saved, [yes(asked[0])])
        assert tool.paid == [(1, "ann")], "one yes was used twice"

    async def test_who_answers_at_the_store_needs_no_more_than_to_resume(
        self, bus, tool, saved, store
    ):
        await self.begin(tool, [ANN], saved)
        [request] = store.pending()
        edited = {**request.arguments, "arguments": {"amount": 5, "to": "bob"}}
        store.answer(request.id, Approved("grace", arguments=edited))
        told = await self.go_on(tool, [ANN], saved, [])
        assert tool.paid == [(5, "bob")] and told.went_on

    def test_another_process_goes_on_with_it(self, tmp_path):
        for name in ("pauses", "answers_the_run", "goes_on"):
            self.process(name, tmp_path)

    def test_a_parked_call_passes_once_when_another_process_has_said_yes(self, tmp_path):
        for name in ("is_parked", "answers_at_the_store", "passes_once"):
            self.process(name, tmp_path)

    def process(self, name: str, folder: Path) -> None:
        own = f"from {type(self).__module__} import {type(self).__name__} as Own; "
        run = f"from tests.systems.approving import {name}; {name}(Own(), {str(folder)!r})"
        done = subprocess.run(
            [sys.executable, "-c", own + run], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


class EditedContract(PausedContract):
    """Where an answer may bring other arguments."""

    async def test_edited_arguments_run(self, bus, tool, saved):
        edited = {"amount": 5, "to": "bob"}
        told = await self.converse(tool, [ANN], saved, lambda shown: yes(shown, arguments=edited))
        assert tool.paid == [(5, "bob")] and told.went_on

    async def test_edited_arguments_are_judged_again(self, bus, tool, saved):
        told = await self.converse(tool, [ANN], saved, lambda shown: yes(shown, arguments=EVE))
        assert tool.paid == [] and "eve is not allowed" in told.answers[0]


def asks(bus: Bus) -> None:
    @bus.signal("pre_tool_call").connect_via(role="guard")
    def asks_first(sender, name, arguments):
        if arguments["to"] == "eve":
            return Block("eve is not allowed")
        return Ask(f"may {arguments['to']} be paid?")


# -- steps of a run, each in a process of its own --------------------------------------------------


def pauses(contract: Any, folder: str) -> None:
    tool = Tool()
    with running(contract, folder, pauses=True):
        found = asyncio.run(contract.begin(tool, [ANN], Path(folder, "saved")))
    assert not isinstance(found, Told) and tool.paid == []


def answers_the_run(contract: Any, folder: str) -> None:
    [request] = Store(Path(folder, "approvals.db")).pending()
    Path(folder, "answer").write_text(json.dumps({"id": request.id, "approved": True}))


def goes_on(contract: Any, folder: str) -> None:
    tool, answer = Tool(), json.loads(Path(folder, "answer").read_text())
    with running(contract, folder, pauses=True):
        told = asyncio.run(contract.go_on(tool, [ANN], Path(folder, "saved"), [answer]))
    assert told.went_on and SECRET in told.answers[0] and tool.paid == [(1, "ann")]


def is_parked(contract: Any, folder: str) -> None:
    tool = Tool()
    with running(contract, folder) as store:
        told = asyncio.run(contract.begin(tool, [ANN], Path(folder, "first")))
    [request] = store.pending()
    assert tool.paid == [] and told.went_on
    assert f"approval pending (request {request.id}" in told.answers[0]


def answers_at_the_store(contract: Any, folder: str) -> None:
    store = Store(Path(folder, "approvals.db"))
    store.answer(store.pending()[0].id, Approved("grace"))


def passes_once(contract: Any, folder: str) -> None:
    tool = Tool()
    with running(contract, folder) as store:
        told = asyncio.run(contract.begin(tool, [ANN], Path(folder, "second")))
        assert tool.paid == [(1, "ann")] and SECRET in told.answers[0] and told.went_on
        again = asyncio.run(contract.begin(tool, [ANN], Path(folder, "third")))
    assert tool.paid == [(1, "ann")] and store.pending()[0].id in again.answers[0]


@contextmanager
def running(contract: Any, folder: str, *, pauses: bool = False) -> Iterator[Store]:
    """Have the framework run on hookbus, with a store that is on the disk."""
    bus, store = Bus(), Store(Path(folder, "approvals.db"))
    undo = contract.install(bus, approver=store if pauses else None)
    if not pauses:
        bus.approver(store)
    asks(bus)
    try:
        yield store
    finally:
        undo()
