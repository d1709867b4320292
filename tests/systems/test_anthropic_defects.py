"""What Anthropic's tool runner does with a check of one's own that breaks, next to hookbus."""

from __future__ import annotations

from hookbus.adapters import anthropic

from .anthropic_parts import Model, options, paying, tool_of
from .tool_contract import ANN, Tool

HIDDEN = "the policy is in /secret/file"


def broken(*_):
    raise LookupError(HIDDEN)


class TestItsOwn:
    def test_what_a_check_in_the_tool_raises_is_sent_to_the_model(self):
        model = Model(paying([ANN]))
        model.client.beta.messages.tool_runner(**options(tool_of(broken))).until_done()
        assert HIDDEN in model.read[0]

    def test_a_check_in_the_loop_comes_after_the_request_and_ends_the_run(self):
        model, tool = Model(paying([ANN])), Tool()
        runner = model.client.beta.messages.tool_runner(**options(tool_of(tool)))
        try:
            for message in runner:
                broken(message)
        except LookupError:
            ended = True
        assert ended and tool.paid == [] and len(model.asked) == 1


class TestHookbus:
    def test_a_guard_that_breaks_refuses_one_call_and_the_run_goes_on(self, bus):
        bus.signal("pre_tool_call").connect(broken, role="guard", name="broken")
        model, tool, undo = Model(paying([ANN])), Tool(), anthropic.install(bus)
        try:
            runner = model.client.beta.messages.tool_runner(**options(tool_of(tool)))
            assert runner.until_done().content[0].text == "done"
        finally:
            undo()
        assert tool.paid == [] and "guard failed" in model.read[0]
        assert model.asked[1]["messages"][-1]["content"][0]["is_error"] is True
        assert HIDDEN not in repr(model.asked)
