"""What is special about the Claude Agent SDK: the CLI's own tools, and two halves of one call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from claude_agent_sdk import HookMatcher, PermissionResultDeny

from hookbus import Block, Bus, Replace
from hookbus.adapters import claude_agent
from hookbus.events import Finished
from hookbus.testing import record

from .claude_model import results_in, scripted, text_of
from .hangs import SECONDS
from .test_claude_agent_contract import PAY, Session

SECRET = "pin-4711"
ANN = {"amount": 1, "to": "ann"}


@pytest.fixture
def bus():
    bus = Bus(values=True)
    undo = claude_agent.install(bus)
    yield bus
    undo()


@pytest.fixture
def run(tmp_path):
    """Run a session whose model asks for the calls; return it, and what the model read of each."""

    def run(*calls: tuple[str, dict[str, Any]], body: Any = None, **options: Any):
        with scripted(*calls) as model:
            session = Session(model, tmp_path, body, **options)
            asyncio.run(asyncio.wait_for(session.client(), SECONDS))
        read = results_in(model.asked[-1])
        return session, [text_of(read[key]) for key in sorted(read)]

    return run


def shell(command):
    return "Bash", {"command": command, "description": "Run it."}


class TestTheToolsOfTheCLI:
    def test_a_guard_keeps_a_command_from_the_shell(self, bus, run, tmp_path):
        @bus.signal("pre_tool_call").connect_via(role="guard", when={"name": "Bash"})
        def no_touching(session, arguments, kind):
            assert kind == "builtin"
            return Block("touch nothing") if "touch" in arguments["command"] else None

        _, answers = run(shell(f"touch {tmp_path}/made"), shell("echo hello"))
        assert not (tmp_path / "made").exists()
        assert "touch nothing" in answers[0] and answers[1] == "hello"

    def test_a_changed_command_is_what_the_shell_runs(self, bus, run):
        bus.signal("pre_tool_call").connect(
            lambda session, arguments: {"arguments": {**arguments, "command": "echo bye"}}
        )
        assert run(shell("echo hello"))[1] == ["bye"]

    def test_text_takes_the_place_of_all_that_a_shell_printed(self, bus, run):
        @bus.signal("post_tool_call").connect_via(on_error="block")
        def redact(session, result):
            return result["stdout"].replace(SECRET, "****")

        _, answers = run(shell(f"echo {SECRET}; echo {SECRET} >&2"))
        assert "****" in answers[0] and SECRET not in answers[0]

    def test_data_of_the_tools_own_shape_takes_its_place(self, bus, run):
        @bus.signal("post_tool_call").connect_via(on_error="block")
        def redact(session, result):
            text = result["file"]["content"].replace(SECRET, "****")
            return {**result, "file": {**result["file"], "content": text}}

        session, answers = self.read(run)
        assert "****" in answers[0] and SECRET not in repr(session.model.asked)

    def test_another_shape_ends_the_run_before_the_model_reads_the_old_result(self, bus, run):
        bus.signal("post_tool_call").connect(lambda session, result: "****", on_error="block")
        session, answers = self.read(run)
        assert answers == [] and SECRET not in repr(session.model.asked)

    def read(self, run):
        return run(("Read", {"file_path": str(self.file)}))

    @pytest.fixture(autouse=True)
    def a_file(self, tmp_path):
        self.file = tmp_path / "notes.txt"
        self.file.write_text(f"the {SECRET}")


class TestTwoHalves:
    def test_an_around_sees_the_whole_call(self, bus, run):
        seen = []

        async def around(session, name, call_next):
            seen.append(name)
            seen.append(await call_next())

        bus.signal("around_tool_call").connect(around)
        run((PAY, ANN), body=lambda amount, to: f"paid {to}")
        assert seen == [PAY, "paid ann"]

    def test_an_around_that_tries_again_withholds_the_result(self, bus, run):
        async def twice(session, call_next):
            await call_next()
            return await call_next()

        bus.signal("around_tool_call").connect(twice)
        session, answers = run((PAY, ANN), body=lambda amount, to: SECRET)
        assert "cannot run it again" in answers[0] and SECRET not in repr(session.model.asked)

    def test_what_an_around_raises_is_told_by_its_type_alone(self, bus, run):
        paid = []

        async def broken(session, call_next):
            raise LookupError("the policy is in /secret/file")

        bus.signal("around_tool_call").connect(broken)
        session, answers = run((PAY, ANN), body=lambda *given: paid.append(given))
        assert "LookupError" in answers[0] and paid == []
        assert "/secret/file" not in repr(session.model.asked)

    def test_a_tool_that_fails_ends_its_call_as_raised(self, bus, run):
        with record(bus) as fired:
            _, answers = run(shell("exit 3"))
        assert "3" in answers[0]
        assert [each.outcome for each in fired.of(Finished)] == ["raised"]

    def test_what_a_receiver_says_of_a_failed_tool_is_added(self, bus, run):
        bus.signal("error_tool_call").connect(lambda session, error: Replace("ask Ada instead"))
        session, _ = run(shell("exit 3"))
        assert "ask Ada instead" in repr(session.model.asked[-1])

    def test_a_call_that_a_person_denies_afterwards_never_came_back(self, bus, run):
        async def deny(name, given, context):
            return PermissionResultDeny(message="the person said no")

        paid = []
        with record(bus) as fired:
            _, answers = run((PAY, ANN), body=lambda *given: paid.append(given),
                             allowed=(), can_use_tool=deny)  # fmt: skip
        assert "the person said no" in answers[0] and paid == []
        assert [each.outcome for each in fired.of(Finished)] == ["cancelled"]

    def test_a_change_of_arguments_gives_no_permission(self, bus, run):
        async def deny(name, given, context):
            return PermissionResultDeny(message=f"no to {given['to']}")

        bus.signal("pre_tool_call").connect(
            lambda session, arguments: {"arguments": {**arguments, "to": "bob"}}
        )
        _, answers = run((PAY, ANN), body=lambda *given: "paid", allowed=(),
                         can_use_tool=deny)  # fmt: skip
        assert "no to bob" in answers[0]


class TestHooksOfTheSDK:
    def test_ones_own_hooks_are_asked_too(self, bus, run):
        asked = []

        async def own(given, tool_use_id, context):
            asked.append(given["tool_name"])
            return {}

        hooks = {"PreToolUse": [HookMatcher(hooks=[own])]}
        run((PAY, ANN), body=lambda *given: "paid", hooks=hooks)
        guarded = claude_agent.guarded(Bus(), hooks=hooks)
        assert asked == [PAY] and guarded["PreToolUse"][0] is hooks["PreToolUse"][0]
        assert len(hooks["PreToolUse"]) == 1

    def test_a_session_that_lives_longer_than_the_install_goes_on(self, run):
        bus = Bus()
        undo, asked = claude_agent.install(bus), []

        @bus.signal("pre_tool_call").connect_via()
        def once(session, name):
            asked.append(name)
            undo()

        _, answers = run((PAY, ANN), (PAY, ANN), body=lambda *given: "paid")
        assert answers == ["paid", "paid"] and asked == [PAY]

    def test_a_hook_asked_for_a_call_it_never_saw_begin_says_so(self):
        after = claude_agent.guarded(Bus())["PostToolUse"][0].hooks[0]
        given = {"hook_event_name": "PostToolUse", "session_id": "s", "tool_use_id": "t",
                 "tool_name": PAY, "tool_response": [{"type": "text", "text": SECRET}]}  # fmt: skip
        told = asyncio.run(after(given, "t", None))
        assert "no call is open" in str(told) and SECRET not in str(told)
