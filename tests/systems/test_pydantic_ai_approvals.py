"""A guard asks; a run ends with `DeferredToolRequests`, and goes on with `DeferredToolResults`."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.messages import ModelMessagesTypeAdapter

from hookbus.adapters import pydantic_ai

from .approving import ANN, EditedContract
from .test_pydantic_ai_contract import paying, plain, told


class TestDeferredTools(EditedContract):
    adapter = "pydantic_ai"
    install = staticmethod(pydantic_ai.install)

    async def begin(self, body, calls, saved):
        return await self._run(body, calls, saved, user_prompt="go")

    async def go_on(self, body, calls, saved, answers):
        messages = ModelMessagesTypeAdapter.validate_json(saved.read_bytes())
        parts = [part for each in messages for part in each.parts]
        told = {part.tool_call_id for part in parts if part.part_kind == "tool-return"}
        calls_made = [part for part in parts if part.part_kind == "tool-call"]
        waiting = [part.tool_call_id for part in calls_made if part.tool_call_id not in told]
        results = DeferredToolResults()
        for call_id, answer in zip(waiting, answers or [{"approved": True}], strict=True):
            results.approvals[call_id] = answer["approved"] or ToolDenied(answer["reason"])
            results.metadata[call_id] = answer
        return await self._run(
            body, calls, saved, message_history=messages, deferred_tool_results=results
        )

    async def _run(self, body: Any, calls: Any, saved: Any, **options: Any) -> Any:
        agent = Agent(paying(calls), tools=[plain(body)], output_type=[str, DeferredToolRequests])
        found = await agent.run(**options)
        saved.write_bytes(found.all_messages_json())
        if isinstance(found.output, DeferredToolRequests):
            return [found.output.metadata[part.tool_call_id] for part in found.output.approvals]
        return told(found.all_messages())

    async def test_an_approval_of_what_no_guard_had_asked_about_is_no_yes(self, bus, tool, saved):
        [asked] = await self.begin(tool, [ANN], saved)
        changes = bus.signal("pre_tool_call").connected_to(
            lambda sender, arguments: {"arguments": {**arguments, "amount": 9000}}
        )
        with changes:
            [other] = await self.go_on(tool, [ANN], saved, [{"approved": True}])
        assert tool.paid == [] and other["id"] != asked["id"]
        told_of = await self.go_on(tool, [ANN], saved, [{"approved": True}])
        assert tool.paid == [(1, "ann")] and told_of.went_on
