"""Where a call of FastMCP is asked, and every place that a changed result of it goes to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.tools import FunctionTool, Tool
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import BaseModel

from hookbus import Ask, Block, Bus, HookError, Replace, baggage, guards
from hookbus.adapters import fastmcp, mcp
from hookbus.approvals import Approved, Inbox, Store
from hookbus.events import Started
from hookbus.testing import record

from .test_fastmcp_contract import server_of, tool_of

YES = Approved("ada")


class Receipt(BaseModel):
    amount: int
    note: str


@pytest.fixture
def installed(bus):
    undo = fastmcp.install(bus)
    yield bus
    undo()


@pytest.fixture
def shop():
    """A server that has another mounted under a name."""
    shop = FastMCP("shop")
    shop.mount(server_of(tool_of(lambda amount, to: "paid")), namespace="bank")
    return shop


def paying(**options: Any) -> FastMCP:
    server = FastMCP("bank", **options)

    @server.tool
    def pay(amount: int) -> Receipt:
        return Receipt(amount=amount, note="pin-4711")

    return server


def heard_on(bus: Bus) -> list[Any]:
    heard: list[Any] = []
    bus.signal("pre_tool_call").connect(
        lambda sender, name, kind: heard.append((name, kind, type(sender).__name__)),
        role="observe", weak=False,
    )  # fmt: skip
    return heard


async def call(server: Any, name: str, /, **arguments: Any) -> Any:
    async with Client(server) as client:
        return await client.call_tool(name, arguments, raise_on_error=False)


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


# -- places ----------------------------------------------------------------------------------------


async def test_a_mounted_servers_tool_is_asked_under_each_of_its_names(installed, shop):
    heard = heard_on(installed)
    with record(installed) as fired:
        await call(shop, "bank_pay", amount=1, to="ann")
    assert heard == [
        ("bank_pay", "mcp", "FastMCPProviderTool"),
        ("pay", "function", "FunctionTool"),
    ]
    outer, inner = fired.of(Started)
    assert inner.parent_id == outer.call_id


async def test_a_call_through_two_mounts_is_counted_and_asked_about_once(installed, shop):
    mall = FastMCP("mall")
    mall.mount(shop, namespace="shop")
    asked: list[str] = []

    @installed.approver
    def approve(request: Any) -> Approved:
        asked.append(request.question)
        return Approved("ada")

    installed.register(guards.tool_policy(ask="*pay"))
    installed.register(guards.rate_limit(2))
    heard = heard_on(installed)
    for to in ("ann", "bob"):
        assert "paid" in text_of(await call(mall, "shop_bank_pay", amount=1, to=to))
    assert "limit of" in text_of(await call(mall, "shop_bank_pay", amount=1, to="eve"))
    assert asked == ["call 'shop_bank_pay'?"] * 2 and len(heard) >= 2 * 3
    installed.register(guards.tool_policy(deny="pay", default="allow"))
    with baggage(session="another"):
        assert "blocked" in text_of(await call(mall, "shop_bank_pay", amount=1, to="ann"))


def through(installed: Bus, approver: str, asked: list[str], path: Any) -> Any:
    """Have a person approve all that is asked, at once, at an inbox or in a store."""
    if approver == "function":
        return installed.approver(lambda request: (asked.append(request.question), YES)[1])
    place = installed.approver(Inbox() if approver == "inbox" else Store(path / "approvals.db"))

    async def answer() -> None:
        for request in place.pending():
            asked.append(request.question)
            place.answer(request.id, YES)

    return answer


@pytest.mark.parametrize("approver", ["function", "inbox", "store"])
async def test_a_guard_of_ones_own_asks_once_about_a_call_through_two_mounts(
    installed, shop, tmp_path, approver
):
    mall = FastMCP("mall")
    mall.mount(shop, namespace="shop")
    asked: list[str] = []
    answer = through(installed, approver, asked, tmp_path)

    @installed.signal("pre_tool_call").connect_via(role="guard")
    def careful(tool: Any, name: str) -> Ask:
        return Ask(f"run {name}?")

    for to in ("ann", "bob"):
        result = asyncio.ensure_future(call(mall, "shop_bank_pay", amount=1, to=to))
        while not result.done():
            if approver == "inbox":
                await answer()
            await asyncio.sleep(0.01)
        if approver == "store":
            assert "approval pending" in text_of(await result)
            await answer()
            result = asyncio.ensure_future(call(mall, "shop_bank_pay", amount=1, to=to))
        assert text_of(await result) == "paid"
    assert asked == ["run shop_bank_pay?"] * 2


async def test_one_mounted_under_the_same_names_is_asked_once_at_its_own_tool(installed):
    heard = heard_on(installed)
    shop = FastMCP("shop")
    shop.mount(server_of(tool_of(lambda amount, to: "paid")))
    await call(shop, "pay", amount=1, to="ann")
    assert heard == [("pay", "function", "FunctionTool")]


async def test_a_guard_of_either_name_holds(installed, shop):
    for name in ("bank_pay", "pay"):
        guard = installed.signal("pre_tool_call").connected_to(
            lambda sender: Block("closed"), role="guard", name="guard", when={"name": name}
        )
        with guard:
            result = await call(shop, "bank_pay", amount=1, to="ann")
        assert result.is_error and text_of(result) == "Error: the call was blocked by guard: closed"
    assert not (await call(shop, "bank_pay", amount=1, to="ann")).is_error


async def test_a_tool_in_front_of_another_is_told_around_it(installed):
    heard = heard_on(installed)
    tool = Tool.from_tool(tool_of(lambda amount, to: "paid"), name="give")
    with record(installed) as fired:
        await call(server_of(tool), "give", amount=1, to="ann")
    assert [name for name, _, _ in heard] == ["give", "pay"]
    outer, inner = fired.of(Started)
    assert inner.parent_id == outer.call_id


async def test_receivers_of_one_tool_hear_that_tool_alone(installed):
    heard = []
    pay, give = (tool_of(lambda amount, to: "paid", name=name) for name in ("pay", "give"))
    server = server_of(pay)
    server.add_tool(give)
    installed.signal("pre_tool_call").connect(lambda tool, name: heard.append(name), sender=give)
    for name in ("pay", "give"):
        await call(server, name, amount=1, to="ann")
    assert heard == ["give"]


async def test_a_tool_made_later_of_a_later_class_is_heard(installed):
    class Later(FunctionTool):
        async def run(self, arguments: dict[str, Any]) -> Any:
            return await super().run(arguments)

    heard = heard_on(installed)
    await call(server_of(tool_of(lambda amount, to: "paid", Later)), "pay", amount=1, to="ann")
    assert heard == [("pay", "function", "Later")]


async def test_the_number_of_the_request_is_told(installed):
    numbers = []
    installed.signal("pre_tool_call").connect(
        lambda sender, call_id: numbers.append(call_id), role="observe", weak=False
    )
    tool = tool_of(lambda amount, to: "paid")
    await call(server_of(tool), "pay", amount=1, to="ann")
    await tool.run({"amount": 1, "to": "ann"})
    over_the_protocol, direct = numbers
    assert over_the_protocol is not None and direct is None


async def test_a_question_of_the_server_passes_and_each_round_is_asked(installed):
    heard = heard_on(installed)
    seen = []
    installed.signal("post_tool_call").connect(
        lambda sender, result: seen.append(result), role="observe", weak=False
    )
    server = FastMCP("bank")

    @server.tool
    async def pay(amount: int, ctx: Context) -> Any:
        if not ctx.input_responses:
            form = ElicitRequestFormParams(
                message="sure?", requested_schema={"type": "object", "properties": {}}
            )
            return InputRequiredResult(input_requests={"sure": ElicitRequest(params=form)})
        return f"paid {amount}"

    async def answer(*_: Any) -> Any:
        return {}

    async with Client(server, elicitation_handler=answer) as client:
        assert (await client.call_tool("pay", {"amount": 3})).content[0].text == "paid 3"
    assert len(heard) == 2
    assert "sure?" in str(seen[0]) and seen[1] == "paid 3"


# -- with the SDK's adapter ------------------------------------------------------------------------


async def test_with_the_sdks_adapter_a_call_is_asked_at_the_client_and_at_the_tool(installed):
    undo = mcp.install(installed)
    try:
        heard = heard_on(installed)
        await call(server_of(tool_of(lambda amount, to: "paid")), "pay", amount=1, to="ann")
    finally:
        undo()
    assert [(name, kind) for name, kind, _ in heard] == [("pay", "mcp"), ("pay", "function")]
    assert heard[1][2] == "FunctionTool"


async def test_the_sdks_adapter_on_another_bus_asks_there_too(installed):
    other = Bus()
    undo = mcp.install(other, client=False)
    try:
        here, there = heard_on(installed), heard_on(other)
        await call(server_of(tool_of(lambda amount, to: "paid")), "pay", amount=1, to="ann")
    finally:
        undo()
    assert len(here) == len(there) == 1


async def test_the_sdks_adapter_alone_guards_a_server_of_fastmcp(bus):
    undo = mcp.install(bus, client=False)
    try:
        bus.signal("pre_tool_call").connect(lambda sender: Block("no"), role="guard", name="g")
        result = await call(paying(), "pay", amount=3)
    finally:
        undo()
    assert result.is_error and text_of(result) == "Error: the call was blocked by g: no"


# -- results ---------------------------------------------------------------------------------------


async def test_a_redactor_of_plain_data_reaches_every_copy(installed):
    installed.signal("post_tool_call").connect(
        lambda sender, result: {**result, "note": "****"}, on_error="block"
    )
    result = await call(paying(), "pay", amount=3)
    assert result.structured_content == {"amount": 3, "note": "****"} and not result.is_error
    assert "pin-4711" not in repr(result) and result.data.note == "****"


async def test_one_that_fits_no_schema_is_an_error_that_the_model_reads(installed):
    installed.signal("post_tool_call").connect(lambda sender, result: "nothing to see")
    result = await call(paying(), "pay", amount=3)
    assert result.is_error and text_of(result) == "nothing to see"


async def test_so_it_is_behind_the_middleware(bus):
    bus.signal("post_tool_call").connect(lambda sender, result: "nothing to see")
    result = await call(paying(middleware=[fastmcp.guarded(bus)]), "pay", amount=3)
    assert result.is_error and text_of(result) == "nothing to see"


async def test_a_replaced_result_is_data_where_the_tool_promises_data(installed):
    data = {"amount": 3, "note": "cached"}
    installed.signal("pre_tool_call").connect(lambda sender: Replace(data))
    result = await call(paying(), "pay", amount=3)
    assert result.structured_content == data and not result.is_error


def test_middleware_of_an_unknown_version_is_refused(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.1")
    with pytest.raises(HookError, match=r"0\.0\.1 is installed"):
        fastmcp.guarded(Bus())
