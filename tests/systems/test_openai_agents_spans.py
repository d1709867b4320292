"""The calls of the OpenAI Agents SDK as spans: nested, failing, blocked, cancelled, streaming."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from hookbus import Block
from hookbus.adapters import openai_agents

from .spans import spans_of

set_tracing_disabled(True)  # it wants a key

RUN = "invoke_agent clerk"
BLOCKED = "hookbus.exceptions.HookBlocked"
MODEL = ("chat ScriptedModel", RUN, "returned", None)


def agent_with(body: Any) -> Agent[Any]:
    async def pay(to: str) -> str:
        """Pay a recipient."""
        return await body(to)

    asking = [function_call("pay", {"to": "eve"}, call_id="c-1")]
    model = ScriptedModel([asking, [assistant_message("done")]])
    return Agent("clerk", model=model, tools=[function_tool(pay, failure_error_function=None)])


async def pays(to: str) -> str:
    return "paid"


@pytest.fixture
def spans(bus):
    undo = openai_agents.install(bus)
    with spans_of(bus) as spans:
        yield spans
    undo()


async def test_a_run_is_a_span_with_its_models_and_tools_inside(bus, spans):
    await Runner.run(agent_with(pays), "go")
    tool = ("execute_tool pay", RUN, "returned", None)
    assert spans() == [(RUN, None, "returned", None), MODEL, tool, MODEL]


async def test_a_tool_that_runs_an_agent_has_its_spans_inside(bus, spans):
    async def runs(to: str) -> str:
        return str((await Runner.run(agent_with(pays), "go")).final_output)

    await Runner.run(agent_with(runs), "go")
    assert spans() == [
        (RUN, None, "returned", None), MODEL, ("execute_tool pay", RUN, "returned", None),
        (RUN, "execute_tool pay", "returned", None), MODEL,
        ("execute_tool pay", RUN, "returned", None), MODEL, MODEL,
    ]  # fmt: skip


async def test_a_tool_that_raises_and_one_that_is_blocked_are_errors(bus, spans):
    async def breaks(to: str) -> str:
        raise LookupError("SECRET")

    with pytest.raises(Exception, match="SECRET"):
        await Runner.run(agent_with(breaks), "go")
    run, model, tool = spans()
    assert run[2] == "raised" and model == MODEL
    assert tool == ("execute_tool pay", RUN, "raised", "LookupError")
    bus.signal("pre_tool_call").connect(lambda _: Block("no"), role="guard")
    await Runner.run(agent_with(pays), "go")
    blocked = ("execute_tool pay", RUN, "blocked", BLOCKED)
    assert spans()[3:] == [(RUN, None, "returned", None), MODEL, blocked, MODEL]


async def test_a_run_that_is_cancelled_ends_its_spans(bus, spans):
    began = asyncio.Event()

    async def waits(to: str) -> str:
        began.set()
        await asyncio.sleep(60)
        return "paid"

    run = asyncio.create_task(Runner.run(agent_with(waits), "go"))
    await began.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await asyncio.sleep(0.1)
    ended = {name: (outcome, error) for name, _, outcome, error in spans()}
    cancelled = ("cancelled", "asyncio.exceptions.CancelledError")
    assert ended[RUN] == ended["execute_tool pay"] == cancelled


async def test_a_streamed_run_is_spans_as_well(bus, spans):
    result = Runner.run_streamed(agent_with(pays), "go")
    async for _ in result.stream_events():
        pass
    names = [(name, parent, outcome) for name, parent, outcome, _ in spans()]
    assert ("execute_tool pay", RUN, "returned") in names
    assert names.count(("chat ScriptedModel", RUN, "returned")) == 2
    assert names[0] == (RUN, None, "returned") and len(names) == 4
