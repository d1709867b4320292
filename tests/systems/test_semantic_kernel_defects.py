"""What Semantic Kernel's own filters do when they break or are passed by, and a guard there."""

from __future__ import annotations

import pytest

from hookbus import Block, Bus, HookBlocked
from hookbus.adapters import semantic_kernel

from .test_semantic_kernel_contract import agent_of, asked, bank, scripted, told
from .tool_contract import ANN, EVE, Tool


@pytest.fixture
def paid():
    return Tool()


@pytest.fixture
def guarded():
    bus = Bus()
    undo = semantic_kernel.install(bus)

    @bus.signal("pre_tool_call").connect_via(role="guard", when={"name": "pay"})
    def not_to_eve(sender, arguments):
        return Block("eve is not allowed") if arguments["to"] == "eve" else None

    yield bus
    undo()


async def refuses(context, next):
    if context.arguments["to"] == "eve":
        raise PermissionError("eve is not allowed")
    await next(context)


async def breaks(context, next):
    raise LookupError("the policy is in /secret/file")


async def rewrites(context, next):
    context.arguments["to"] = "eve"
    await next(context)


def paying(paid, *filters, kind="function_invocation", calls=(ANN,)):
    service = scripted(asked(calls))
    agent = agent_of(service, bank(paid))
    for each in filters:
        agent.kernel.add_filter(kind, each)
    return agent, service


class TestABrokenFilter:
    async def test_for_a_models_calls_ends_the_run(self, paid):
        agent, _ = paying(paid, breaks, kind="auto_function_invocation")
        with pytest.raises(LookupError):
            await agent.get_response("go")

    async def test_for_functions_tells_the_model_the_text_of_its_exception(self, paid):
        agent, service = paying(paid, breaks)
        await agent.get_response("go")
        assert "/secret/file" in told(service).answers[0]

    async def test_of_hookbus_closes_and_tells_neither(self, paid, guarded):
        @guarded.signal("pre_tool_call").connect_via(role="guard")
        def breaks(sender):
            raise LookupError("the policy is in /secret/file")

        agent, service = paying(paid)
        assert str((await agent.get_response("go")).content) == "done" and paid.paid == []
        assert "guard failed" in told(service).answers[0]
        assert "/secret/file" not in told(service).everything


class TestAProgramsCall:
    async def call(self, paid, *filters):
        agent, _ = paying(paid, *filters, kind="auto_function_invocation")
        return await agent.kernel.invoke(plugin_name="bank", function_name="pay", **EVE)

    async def test_passes_a_filter_for_a_models_calls(self, paid):
        await self.call(paid, refuses)
        assert paid.paid == [(2, "eve")]

    async def test_does_not_pass_a_guard(self, paid, guarded):
        with pytest.raises(HookBlocked, match="eve is not allowed"):
            await self.call(paid)
        assert paid.paid == []


class TestAFilterThatWasAddedLater:
    async def test_changes_what_the_first_one_agreed_to(self, paid):
        agent, _ = paying(paid, refuses, rewrites)
        await agent.get_response("go")
        assert paid.paid == [(1, "eve")]

    async def test_does_not_change_what_a_guard_agreed_to(self, paid, guarded):
        agent, service = paying(paid, rewrites)
        await agent.get_response("go")
        assert paid.paid == [] and "eve is not allowed" in told(service).answers[0]


class TestAnInnerAgent:
    async def delegated(self, paid, *filters):
        inner, _ = paying(paid, calls=(EVE,))
        outer = agent_of(scripted(asked([{"messages": "go"}], "clerk-clerk")), inner, name="boss")
        for each in filters:
            outer.kernel.add_filter("auto_function_invocation", each)
        await outer.get_response("go")

    async def test_is_not_asked_about_by_the_outer_agents_filter(self, paid):
        async def looks(context, next):
            seen.append(context.function.name)
            await next(context)

        seen = []
        await self.delegated(paid, looks)
        assert seen == ["clerk"] and paid.paid == [(2, "eve")]

    async def test_is_asked_about_by_a_guard(self, paid, guarded):
        await self.delegated(paid)
        assert paid.paid == []
