"""The OpenAI Agents SDK: what is injected, and tools that do not exist."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    RunContextWrapper,
    Runner,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
    function_tool,
)
from agents.testing import ScriptedModel, assistant_message, function_call

from hookbus.adapters import openai_agents

from .call_contract import (  # noqa: F401
    HIDDEN,
    InjectedContract,
    PauseContract,
    UnknownContract,
    Wallet,
    pytest_generate_tests,
)
from .test_openai_agents_contract import scripted, tool_of
from .tool_contract import ANN


class TestCalls(InjectedContract, UnknownContract):
    install = staticmethod(openai_agents.install)
    behaviour = "return_error_to_model"

    async def inject(self, wallet: Wallet) -> None:
        def pay(context: RunContextWrapper[Any], amount: int, to: str) -> str:
            """Pay a recipient."""
            return wallet(amount, to, context.context)

        agent = Agent("clerk", model=scripted([ANN]), tools=[function_tool(pay)])
        await Runner.run(agent, "go", context={"own": HIDDEN})

    async def ask_for_fly(self) -> str:
        asked = [function_call("fly", {"to": "moon"}, call_id="1")]
        model = ScriptedModel([asked, [assistant_message("done")]])
        agent = Agent("clerk", model=model, tools=[tool_of(Wallet())])
        config = RunConfig(tool_not_found_behavior=self.behaviour)
        await Runner.run(agent, "go", run_config=config)
        return str([each["output"] for each in model.calls[-1].input if "output" in each])


class TestUnknownThatEndsTheRun(UnknownContract):
    install = staticmethod(openai_agents.install)
    reads_refusals = False

    async def ask_for_fly(self) -> str:
        asked = [function_call("fly", {"to": "moon"}, call_id="1")]
        agent = Agent("clerk", model=ScriptedModel([asked]), tools=[tool_of(Wallet())])
        with pytest.raises(Exception, match="fly not found") as raised:
            await Runner.run(agent, "go")
        return f"{type(raised.value).__name__}: {raised.value}"


class _Found(NamedTuple):
    guardrail: Any
    output: Any


FOUND = _Found(InputGuardrail(lambda *args: None), GuardrailFunctionOutput(None, True))


class TestPauses(PauseContract):
    """A tripwire of another agent, which is the tool."""

    install = staticmethod(openai_agents.install)
    pauses = {
        "input": lambda: InputGuardrailTripwireTriggered(FOUND),
        "output": lambda: OutputGuardrailTripwireTriggered(FOUND),
        "tool input": lambda: ToolInputGuardrailTripwireTriggered(None, FOUND.output),
        "tool output": lambda: ToolOutputGuardrailTripwireTriggered(None, FOUND.output),
    }

    async def pause(self, body: Any) -> Any:
        def pay(amount: int, to: str) -> str:
            """Pay a recipient."""
            return body()

        tool = function_tool(pay, failure_error_function=None)
        agent = Agent("clerk", model=scripted([ANN]), tools=[tool])
        return (await Runner.run(agent, "go")).final_output
