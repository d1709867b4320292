"""The calls of LangChain's agents as spans: nested, failing, blocked, cancelled, streaming."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool

from hookbus import Block
from hookbus.adapters import langchain

from .spans import spans_of

BLOCKED = "hookbus.exceptions.HookBlocked"
MODEL = ("chat Scripted", None, "returned", None)


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def agent_with(body: Any, **options: Any) -> Any:
    def pay(to: str) -> Any:
        return body(to)

    async def apay(to: str) -> Any:
        return await body(to)

    call = {"name": "pay", "args": {"to": "eve"}, "id": "c-1", "type": "tool_call"}
    model = Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done now")]))
    made = {"coroutine": apay} if options.pop("is_async", False) else {"func": pay}
    return create_agent(
        model, [StructuredTool.from_function(**made, name="pay", description="Pay.")]
    )


@pytest.fixture
def spans(bus):
    undo = langchain.install(bus)
    with spans_of(bus) as spans:
        yield spans
    undo()


def test_a_run_is_spans_of_its_models_and_tools(bus, spans):
    agent_with(lambda to: "paid").invoke({"messages": ["go"]})
    assert spans() == [MODEL, ("execute_tool pay", None, "returned", None), MODEL]


def test_a_tool_that_runs_an_agent_has_its_spans_inside(bus, spans):
    inner = agent_with(lambda to: "paid")
    agent_with(lambda to: str(inner.invoke({"messages": ["go"]}))).invoke({"messages": ["go"]})
    inside = ("execute_tool pay", "execute_tool pay", "returned", None)
    of_the_inner = ("chat Scripted", "execute_tool pay", "returned", None)
    assert spans() == [
        MODEL, ("execute_tool pay", None, "returned", None),
        of_the_inner, inside, of_the_inner, MODEL,
    ]  # fmt: skip


def test_a_tool_that_raises_and_one_that_is_blocked_are_errors(bus, spans):
    def breaks(to: str) -> str:
        raise LookupError("SECRET")

    with pytest.raises(LookupError):
        agent_with(breaks).invoke({"messages": ["go"]})
    bus.signal("pre_tool_call").connect(lambda _: Block("no"), role="guard")
    agent_with(lambda to: "paid").invoke({"messages": ["go"]})
    assert spans() == [
        MODEL, ("execute_tool pay", None, "raised", "LookupError"),
        MODEL, ("execute_tool pay", None, "blocked", BLOCKED), MODEL,
    ]  # fmt: skip


async def test_a_run_that_is_cancelled_ends_its_spans(bus, spans):
    began = asyncio.Event()

    async def waits(to: str) -> str:
        began.set()
        await asyncio.sleep(60)
        return "paid"

    run = asyncio.create_task(agent_with(waits, is_async=True).ainvoke({"messages": ["go"]}))
    await began.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    cancelled = ("execute_tool pay", None, "cancelled", "asyncio.exceptions.CancelledError")
    assert spans() == [MODEL, cancelled]


def test_a_model_that_streams_is_one_span_also_if_it_is_left(bus, spans):
    model = Scripted(messages=iter([AIMessage("one two"), AIMessage("three four")]))
    list(model.stream("go"))
    left = model.stream("go")
    next(left)
    left.close()
    assert spans() == [MODEL, ("chat Scripted", None, "cancelled", None)]
