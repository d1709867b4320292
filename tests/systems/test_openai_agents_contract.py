"""The tools of the OpenAI Agents SDK under the contract: of an agent, of one that is handed to, of
one that is a tool, of an MCP server, called by a program."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import Agent, FunctionTool, Runner, function_tool, set_tracing_disabled
from agents.mcp import MCPServer
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.tool import invoke_function_tool
from agents.tool_context import ToolContext
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as MCPTool

from hookbus.adapters import openai_agents

from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401

set_tracing_disabled(True)  # it wants a key


def scripted(calls: Any) -> ScriptedModel:
    """Asks for the calls, then says "done"."""
    asking = [function_call("pay", args, call_id=f"call-{i}") for i, args in enumerate(calls)]
    return ScriptedModel([asking, [assistant_message("done")]])


def tool_of(body: Any, *, is_async: bool = False) -> FunctionTool:
    def pay(amount: int, to: str) -> str:
        """Pay a recipient."""
        return body(amount, to)

    async def apay(amount: int, to: str) -> str:
        """Pay a recipient."""
        await asyncio.sleep(0)
        return body(amount, to)

    return function_tool(apay, name_override="pay") if is_async else function_tool(pay)


class Server(MCPServer):
    """An MCP server in this process, whose one tool answers twice: in content and structured."""

    def __init__(self, body: Any, *, structured: bool) -> None:
        super().__init__(use_structured_content=structured)
        self.body = body

    name = "bank"

    async def connect(self) -> None: ...

    async def cleanup(self) -> None: ...

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> Any:
        fields = {"amount": {"type": "integer"}, "to": {"type": "string"}}
        schema = {"type": "object", "properties": fields, "required": [*fields]}
        return [MCPTool.model_validate({"name": "pay", "inputSchema": schema})]

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> Any:
        text = self.body(**arguments)
        content = [TextContent(type="text", text=text)]
        return CallToolResult.model_validate(
            {"content": content, "structuredContent": {"receipt": text}}
        )

    async def list_prompts(self) -> Any: ...

    async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...


def told(model: ScriptedModel, result: Any) -> Told:
    """Return what the model was told before it said "done", and all that is left of the run."""
    outputs = [each for each in model.calls[-1].input if "output" in each]
    answers = sorted(
        (each for each in outputs if each["call_id"].startswith("call-")),
        key=lambda each: int(each["call_id"].partition("-")[2]),
    )
    left = model.calls, result.new_items, result.to_input_list(), result.context_wrapper
    return Told([text_of(each["output"]) for each in answers], repr(left),
                result.final_output == "done")  # fmt: skip


def text_of(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output, default=str)


class TestOpenAIAgents(ToolContract):
    adapter, package, module = "openai_agents", "openai-agents", "agents"
    besides = {"agent_that_is_a_tool": 1, "agent_that_is_handed_to": 1}
    kinds = {"mcp_server": "mcp", "mcp_server_with_structured_content": "mcp"}
    install = staticmethod(openai_agents.install)

    async def _run(self, calls: Any, *tools: Any, **options: Any) -> Told:
        model = scripted(calls)
        agent = Agent("clerk", model=model, tools=[*tools], **options)
        return told(model, await Runner.run(agent, "go"))

    @mode
    def agent(self, body, calls):
        model, loop = scripted(calls), asyncio.new_event_loop()
        asyncio.set_event_loop(loop)  # the SDK would make one, and leave it open
        try:
            result = Runner.run_sync(Agent("clerk", model=model, tools=[tool_of(body)]), "go")
        finally:
            asyncio.set_event_loop(None)
            loop.close()
        return told(model, result)

    @mode
    async def agent_async(self, body, calls):
        return await self._run(calls, tool_of(body))

    @mode
    async def agent_with_an_async_tool(self, body, calls):
        return await self._run(calls, tool_of(body, is_async=True))

    @mode
    async def agent_with_a_deadline_for_its_tool(self, body, calls):
        tool = tool_of(body, is_async=True)
        tool.timeout_seconds = 20
        return await self._run(calls, tool)

    @mode
    async def agent_streamed(self, body, calls):
        model = scripted(calls)
        result = Runner.run_streamed(Agent("clerk", model=model, tools=[tool_of(body)]), "go")
        events = [event async for event in result.stream_events()]
        found = told(model, result)
        return found._replace(everything=found.everything + repr(events))

    @mode
    async def agent_that_is_a_tool(self, body, calls):
        model, found = scripted(calls), []
        inner = Agent("clerk", model=model, tools=[tool_of(body)])

        async def keep(result):
            found.append(result)
            return "asked"

        tool = inner.as_tool("ask", "Ask the clerk.", custom_output_extractor=keep)
        asks = [function_call("ask", {"input": "?"}, call_id="c")]
        outer = Agent("boss", model=ScriptedModel([asks, [assistant_message("done")]]),
                      tools=[tool])  # fmt: skip
        assert (await Runner.run(outer, "go")).final_output == "done"
        return told(model, found[0])

    @mode
    async def agent_that_is_handed_to(self, body, calls):
        model = scripted(calls)
        inner = Agent("clerk", model=model, tools=[tool_of(body)])
        hands = [function_call("transfer_to_clerk", {}, call_id="h")]
        outer = Agent("boss", model=ScriptedModel([hands]), handoffs=[inner])
        result = await Runner.run(outer, "go")
        assert result.last_agent is inner
        return told(model, result)

    @mode
    async def mcp_server(self, body, calls):
        return await self._run(calls, mcp_servers=[Server(body, structured=False)])

    @mode
    async def mcp_server_with_structured_content(self, body, calls):
        return await self._run(calls, mcp_servers=[Server(body, structured=True)])

    @mode
    async def called_by_a_program(self, body, calls):
        """It reads a refusal as it reads any failure of a tool: as the text that comes back."""
        tool = tool_of(body)

        async def call(args):
            text = json.dumps(args)
            context = ToolContext(None, tool_name="pay", tool_call_id="1", tool_arguments=text)
            return await invoke_function_tool(function_tool=tool, context=context, arguments=text)

        found = await asyncio.gather(*map(call, calls))
        return Told([str(each) for each in found], repr(found))
