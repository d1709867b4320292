"""What the SDK's own hooks do where they break, with the real CLI, and what hookbus does."""

from __future__ import annotations

import asyncio

import pytest
from claude_agent_sdk import HookMatcher

from hookbus import Bus
from hookbus.adapters import claude_agent

from .claude_model import scripted
from .hangs import SECONDS
from .test_claude_agent_contract import PAY, Session

ANN = {"amount": 1, "to": "ann"}
SECRET = "pin-4711"


def run(home, hooks, *calls, body=None):
    with scripted(*calls) as model:
        session = Session(model, home, body, hooks=hooks)
        asyncio.run(asyncio.wait_for(session.client(), SECONDS))
    return repr(model.asked)


class TestAGuardThatRaises:
    def paid(self, home, hooks):
        paid = []
        run(home, hooks, (PAY, ANN), body=lambda *given: paid.append(given) or "paid")
        return paid

    @pytest.mark.parametrize("options", [{}, {"on_failure": "continue"}], ids=str)
    def test_of_the_sdk_lets_the_tool_run(self, tmp_path, options):
        async def broken(given, tool_use_id, context):
            raise LookupError

        hooks = {"PreToolUse": [HookMatcher(hooks=[broken], **options)]}
        assert self.paid(tmp_path, hooks) == [(1, "ann")]

    def test_of_hookbus_closes(self, tmp_path):
        bus = Bus()

        @bus.signal("pre_tool_call").connect_via(role="guard")
        def broken(session):
            raise LookupError

        assert self.paid(tmp_path, claude_agent.guarded(bus)) == []


class TestARedactorOfAnotherShape:
    def test_of_the_sdk_lets_the_old_result_be_read(self, tmp_path):
        (tmp_path / "notes.txt").write_text(SECRET)

        async def redact(given, tool_use_id, context):
            output = {"hookEventName": "PostToolUse", "updatedToolOutput": "****"}
            return {"hookSpecificOutput": output}

        hooks = {"PostToolUse": [HookMatcher(hooks=[redact], on_failure="block")]}
        reads = ("Read", {"file_path": str(tmp_path / "notes.txt")})
        assert SECRET in run(tmp_path, hooks, reads)

    def test_of_hookbus_does_not(self, tmp_path):
        (tmp_path / "notes.txt").write_text(SECRET)
        bus = Bus()
        bus.signal("post_tool_call").connect(lambda session, result: "****", on_error="block")
        reads = ("Read", {"file_path": str(tmp_path / "notes.txt")})
        assert SECRET not in run(tmp_path, claude_agent.guarded(bus), reads)
