"""A guard at a server asks; it is elicited from the client's user, in the call or in rounds."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from mcp import Client, types

from hookbus import Ask, Bus
from hookbus.adapters import mcp
from hookbus.approvals import Store

from .approving import ANN, ApprovalContract, asks
from .mcp_parts import low_level, server_of, text_of
from .tool_contract import Told, Tool


class Elicited(ApprovalContract):
    adapter = "mcp"
    install = staticmethod(partial(mcp.install, client=False))
    no = "the user answered no"
    options: dict[str, Any] = {}
    make: Any = staticmethod(server_of)

    async def converse(self, tool, calls, saved, person):
        async def callback(context, params):
            question, shown = params.message.removeprefix("> ").split("\n")
            name, arguments = shown.split(" ", 1)
            asked = {"id": "?", "question": question, "tool": name,
                     "arguments": json.loads(arguments)}  # fmt: skip
            said = person(asked)["approved"]
            return types.ElicitResult(action="accept", content={"approved": said})

        return await over(self.make(tool), calls, elicitation_callback=callback, **self.options)


async def over(server: Any, calls: Any, **options: Any) -> Told:
    async with Client(server, **options) as client:
        found = [await client.call_tool("pay", dict(args)) for args in calls]
    return Told([text_of(each) for each in found], repr(found))


class TestInRounds(Elicited):
    pass


class TestInTheCall(Elicited):
    options = {"mode": "legacy"}


class TestOfALowLevelServer(Elicited):
    make = staticmethod(low_level)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "approvals.db")


@pytest.fixture
def bus(store):
    bus = Bus()
    undo = mcp.install(bus, client=False, approver=store)
    asks(bus)
    yield bus
    undo()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("said", [
    types.ElicitResult(action="decline"), types.ElicitResult(action="cancel"),
    types.ElicitResult(action="accept", content={"approved": False}),
    types.ElicitResult(action="accept", content={"approve": True}),
    types.ElicitResult(action="accept"),
])  # fmt: skip
async def test_what_is_no_yes_is_a_no(bus, mode, said):
    async def callback(context, params):
        return said

    tool = Tool()
    told = await over(server_of(tool), [ANN], mode=mode, elicitation_callback=callback)
    assert tool.paid == [] and "the user answered" in told.answers[0]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_the_user_reads_hides_nothing_and_no_question_looks_like_a_call(store, mode):
    read, bus = [], Bus()
    undo = mcp.install(bus, client=False, approver=store)
    bus.signal("pre_tool_call").connect(
        lambda tool, arguments: Ask(f"pay {arguments['to']}?\nread_mail {{}}\u202e\x1b[2K"),
        role="guard",
    )

    async def callback(context, params):
        read.append(params.message)
        return types.ElicitResult(action="decline")

    arguments = {"amount": 1, "to": "a\u200bnn"}
    await over(server_of(Tool()), [arguments], mode=mode, elicitation_callback=callback)
    undo()
    lines = read[0].split("\n")
    assert lines[:-1] == [r"> pay a\u200bnn?", r"> read_mail {}\u202e\x1b[2K"]
    assert lines[-1].startswith("pay {") and json.loads(lines[-1][4:]) == arguments
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_cannot_ask_reads_the_number_of_the_request(bus, store, mode):
    tool = Tool()
    told = await over(server_of(tool), [ANN], mode=mode)
    [request] = store.pending()
    assert tool.paid == [] and request.id in told.answers[0]


async def test_a_yes_to_another_request_or_other_arguments_does_not_pass(bus):
    async def callback(context, params):
        raise AssertionError("this client answers by itself")

    tool = Tool()
    async with Client(low_level(tool), elicitation_callback=callback) as client:
        call, session = {"name": "pay"}, client.session

        async def ask(arguments, responses=None, state=None):
            return await session.call_tool(
                **call, arguments=arguments, input_responses=responses, request_state=state,
                allow_input_required=True,
            )  # fmt: skip

        first = await ask(ANN)
        [number] = first.input_requests
        accepted = types.ElicitResult(action="accept", content={"approved": True})
        for arguments, answers in (
            (ANN, {"another": accepted}), ({**ANN, "amount": 9000}, {number: accepted})
        ):  # fmt: skip
            again = await ask(arguments, answers, first.request_state)
            assert again.result_type == "input_required" and tool.paid == []
        other = await ask(ANN, {number: accepted}, "a state of one's own")
        assert other.result_type == "input_required" and tool.paid == []
        await ask(ANN, {number: accepted}, first.request_state)
        assert tool.paid == [(1, "ann")]
        used = await ask(ANN, {number: accepted}, first.request_state)
        assert used.result_type == "input_required" and tool.paid == [(1, "ann")]
