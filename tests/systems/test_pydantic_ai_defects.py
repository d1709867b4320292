"""What Pydantic AI's own hooks do where they break or are passed by, and what hookbus does."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import Hooks
from pydantic_ai.models.test import TestModel

from hookbus import Block, Bus
from hookbus.adapters import pydantic_ai

from .test_pydantic_ai_contract import plain, scripted, server

EVE = {"amount": 1, "to": "eve"}


@pytest.fixture
def bus():
    bus = Bus()
    undo = pydantic_ai.install(bus)
    yield bus
    undo()


def run(agent):
    return asyncio.run(agent.run("go"))


class TestAHookThatRaises:
    def agent(self, paid, **options):
        model = scripted(("pay", EVE), ("pay", {"amount": 1, "to": "ann"}))
        return Agent(model, tools=[plain(lambda *args: paid.append(args))], **options)

    def test_of_pydantic_ai_ends_the_run(self):
        hooks = Hooks()

        @hooks.on.before_tool_execute
        async def broken(context, *, call, tool_def, args):
            if args["to"] == "eve":
                raise LookupError("the policy is in /secret/file")
            return args

        with pytest.raises(LookupError):
            run(self.agent([], capabilities=[hooks]))

    def test_of_hookbus_closes_its_call_and_the_run_goes_on(self, bus):
        @bus.signal("pre_tool_call").connect_via(role="guard")
        def broken(tool, arguments):
            if arguments["to"] == "eve":
                raise LookupError("the policy is in /secret/file")

        paid = []
        found = run(self.agent(paid))
        assert found.output == "done" and paid == [(1, "ann")]
        assert "/secret/file" not in repr(found.all_messages())


class TestAnOutputFunction:
    def test_no_tool_hook_of_pydantic_ai_is_asked(self):
        asked, hooks = [], Hooks()

        @hooks.on.before_tool_execute
        async def guard(context, *, call, tool_def, args):
            asked.append(args)
            return args

        pay = plain(lambda amount, to: "paid")
        found = run(Agent(TestModel(), output_type=pay, capabilities=[hooks]))
        assert found.output == "paid" and asked == []

    def test_a_guard_of_hookbus_is(self, bus):
        bus.signal("pre_tool_call").connect(
            lambda tool, kind: Block("no", result="nothing paid") if kind == "output" else None,
            role="guard",
        )
        found = run(Agent(TestModel(), output_type=plain(lambda amount, to: "paid")))
        assert found.output == "nothing paid"


class TestAProgramThatCallsAnMCPTool:
    async def test_a_guard_of_hookbus_is_asked(self, bus):
        asked = []
        bus.signal("pre_tool_call").connect(
            lambda tool, arguments: asked.append(arguments) or None, role="guard"
        )
        async with server(lambda amount, to: "paid") as toolset:  # no hook of an agent is there
            await toolset.direct_call_tool("pay", EVE)
        assert asked == [EVE]
