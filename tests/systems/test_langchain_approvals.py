"""A guard asks; LangGraph's `interrupt` carries the question, `Command(resume=...)` the answer."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from hookbus import Ask, Bus, hookable
from hookbus.adapters import langchain
from hookbus.approvals import ApprovalPending, Store

from .approving import ANN, EditedContract, asks
from .test_langchain_contract import asking, told, tool_of
from .tool_contract import Tool


class Clerk(BaseChatModel):
    """Asks for the calls, and says "done" once it was told their results; it needs no memory."""

    calls: Any

    @property
    def _llm_type(self) -> str:
        return "clerk"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
        is_told = isinstance(messages[-1], ToolMessage)
        message = AIMessage("done") if is_told else asking(self.calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


class TestInterrupts(EditedContract):
    adapter = "langchain"
    install = staticmethod(langchain.install)

    async def begin(self, body, calls, saved):
        return await self._run(body, calls, saved, lambda waiting: {"messages": ["go"]})

    async def go_on(self, body, calls, saved, answers):
        def resume(waiting):
            said = {each["id"]: each for each in answers}
            if len(waiting) == 1:
                return Command(resume=answers[0] if answers else "go on")
            return Command(resume={each.id: said[each.value["id"]] for each in waiting})

        return await self._run(body, calls, saved, resume)

    async def _run(self, body: Any, calls: Any, saved: Any, make: Any) -> Any:
        async with AsyncSqliteSaver.from_conn_string(str(saved)) as saver:
            agent = create_agent(Clerk(calls=calls), [tool_of(body)], checkpointer=saver)
            config = {"configurable": {"thread_id": "1"}}
            waiting = (await agent.aget_state(config)).interrupts
            found = await agent.ainvoke(make(waiting), config)
        asked = [each.value for each in found.get("__interrupt__", ())]
        return asked or told(found["messages"])


async def test_what_a_tool_asks_about_inside_is_no_pause_of_its_own_call(tmp_path):
    bus, store = Bus(), Store(tmp_path / "approvals.db")
    undo = langchain.install(bus, approver=store)

    @hookable("tool_call", bus=bus, identity=lambda sender: "the inner tool")
    def tool_call(name, arguments):
        raise AssertionError("it ran without a yes")

    bus.signal("pre_tool_call").connect(
        lambda sender, name: Ask("may it?") if name == "inner" else None, role="guard"
    )

    def body(amount, to):
        try:
            return tool_call("inner", {})
        except ApprovalPending as pending:
            return f"inner waits as {pending.id}"

    contract = TestInterrupts()
    told = await contract.begin(body, [ANN], tmp_path / "saved")
    undo()
    assert store.pending()[0].id in told.answers[0]
    assert "call_id" not in store.pending()[0].baggage


async def test_a_program_that_calls_a_tool_is_told_what_waits(tmp_path):
    bus, tool = Bus(), Tool()
    store = Store(tmp_path / "approvals.db")
    undo = langchain.install(bus, approver=store)
    asks(bus)
    try:
        with pytest.raises(ApprovalPending) as caught:
            tool_of(tool).invoke(ANN)
    finally:
        undo()
    assert caught.value.id == store.pending()[0].id and tool.paid == []
