"""LlamaIndex's tools under the contract: by agents that call functions or write actions, by
workflows of several, by a program."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.tools import FunctionTool
from llama_index.core.tools.calling import acall_tool

from hookbus.adapters import llama_index

from .llama_index_parts import (
    CONCLUDED,
    DONE,
    QUIET,
    Paying,
    acting,
    agent_of,
    asking,
    reacting,
    scripted,
    told,
    tool_of,
)
from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401

pytestmark = QUIET


class TestLlamaIndex(ToolContract):
    adapter, package, module = "llama_index", "llama-index-core", "llama_index"
    besides = {"handed_off": 1, "agent_of_another_agent": 1}
    install = staticmethod(llama_index.install)

    @mode
    async def functions(self, body, calls):
        return await told(
            agent_of(asking("pay", *calls), DONE, tools=[tool_of(body)], streaming=False)
        )

    @mode
    async def functions_streamed(self, body, calls):
        return await told(agent_of(asking("pay", *calls), DONE, tools=[tool_of(body)]))

    @mode
    async def async_functions(self, body, calls):
        pay = tool_of(body, is_async=True)
        return await told(agent_of(asking("pay", *calls), DONE, tools=[pay]))

    @mode
    async def functions_of_a_class(self, body, calls):
        return await told(agent_of(asking("pay", *calls), DONE, tools=[Paying(body)]))

    @mode
    async def actions(self, body, calls):
        return await told(
            reacting(*acting("pay", *calls), CONCLUDED, tools=[tool_of(body)], streaming=False)
        )

    @mode
    async def handed_off(self, body, calls):
        payer = agent_of(
            asking("pay", *calls), DONE, tools=[tool_of(body)], name="payer", description="Pays."
        )
        first = agent_of(
            asking("handoff", {"to_agent": "payer", "reason": "to pay"}), name="first",
            description="Asks.", can_handoff_to=["payer"],
        )  # fmt: skip
        return await told(payer, AgentWorkflow(agents=[first, payer], root_agent="first"))

    @mode
    async def agent_of_another_agent(self, body, calls):
        inner = agent_of(asking("pay", *calls), DONE, tools=[tool_of(body)])
        found = []

        async def ask(question: str) -> str:
            """Ask the other agent."""
            found.append(await told(inner))
            return "asked"

        tools = [FunctionTool.from_defaults(async_fn=ask)]
        outer = agent_of(asking("ask", {"question": "?"}), DONE, tools=tools)
        assert (await told(outer)).went_on
        return found[0]

    @mode
    def predicted(self, body, calls):
        model, pay = scripted(*[asking("pay", each) for each in calls]), tool_of(body)
        found = [model.predict_and_call([pay], "go", error_on_tool_error=False) for _ in calls]
        return Told([str(each.response) for each in found], repr(found))

    @mode
    def called(self, body, calls):
        pay = tool_of(body)
        found = [pay.call(**each) if each["amount"] % 2 else pay(**each) for each in calls]
        return program(found)

    @mode
    async def acalled(self, body, calls):
        pay = tool_of(body)
        return program(await asyncio.gather(*[pay.acall(**each) for each in calls]))

    @mode
    async def acalled_by_a_helper(self, body, calls):
        pay = Paying(body)
        return program(await asyncio.gather(*[acall_tool(pay, dict(each)) for each in calls]))


def program(found: Any) -> Told:
    everything = [(each, each.raw_output, each.raw_input) for each in found]
    return Told([str(each) for each in found], repr(everything))
