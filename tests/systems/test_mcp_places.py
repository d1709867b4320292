"""Where a call over MCP is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client, types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Extension

from hookbus import Block, Bus, HookError
from hookbus.adapters import mcp
from hookbus.events import Started
from hookbus.testing import record

from . import mcp_parts as parts
from .mcp_parts import call, low_level, server_of, text_of

installed = parts.installed
at_the_client = parts.at_the_client
at_the_server = parts.at_the_server


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
async def test_in_one_process_the_servers_call_is_part_of_the_clients(installed, protocol):
    kinds = []
    installed.signal("pre_tool_call").connect(
        lambda sender, kind, name: kinds.append((kind, name, type(sender).__name__)),
        role="observe", weak=False,
    )  # fmt: skip
    with record(installed) as fired:
        await call(server_of(lambda amount, to: "paid"), "pay", protocol, amount=1, to="ann")
    assert kinds == [("mcp", "pay", "ClientSession"), ("function", "pay", "Tool")]
    client, server = fired.of(Started)
    assert server.parent_id == client.call_id


async def test_a_call_that_the_client_refuses_is_not_sent(installed):
    heard = []

    @installed.signal("pre_tool_call").connect_via(role="guard", when={"kind": "mcp"})
    def not_over_the_wire(sender):
        return Block("offline")

    installed.signal("pre_tool_call").connect(
        lambda sender, kind: heard.append(kind), role="guard", name="hear"
    )
    result = await call(server_of(lambda amount, to: "paid"), "pay", amount=1, to="ann")
    assert result.is_error and "offline" in text_of(result) and heard == []


async def test_receivers_of_one_session_hear_that_session_alone(at_the_client):
    heard = []
    server = server_of(lambda amount, to: "paid")
    async with Client(server) as one, Client(server) as other:
        at_the_client.signal("pre_tool_call").connect(
            lambda sender, arguments: heard.append(arguments["to"]), sender=one.session
        )
        for client, to in ((one, "ann"), (other, "bob")):
            await client.call_tool("pay", {"amount": 1, "to": to})
    assert heard == ["ann"]


async def test_the_server_tells_the_number_of_the_request(at_the_server):
    numbers = []
    at_the_server.signal("pre_tool_call").connect(
        lambda sender, call_id: numbers.append(call_id), role="observe", weak=False
    )
    server = server_of(lambda amount, to: "paid")
    async with Client(server) as client:
        for _ in range(2):
            await client.call_tool("pay", {"amount": 1, "to": "ann"})
    await server.call_tool("pay", {"amount": 1, "to": "ann"})
    first, second, direct = numbers
    assert first != second and None not in (first, second) and direct is None


async def test_what_an_extension_answers_by_itself_is_asked_too(at_the_server):
    class Answers(Extension):
        identifier = "org.example/answers"

        async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
            if params.arguments["to"] == "ann":
                return await call_next(ctx)
            return types.CallToolResult(content=[types.TextContent(type="text", text="mine")])

    asked = []

    @at_the_server.signal("pre_tool_call").connect_via(role="guard")
    def not_to_eve(sender, arguments):
        asked.append(type(sender).__name__)
        return Block("eve is not allowed") if arguments["to"] == "eve" else None

    server = server_of(lambda amount, to: "paid", extensions=[Answers()])
    assert (await call(server, "pay", amount=1, to="eve")).is_error
    assert text_of(await call(server, "pay", amount=1, to="ann")) == "paid"
    assert asked == ["Server", "Server", "Tool"]


async def test_a_tool_that_calls_itself_is_asked_each_time(at_the_server):
    asked = []
    server = MCPServer("deep")

    @server.tool()
    async def dig(depth: int) -> str:
        if depth:
            await server.call_tool("dig", {"depth": depth - 1})
        return "dug"

    at_the_server.signal("pre_tool_call").connect(
        lambda sender, arguments: asked.append(arguments["depth"]), role="guard", name="ask"
    )
    await call(server, "dig", depth=2)
    assert asked == [2, 1, 0]


async def test_an_unknown_tool_is_told_as_without_hookbus(installed):
    result = await call(server_of(print), "steal")
    assert result.is_error and "Unknown tool" in text_of(result)


async def test_a_question_of_the_server_passes_and_each_round_is_asked(installed):
    asked = []
    server = MCPServer("bank")

    @server.tool()
    async def pay(amount: int, ctx: Context) -> Any:
        if ctx.input_responses is None:
            return types.InputRequiredResult(input_requests={"sure": types.ElicitRequest(
                params=types.ElicitRequestFormParams(
                    message="sure?", requested_schema={"type": "object", "properties": {}}
                )
            )})  # fmt: skip
        return f"paid {amount}"

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    installed.signal("pre_tool_call").connect(
        lambda sender, kind: asked.append(kind), role="guard", name="ask"
    )
    async with Client(server, elicitation_callback=answer) as client:
        assert text_of(await client.call_tool("pay", {"amount": 3})) == "paid 3"
    assert asked == ["mcp", "function"] * 2


async def test_a_handler_that_somebody_kept_runs_bare_after_uninstall(bus):
    asked = []
    server = low_level(lambda amount, to: "paid")
    undo = mcp.install(bus, client=False)
    kept = server.get_request_handler("tools/call")
    bus.signal("pre_tool_call").connect(lambda sender: asked.append(1), role="guard", name="ask")
    undo()
    server.add_request_handler("tools/call", kept.params_type, kept.handler)
    assert text_of(await call(server, "pay", amount=1, to="ann")) == "paid" and asked == []


def test_neither_side_is_nothing_to_hook():
    with pytest.raises(HookError, match="hook nothing: set one"):
        mcp.install(Bus(), client=False, server=False)


def test_middleware_of_an_unknown_version_is_refused(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.1")
    with pytest.raises(HookError, match=r"0\.0\.1 is installed"):
        mcp.Guarded(Bus())


async def test_calls_in_a_group_of_tasks_are_each_their_own(installed):
    seen = []
    installed.signal("pre_tool_call").connect(
        lambda sender, arguments: seen.append(arguments["to"]), when={"kind": "function"}
    )
    async with Client(server_of(lambda amount, to: to)) as client:
        found = await asyncio.gather(*(
            client.call_tool("pay", {"amount": 1, "to": str(i)}) for i in range(10)
        ))  # fmt: skip
    assert [text_of(each) for each in found] == [str(i) for i in range(10)]
    assert sorted(seen) == [str(i) for i in range(10)]
