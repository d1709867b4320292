"""Google ADK's tools under the contract: by agents, their agents, a workflow, a program."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins import ReflectAndRetryToolPlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool, FunctionTool
from google.adk.tools.mcp_tool.mcp_tool import McpTool
from google.genai import types
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as McpDescription

from hookbus import HookBlocked
from hookbus.adapters import google_adk

from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401


class Scripted(BaseLlm):
    """Gives its turns one after the other: texts, or lists of calls; `read` is what it was told."""

    model: str = "scripted"
    turns: list[Any] = []
    read: list[Any] = []

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.read.append(llm_request.contents)
        turn = self.turns.pop(0)
        if isinstance(turn, str):
            if stream:
                yield LlmResponse(content=content(turn[:1]), partial=True)
            yield LlmResponse(content=content(turn))
        else:
            yield LlmResponse(content=types.Content(role="model", parts=turn))


def content(text: str, role: str = "model") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def asks(name: str, args: dict[str, Any], call_id: str | None = None) -> types.Part:
    call = types.FunctionCall(name=name, args=dict(args), id=call_id or f"call-{name}")
    return types.Part(function_call=call)


def payments(calls: Any) -> list[types.Part]:
    return [asks("pay", args, f"call-{i}") for i, args in enumerate(calls)]


def scripted(*turns: Any) -> Scripted:
    return Scripted(turns=list(turns), read=[])


def agent_of(name: str, model: Any, *tools: Any, **options: Any) -> LlmAgent:
    return LlmAgent(name=name, description=name, model=model, tools=list(tools), **options)


def tool_of(body: Any, *, is_async: bool = False) -> FunctionTool:
    def pay(amount: int, to: str) -> str:
        """Pay a recipient."""
        return body(amount, to)

    async def pay_async(amount: int, to: str) -> str:
        """Pay a recipient."""
        await asyncio.sleep(0)
        return body(amount, to)

    pay_async.__name__ = "pay"
    return FunctionTool(pay_async if is_async else pay)


class Paying(FunctionTool):
    """A tool whose `run_async` calls its parent's, and adds what is not the model's."""

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        args = {**args, "client": self}
        return await super().run_async(args=args, tool_context=tool_context)


class Sessions:
    """Stands for the sessions of an MCP server."""

    def __init__(self, body: Any) -> None:
        self.body = body

    async def create_session(self, headers: Any = None) -> Any:
        return self

    async def call_tool(self, name: str, arguments: Any = None, **options: Any) -> Any:
        text = self.body(**arguments)
        return CallToolResult(
            content=[TextContent(type="text", text=text)], structuredContent={"text": text}
        )

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


def mcp_tool(body: Any) -> McpTool:
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    described = McpDescription(name="pay", description="Pay.", inputSchema=schema)
    return McpTool(mcp_tool=described, mcp_session_manager=Sessions(body))


async def run(agent: Any, *, plugins: Any = (), **options: Any) -> list[Any]:
    """Run an agent to its end; return its events and what its session holds."""
    runner = InMemoryRunner(app=App(name="app", root_agent=agent, plugins=list(plugins)))
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    call = {"user_id": "u", "session_id": session.id, "new_message": content("go", "user")}
    async with contextlib.aclosing(runner.run_async(**call, **options)) as events:
        found = [event async for event in events]
    kept = await runner.session_service.get_session(
        app_name="app", user_id="u", session_id=session.id
    )
    return [*found, kept]


def told(model: Scripted, events: list[Any]) -> Told:
    parts = [part for each in model.read[-1] for part in each.parts or ()]
    answers = [part.function_response for part in parts if part.function_response]
    last = [event.content.parts[0].text for event in events[:-1] if event.content]
    return Told([str(each.response) for each in answers if each.name == "pay"],
                repr((model.read, events)), last[-1] == "done")  # fmt: skip


class TestGoogleAdk(ToolContract):
    unnamed = ("tool_of_mcp",)
    adapter, package, module = "google_adk", "google-adk", "google.adk"
    besides = {"agent_as_a_tool": 1, "agent_that_is_handed_to": 1}
    kinds = {"tool_of_mcp": "mcp"}
    program = ("called_directly",)
    install = staticmethod(google_adk.install)

    async def _told(self, calls: Any, *tools: Any, **options: Any) -> Told:
        model = scripted(payments(calls), "done")
        return told(model, await run(agent_of("payer", model, *tools), **options))

    @mode
    async def agent(self, body, calls):
        return await self._told(calls, tool_of(body))

    @mode
    async def agent_with_an_async_tool(self, body, calls):
        return await self._told(calls, tool_of(body, is_async=True))

    @mode
    async def agent_streamed(self, body, calls):
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        return await self._told(calls, tool_of(body), run_config=config)

    @mode
    async def agent_that_retries(self, body, calls):
        return await self._told(calls, tool_of(body), plugins=[ReflectAndRetryToolPlugin()])

    @mode
    async def a_class_that_overrides_run_async(self, body, calls):
        def pay(amount: int, to: str, client: Any = None) -> str:
            """Pay a recipient."""
            assert isinstance(client, Paying)
            return body(amount, to)

        return await self._told(calls, Paying(pay))

    @mode
    async def tool_of_mcp(self, body, calls):
        return await self._told(calls, mcp_tool(body))

    @mode
    async def agent_as_a_tool(self, body, calls):
        model = scripted(payments(calls), "done")
        inner = AgentTool(agent_of("payer", model, tool_of(body)), include_plugins=False)
        outer = scripted([asks("payer", {"request": "go"})], "done")
        return told(model, await run(agent_of("boss", outer, inner)))

    @mode
    async def agent_that_is_handed_to(self, body, calls):
        model = scripted(payments(calls), "done")
        payer = agent_of("payer", model, tool_of(body))
        boss = scripted([asks("transfer_to_agent", {"agent_name": "payer"})])
        return told(model, await run(agent_of("boss", boss, sub_agents=[payer])))

    @mode
    def agent_run_by_a_plain_program(self, body, calls):
        model = scripted(payments(calls), "done")
        agent = agent_of("payer", model, tool_of(body))
        runner = InMemoryRunner(app=App(name="app", root_agent=agent))
        made = runner.session_service.create_session(app_name="app", user_id="u")
        session = asyncio.run(made)
        events = runner.run(user_id="u", session_id=session.id, new_message=content("go", "user"))
        return told(model, [*events, None])

    @mode
    async def called_directly(self, body, calls):
        pay = tool_of(body)
        ways = [pay.run_async(args=dict(args), tool_context=None) for args in calls]
        found = await asyncio.gather(*ways, return_exceptions=True)
        assert all(isinstance(each, str | HookBlocked | dict) for each in found)
        return Told([str(each) for each in found], repr(found))
