"""LangChain's tools under the contract: by an agent, by a graph, by a program."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from hookbus import HookBlocked, HookError
from hookbus.adapters import langchain

from .pages import ROOT, printed_by
from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401


class Scripted(GenericFakeChatModel):
    """Asks for the calls, then says "done"; what it was told stays in `told`."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def asking(calls: Any) -> AIMessage:
    return AIMessage("", tool_calls=[
        {"name": "pay", "args": dict(args), "id": f"call-{i}", "type": "tool_call"}
        for i, args in enumerate(calls)
    ])  # fmt: skip


def scripted(calls: Any) -> Scripted:
    return Scripted(messages=iter([asking(calls), AIMessage("done")]))


def tool_of(body: Any, *, is_async: bool = False) -> BaseTool:
    def pay(amount: int, to: str) -> str:
        """Pay a recipient."""
        return body(amount, to)

    async def apay(amount: int, to: str) -> str:
        await asyncio.sleep(0)
        return body(amount, to)

    if is_async:
        return StructuredTool.from_function(coroutine=apay, name="pay", description="Pay.")
    return StructuredTool.from_function(pay, description="Pay.")


def told(messages: Any) -> Told:
    answers = sorted(
        (each for each in messages if isinstance(each, ToolMessage)),
        key=lambda each: int(each.tool_call_id.partition("-")[2]),
    )
    return Told([str(each.content) for each in answers], repr(messages),
                messages[-1].content == "done")  # fmt: skip


class Paying(BaseTool):
    """A tool written as a class of its own, whose `run` calls its parent's."""

    name: str = "pay"
    description: str = "Pay."
    body: Any = None

    def _run(self, amount: int, to: str) -> str:
        return self.body(amount, to)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return super().run(*args, **kwargs)


class TestLangChain(ToolContract):
    adapter, package, module = "langchain", "langchain-core", "langchain_core"
    besides = {"agent_of_another_agent": 1}
    program = ("invoked", "ainvoked", "arun_directly")
    install = staticmethod(langchain.install)

    def _agent(self, body: Any, calls: Any, **options: Any) -> Any:
        return create_agent(scripted(calls), [tool_of(body, **options)])

    @mode
    def agent(self, body, calls):
        return told(self._agent(body, calls).invoke({"messages": ["go"]})["messages"])

    @mode
    async def agent_async(self, body, calls):
        agent = self._agent(body, calls)
        return told((await agent.ainvoke({"messages": ["go"]}))["messages"])

    @mode
    async def agent_with_an_async_tool(self, body, calls):
        agent = self._agent(body, calls, is_async=True)
        return told((await agent.ainvoke({"messages": ["go"]}))["messages"])

    @mode
    def agent_streamed(self, body, calls):
        states = [*self._agent(body, calls).stream({"messages": ["go"]}, stream_mode="values")]
        return told(states[-1]["messages"])

    @mode
    def agent_that_retries(self, body, calls):
        agent = create_agent(
            scripted(calls), [tool_of(body)],
            middleware=[ToolRetryMiddleware(max_retries=3, initial_delay=0.001)],
        )  # fmt: skip
        return told(agent.invoke({"messages": ["go"]})["messages"])

    @mode
    def a_class_that_overrides_run(self, body, calls):
        agent = create_agent(scripted(calls), [Paying(body=body)])
        return told(agent.invoke({"messages": ["go"]})["messages"])

    @mode
    def graph(self, body, calls):
        graph = StateGraph(MessagesState)
        graph.add_node("ask", lambda state: {"messages": [asking(calls)]})
        graph.add_node("tools", ToolNode([tool_of(body)]))
        graph.add_node("end", lambda state: {"messages": [AIMessage("done")]})
        for pair in ((START, "ask"), ("ask", "tools"), ("tools", "end"), ("end", END)):
            graph.add_edge(*pair)
        return told(graph.compile().invoke({"messages": []})["messages"])

    @mode
    def agent_of_another_agent(self, body, calls):
        inner = self._agent(body, calls)
        found = []

        def ask(question: str) -> str:
            """Ask the other agent."""
            found.extend(inner.invoke({"messages": [question]})["messages"])
            return "asked"

        call = {"name": "ask", "args": {"question": "?"}, "id": "c", "type": "tool_call"}
        model = Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))
        outer = create_agent(model, [StructuredTool.from_function(ask)])
        assert outer.invoke({"messages": ["go"]})["messages"][-1].content == "done"
        return told(found)

    @mode
    def invoked(self, body, calls):
        tool = tool_of(body)
        return by_program([lambda args=args: tool.invoke(args) for args in calls])

    @mode
    async def ainvoked(self, body, calls):
        tool = tool_of(body)
        return await by_program_async([tool.ainvoke(args) for args in calls])

    @mode
    async def arun_directly(self, body, calls):
        tool = tool_of(body, is_async=True)
        return await by_program_async([tool.arun(args) for args in calls])


def by_program(calls: Any) -> Told:
    answers = []
    for call in calls:
        try:
            answers.append(str(call()))
        except HookBlocked as blocked:
            answers.append(str(blocked))
    return Told(answers, repr(answers))


async def by_program_async(calls: Any) -> Told:
    found = await asyncio.gather(*calls, return_exceptions=True)
    return Told([str(each) for each in found], repr(found))


def test_the_agent_of_the_page_prints_what_it_says(tmp_path):
    page = (ROOT / "docs" / "how-to" / "frameworks" / "langchain.md").read_text()
    section = page.partition("## Guard an agent with ready-made guards")[2]
    program, printed = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)[:2]
    path = tmp_path / "agent.py"
    path.write_text(program)
    assert "create_agent(" in program and printed_by(str(path)) == printed


def test_a_missing_guard_is_one_of_any_tool(bus):
    undo = langchain.install(bus)
    try:
        with pytest.raises(HookError, match=r"every 'tool_call' call of any tool: connect a guard"):
            bus.require_guard("tool_call")
    finally:
        undo()
