"""What LangChain's own hooks let pass, next to a guard; and what is special about its results."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
)  # fmt: skip
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool, tool

from hookbus import Block, Bus, HookBlocked
from hookbus.adapters import langchain


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def scripted() -> Scripted:
    call = {"name": "pay", "args": {"to": "eve"}, "id": "c", "type": "tool_call"}
    return Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]))


@pytest.fixture
def paid():
    return []


@pytest.fixture
def pay(paid):
    def pay(to: str) -> str:
        """Pay a recipient."""
        paid.append(to)
        return "paid"

    return StructuredTool.from_function(pay)


@pytest.fixture
def bus():
    bus = Bus()
    undo = langchain.install(bus)
    yield bus
    undo()


class Broken(BaseCallbackHandler):
    def on_tool_start(self, *args: Any, **kwargs: Any) -> None:
        raise LookupError("the policy is gone")


class TestACallbackThatRaises:
    def test_lets_the_tool_run(self, pay, paid):
        config = {"callbacks": [Broken()]}
        create_agent(scripted(), [pay]).invoke({"messages": ["go"]}, config)
        assert paid == ["eve"]

    def test_as_a_guard_closes_and_the_run_goes_on(self, bus, pay, paid):
        @bus.signal("pre_tool_call").connect_via(role="guard")
        def broken(sender):
            raise LookupError("the policy is gone")

        messages = create_agent(scripted(), [pay]).invoke({"messages": ["go"]})["messages"]
        assert paid == [] and messages[-1].content == "done"
        assert "guard failed: LookupError" in messages[-2].content


class TestAMiddleware:
    def test_that_raises_ends_the_run(self, pay, paid):
        class Refuses(AgentMiddleware):
            def wrap_tool_call(self, request, handler):
                raise LookupError("the policy is gone")

        agent = create_agent(scripted(), [pay], middleware=[Refuses()])
        with pytest.raises(LookupError):
            agent.invoke({"messages": ["go"]})

    def test_is_not_asked_where_a_node_calls_a_tool_and_a_guard_is(self, bus, pay, paid):
        bus.signal("pre_tool_call").connect(lambda sender: Block("no"), role="guard")
        with pytest.raises(HookBlocked):
            pay.invoke({"to": "eve"})
        assert paid == []


def test_a_changed_result_leaves_no_artifact_of_the_old_one(bus):
    @tool(response_format="content_and_artifact")
    def look(to: str) -> tuple[str, dict[str, str]]:
        """Look somebody up."""
        return "secret", {"raw": "secret"}

    bus.signal("post_tool_call").connect(lambda sender, result: result.replace("secret", "***"))
    call = {"name": "look", "args": {"to": "eve"}, "id": "c", "type": "tool_call"}
    message = look.invoke(call)
    assert isinstance(message, ToolMessage)
    assert message.content == "***" and "secret" not in repr(message)


def test_models_are_asked_about_whole_and_in_parts_and_their_answers_can_be_changed(bus):
    asked = []
    bus.signal("pre_model_call").connect(
        lambda model, messages: asked.append(len(messages)), role="observe"
    )
    bus.signal("item_model_stream").connect(
        lambda model, item: item.model_copy(update={"content": item.content.upper()})
    )
    model = Scripted(messages=iter([AIMessage("one"), AIMessage("two"), AIMessage("three")]))
    assert model.invoke("go").content == "one" and asked == [1]
    assert "".join(part.content for part in model.stream("go")) == "TWO" and asked == [1, 1]
    bus.signal("post_model_call").connect(
        lambda model, result: AIMessage(f"changed {result.content}")
    )
    assert "".join(part.content for part in model.stream("go")) == "changed THREE"


@pytest.mark.parametrize("stack", ["retry", "fallback"])
def test_middleware_neither_retries_a_refused_model_call_nor_asks_another_model(bus, stack):
    asked = []

    @bus.signal("pre_model_call").connect_via(role="guard")
    def not_a_word(model):
        asked.append(model)
        return Block("no")

    other = scripted()
    middleware = {
        "retry": ModelRetryMiddleware(max_retries=3, initial_delay=0.0),
        "fallback": ModelFallbackMiddleware(other),
    }[stack]
    agent = create_agent(scripted(), [], middleware=[middleware])
    with pytest.raises(HookBlocked, match="model_call was blocked"):
        agent.invoke({"messages": ["go"]})
    assert len(asked) == 1 and other not in asked


def test_a_refused_model_call_is_raised(bus):
    bus.signal("pre_model_call").connect(lambda model: Block("no"), role="guard")
    with pytest.raises(HookBlocked, match="model_call was blocked"):
        scripted().invoke("go")
