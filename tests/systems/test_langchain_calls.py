"""LangChain and LangGraph: what is injected, unknown tools, whose call it is and what kind."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import InjectedState, InjectedStore, InjectedToolCallId, ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt, NodeInterrupt, ParentCommand
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from hookbus import Block, Bus, HookBlocked
from hookbus.adapters import langchain

from .call_contract import (  # noqa: F401
    HIDDEN,
    InjectedContract,
    PauseContract,
    UnknownContract,
    Wallet,
    pytest_generate_tests,
)
from .test_langchain_contract import Scripted, asking
from .tool_contract import ANN


def model_of(*turns: Any) -> Scripted:
    return Scripted(messages=iter([*turns, AIMessage("done")]))


def calls(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": "1", "type": "tool_call"}])


def tool_that_is_given_all(wallet: Any) -> Any:
    @tool
    def pay(
        amount: int, to: str, runtime: ToolRuntime, config: RunnableConfig,
        state: Annotated[dict, InjectedState], messages: Annotated[list, InjectedState("messages")],
        count: Annotated[int, InjectedState("count")], store: Annotated[Any, InjectedStore()],
        call_id: Annotated[str, InjectedToolCallId],
    ) -> str:  # fmt: skip
        """Pay a recipient."""
        assert runtime.tool_call_id == call_id and config["metadata"] and count == 7
        return wallet(amount, to, runtime, state, messages, store)

    return pay


def tool_of_runtime(wallet: Any) -> Any:
    async def pay(amount: int, to: str, runtime: ToolRuntime) -> str:
        """Pay a recipient."""
        return wallet(amount, to, runtime)

    return StructuredTool.from_function(coroutine=pay)


def agent_with(pay: Any, model: Any = None, **more: Any) -> Any:
    from langchain.agents import AgentState

    class Counted(AgentState):
        count: int

    return create_agent(
        model_of(model or asking([ANN])), [pay], store=InMemoryStore(), state_schema=Counted, **more
    )


GIVEN = {"messages": [HumanMessage(HIDDEN)], "count": 7}


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(langchain.install)

    def inject(self, wallet: Wallet) -> Any:
        agent_with(tool_that_is_given_all(wallet)).invoke(GIVEN)

    def ask_for_fly(self) -> str:
        agent = create_agent(model_of(calls("fly", to="moon")), [tool_that_is_given_all(Wallet())])
        return str(agent.invoke({"messages": ["go"]})["messages"][-2].content)


class TestCallsAsync(TestCalls):
    async def inject(self, wallet: Wallet) -> None:
        await agent_with(tool_of_runtime(wallet)).ainvoke(GIVEN)

    async def ask_for_fly(self) -> str:
        agent = create_agent(model_of(calls("fly", to="moon")), [tool_of_runtime(Wallet())])
        return str((await agent.ainvoke({"messages": ["go"]}))["messages"][-2].content)


@pytest.fixture
def bus():
    bus = Bus(values=True)
    undo = langchain.install(bus)
    yield bus
    undo()


@pytest.fixture
def seen(bus):
    seen: list[tuple[Any, ...]] = []
    bus.signal("pre_tool_call").connect(
        lambda sender, name, arguments, kind, caller: seen.append(
            (name, dict(arguments), kind, caller)
        ),
        role="observe", name="look",
    )  # fmt: skip
    return seen


def test_what_a_model_forges_is_no_injected_argument_where_nobody_injects(seen):
    """A program that hands a model's call to a tool: what the model wrote stays to be seen."""

    @tool
    def pay(amount: int, user: Annotated[str, InjectedToolArg]) -> str:
        """Pay a recipient."""
        return f"paid {amount} for {user}"

    call = {"name": "pay", "args": {"amount": 1, "user": "eve"}, "id": "1", "type": "tool_call"}
    assert pay.invoke(call).content == "paid 1 for eve"
    assert seen == [("pay", {"amount": 1, "user": "eve"}, "function", None)]


async def test_a_guard_of_a_call_with_plain_state_is_asked_once(bus):
    asked = []
    bus.signal("pre_tool_call").connect(
        lambda sender, arguments: asked.append(dict(arguments)), role="guard", name="look"
    )
    wallet = Wallet()
    await agent_with(tool_that_is_given_all(wallet)).ainvoke(GIVEN)
    assert asked == [ANN] and wallet.paid == [(1, "ann")]


def test_what_a_model_forges_is_replaced_by_what_a_node_injects(seen):
    wallet = Wallet()
    from_state = {"count": 9, "runtime": "forged", "store": "forged"}
    agent = agent_with(tool_that_is_given_all(wallet), model=asking([{**ANN, **from_state}]))
    agent.invoke(GIVEN)
    assert [each[1] for each in seen] == [ANN] and HIDDEN in repr(wallet.injected)


def test_whose_call_it_is_has_the_name_of_its_agent(seen):
    inner = create_agent(model_of(asking([ANN])), [StructuredTool.from_function(
        lambda amount, to: "paid", name="pay", description="Pay.",
    )], name="clerk")  # fmt: skip

    @tool
    def ask(question: str) -> str:
        """Ask the clerk."""
        return str(inner.invoke({"messages": [question]})["messages"][-1].content)

    outer = create_agent(model_of(calls("ask", question="?")), [ask], name="boss")
    outer.invoke({"messages": ["go"]})
    assert [(name, agent) for name, _, _, agent in seen] == [("ask", "boss"), ("pay", "clerk")]


def test_hand_offs_and_agents_that_are_tools_have_their_kind(seen):
    from langgraph_supervisor.handoff import create_handoff_tool as supervised
    from langgraph_swarm import create_handoff_tool as swarmed

    @tool
    def escalate(why: str) -> Command[Literal["boss"]]:
        """Escalate."""
        return Command(goto="boss", graph=Command.PARENT)

    other = create_agent(model_of(), [], name="other")
    asked = other.as_tool(name="ask_other", description="Ask.", arg_types={"messages": list})
    tools = [supervised(agent_name="a"), swarmed(agent_name="b"), escalate, asked]
    for each in tools:
        with pytest.raises(Exception):  # noqa: B017
            each.invoke({})
    kinds = {name: kind for name, _, kind, _ in seen}
    assert kinds == {
        "transfer_to_a": "handoff", "transfer_to_b": "handoff", "escalate": "handoff",
        "ask_other": "agent",
    }  # fmt: skip


def test_a_sub_agent_of_deepagents_is_an_agent(seen):
    from deepagents import create_deep_agent

    spec = {"name": "clerk", "description": "Pays.", "system_prompt": "Pay.",
            "model": model_of(asking([ANN])), "tools": [StructuredTool.from_function(
                lambda amount, to: "paid", name="pay", description="Pay.")]}  # fmt: skip
    task = calls("task", description="pay", subagent_type="clerk")
    agent = create_deep_agent(model=model_of(task), tools=[], subagents=[spec], name="boss")
    agent.invoke({"messages": ["go"]})
    assert [(name, kind, agent) for name, _, kind, agent in seen] == [
        ("task", "agent", "boss"), ("pay", "function", "clerk"),
    ]  # fmt: skip


class Receipt(BaseModel):
    amount: int


def test_structured_output_is_a_call_and_a_refused_one_is_no_answer(bus, seen):
    @bus.signal("pre_tool_call").connect_via(role="guard", when={"kind": "output"})
    def small(sender, arguments):
        return Block("too much") if arguments["amount"] > 10 else None

    model = model_of(calls("Receipt", amount=500), calls("Receipt", amount=5))
    agent = create_agent(model, [], response_format=ToolStrategy(Receipt))
    found = agent.invoke({"messages": ["go"]})
    assert found["structured_response"] == Receipt(amount=5)
    assert "small: too much" in found["messages"][2].content
    assert [each[:3] for each in seen] == [("Receipt", {"amount": 5}, "output")]


def test_a_refused_hand_off_does_not_happen(bus):
    bus.signal("pre_tool_call").connect(
        lambda sender: Block("stay"), role="guard", when={"kind": "handoff"}, name="stays"
    )
    went = []

    @tool
    def escalate(why: str) -> Command[Literal["boss"]]:
        """Escalate."""
        went.append(why)
        return Command(goto="boss", graph=Command.PARENT)

    agent = create_agent(model_of(calls("escalate", why="?")), [escalate])
    found = agent.invoke({"messages": ["go"]})["messages"]
    assert went == [] and "stay" in found[-2].content
    with pytest.raises(HookBlocked):
        escalate.invoke({"why": "?"})


class TestPauses(PauseContract):
    is_async = False
    install = staticmethod(langchain.install)
    pauses = {
        "interrupt": lambda: interrupt("may it?"), "GraphInterrupt": GraphInterrupt,
        "NodeInterrupt": lambda: NodeInterrupt("wait"),
        "ParentCommand": lambda: ParentCommand(Command(goto="boss", graph="boss")),
    }  # fmt: skip

    def agent(self, body: Any) -> Any:
        pay = StructuredTool.from_function(lambda amount, to: body(), name="pay", description="P.")
        return create_agent(model_of(asking([ANN])), [pay], checkpointer=InMemorySaver())

    def pause(self, body: Any) -> Any:
        config = {"configurable": {"thread_id": "1"}}
        found = self.agent(body).invoke({"messages": ["go"]}, config)
        return [each.value for each in found.get("__interrupt__", ())]


class TestPausesAsync(TestPauses):
    is_async = True

    async def pause(self, body: Any) -> Any:
        config = {"configurable": {"thread_id": "1"}}
        found = await self.agent(body).ainvoke({"messages": ["go"]}, config)
        return [each.value for each in found.get("__interrupt__", ())]
