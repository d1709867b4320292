"""What CrewAI does when one of its own hooks breaks, next to what hookbus does."""

from __future__ import annotations

from .crewai_parts import QUIET, acting, agent_of, asking, calling, crew_of, tool_of, writing

# isort: split
import pytest
from crewai.hooks import (
    register_after_tool_call_hook,
    register_before_tool_call_hook,
    unregister_after_tool_call_hook,
    unregister_before_tool_call_hook,
)

from hookbus.adapters import crewai

from .tool_contract import EVE, SECRET, Tool

pytestmark = [QUIET, pytest.mark.parametrize("way", ["functions", "actions"])]


@pytest.fixture
def before():
    hooks = []
    yield lambda hook: (hooks.append(hook), register_before_tool_call_hook(hook))
    for hook in hooks:
        unregister_before_tool_call_hook(hook)


@pytest.fixture
def after():
    hooks = []
    yield lambda hook: (hooks.append(hook), register_after_tool_call_hook(hook))
    for hook in hooks:
        unregister_after_tool_call_hook(hook)


def pay(way, body):
    """Return what the model read."""
    asked = calling(asking("pay", EVE)) if way == "functions" else writing(*acting("pay", EVE))
    agent = agent_of(asked, tool_of(body))
    crew_of(agent).kickoff()
    return str(agent.llm.read)


def broken(*args):
    raise LookupError("the policy is not there")


class TestItsOwn:
    def test_a_guard_that_raises_lets_the_tool_run(self, before, way):
        before(broken)
        pay(way, tool := Tool())
        assert tool.paid == [(2, "eve")]

    @pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
    def test_an_async_guard_is_never_awaited(self, before, way):
        async def guard(context):
            return False

        before(guard)
        pay(way, tool := Tool())
        assert tool.paid == [(2, "eve")]

    def test_a_redactor_that_raises_lets_the_secret_pass(self, after, way):
        after(broken)
        assert SECRET in pay(way, Tool())

    def test_arguments_that_are_set_and_not_written_into_are_ignored(self, before, way):
        def to_bob(context):
            context.tool_input = {**context.tool_input, "to": "bob"}

        before(to_bob)
        pay(way, tool := Tool())
        assert tool.paid == [(2, "eve")]


class TestHookbus:
    @pytest.fixture(autouse=True)
    def installed(self, bus):
        undo = crewai.install(bus)
        yield
        undo()

    def test_a_guard_that_raises_closes(self, bus, way):
        bus.signal("pre_tool_call").connect(broken, role="guard")
        assert "guard failed" in pay(way, tool := Tool()) and tool.paid == []

    def test_an_async_guard_is_waited_for(self, bus, way):
        @bus.signal("pre_tool_call").connect_via(role="guard")
        async def guard(sender):
            return False

        pay(way, tool := Tool())
        assert tool.paid == []

    def test_a_redactor_that_raises_withholds_the_result(self, bus, way):
        bus.signal("post_tool_call").connect(broken, on_error="block")
        assert SECRET not in pay(way, Tool())

    def test_a_guard_sees_what_the_last_of_its_own_hooks_wrote(self, bus, before, way):
        before(lambda context: context.tool_input.update(to="bob"))
        seen = []
        bus.signal("pre_tool_call").connect(
            lambda sender, arguments: seen.append(arguments["to"]), role="guard"
        )
        pay(way, tool := Tool())
        assert seen == ["bob"] and tool.paid == [(2, "bob")]
