"""What receivers see of a result over MCP, and every place that a changed one goes to."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import types
from mcp.server import MCPServer
from pydantic import BaseModel

from hookbus import Block, Bus, Replace

from . import mcp_parts as parts
from .mcp_parts import RECEIPT, call, low_level, text_of

installed = parts.installed
at_the_client = parts.at_the_client
at_the_server = parts.at_the_server


class Receipt(BaseModel):
    amount: int
    note: str


def bank() -> MCPServer:
    server = MCPServer("bank")

    @server.tool()
    def pay(amount: int) -> Receipt:
        return Receipt(amount=amount, note="pin-4711")

    @server.tool()
    def history() -> list[str]:
        return ["rent", "pin-4711"]

    @server.tool()
    def balance() -> int:
        return 12

    @server.tool()
    def picture() -> types.CallToolResult:
        text = types.TextContent(type="text", text="a picture of pin-4711")
        image = types.ImageContent(type="image", data="cGlu", mime_type="image/png")
        return types.CallToolResult(content=[text, image])

    @server.tool()
    def two_faces() -> types.CallToolResult:
        text = types.TextContent(type="text", text="the pin is pin-4711", _meta={"was": "pin-4711"})
        return types.CallToolResult(
            content=[text], structured_content={"ok": True}, _meta={"copy": "pin-4711"}
        )

    return server


def results_of(bus: Bus) -> list[Any]:
    seen: list[Any] = []
    bus.signal("post_tool_call").connect(
        lambda sender, result: seen.append(result), role="observe", weak=False
    )
    return seen


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("pay", {"amount": 3}, {"amount": 3, "note": "pin-4711"}),
        ("history", {}, ["rent", "pin-4711"]),
        ("balance", {}, 12),
    ],
)
async def test_receivers_see_the_data_of_a_result_once(installed, tool, arguments, result):
    seen = results_of(installed)
    await call(bank(), tool, **arguments)
    assert seen == [result, result]


async def test_text_that_says_more_than_the_data_is_shown_beside_it(at_the_client):
    seen = results_of(at_the_client)
    await call(bank(), "two_faces")
    [result] = seen
    assert result["structured_content"] == {"ok": True}
    assert result["content"][0]["text"] == "the pin is pin-4711"


async def test_pictures_are_shown_as_blocks_and_pass(installed):
    seen = results_of(installed)
    result = await call(bank(), "picture")
    assert [block["type"] for block in seen[0]] == ["text", "image"]
    assert [block.type for block in result.content] == ["text", "image"]


@pytest.mark.parametrize("side", ["at_the_client", "at_the_server"])
@pytest.mark.parametrize("tool", ["pay", "history", "picture", "two_faces"])
async def test_a_redactor_of_plain_data_reaches_every_copy(request, side, tool):
    def redacted(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: redacted(each) for key, each in value.items()}
        if isinstance(value, list):
            return [redacted(each) for each in value]
        return value.replace("pin-4711", "****") if isinstance(value, str) else value

    bus = request.getfixturevalue(side)
    bus.signal("post_tool_call").connect(lambda sender, result: redacted(result), on_error="block")
    result = await call(bank(), tool, **({"amount": 3} if tool == "pay" else {}))
    assert not result.is_error and "pin-4711" not in repr(result) and "****" in repr(result)


async def test_a_changed_result_fits_the_schema_that_a_client_checks(at_the_server):
    at_the_server.signal("post_tool_call").connect(lambda sender, result: {**result, "note": "-"})
    result = await call(bank(), "pay", amount=3)
    assert result.structured_content == {"amount": 3, "note": "-"} and not result.is_error
    assert text_of(result) == '{"amount": 3, "note": "-"}'


@pytest.mark.parametrize("low", [False, True])
async def test_one_that_fits_no_schema_is_an_error_that_the_model_reads(at_the_server, low):
    at_the_server.signal("post_tool_call").connect(lambda sender, result: "nothing to see")
    server = low_level(lambda amount, to: "paid", RECEIPT) if low else bank()
    result = await call(server, "pay", amount=3, **({"to": "ann"} if low else {}))
    assert result.is_error and text_of(result) == "nothing to see"
    assert result.structured_content is None


@pytest.mark.parametrize("low", [False, True])
async def test_a_replaced_result_is_data_where_the_tool_promises_data(at_the_server, low):
    data = {"receipt": "cached"} if low else {"amount": 3, "note": "cached"}
    at_the_server.signal("pre_tool_call").connect(lambda sender: Replace(data))
    server = low_level(lambda amount, to: "paid", RECEIPT) if low else bank()
    result = await call(server, "pay", amount=3, **({"to": "ann"} if low else {}))
    assert result.structured_content == data and not result.is_error


async def test_a_refusal_of_a_tool_that_promises_data_is_read_as_one(at_the_server):
    at_the_server.signal("pre_tool_call").connect(
        lambda sender: Block("no"), role="guard", name="g"
    )
    for server in (bank(), low_level(lambda amount, to: "paid", RECEIPT)):
        result = await call(server, "pay", amount=3, to="ann")
        assert result.is_error and text_of(result) == "Error: the call was blocked by g: no"


async def test_a_result_that_is_an_error_stays_one_when_it_is_changed(installed):
    server = MCPServer("bank")

    @server.tool()
    def pay() -> str:
        raise ValueError("no money")

    installed.signal("post_tool_call").connect(lambda sender, result: f"so: {result}")
    result = await call(server, "pay")
    assert result.is_error and text_of(result).startswith("so: ")
