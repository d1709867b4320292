"""smolagents: what an agent's state holds, and tools that do not exist."""

from __future__ import annotations

from typing import Any

from smolagents import Tool

from hookbus import Ask
from hookbus.adapters import smolagents
from hookbus.approvals import Approved

from .call_contract import Installed, UnknownContract, Wallet
from .smolagents_parts import asking, calling, tool_of


class Framing(Tool):
    """A tool that is given an image of the agent's state."""

    name, description, output_type = "frame", "Frame.", "string"
    inputs = {"picture": {"type": "any", "description": "?"},
              "to": {"type": "any", "description": "?"}}  # fmt: skip

    def __init__(self, framed: list[Any]) -> None:
        super().__init__()
        self.framed = framed

    def forward(self, picture: Any, to: Any) -> str:
        self.framed.append((picture, to))
        return "framed"


class TestCalls(UnknownContract):
    install = staticmethod(smolagents.install)

    def ask_for_fly(self) -> str:
        agent = calling([tool_of(Wallet())], asking("fly", {"to": "moon"}))
        agent.run("go")
        step = agent.memory.steps[1]
        return str(step.error or step.observations)


class TestState(Installed):
    install = staticmethod(smolagents.install)

    def test_an_image_of_the_state_is_seen_by_its_name_and_text_as_it_is(self, bus):
        framed, seen, image = [], [], object()

        @bus.signal("pre_tool_call").connect_via(role="guard", when={"name": "frame"})
        def asks(sender, arguments):
            seen.append(dict(arguments))
            return Ask("may it?")

        bus.approver(lambda request: Approved("grace"))
        agent = calling([Framing(framed)], asking("frame", {"picture": "a.png", "to": "who"}))
        agent.state = {"a.png": image, "who": "eve"}
        agent.run("go", reset=False)
        assert seen == [{"picture": "a.png", "to": "eve"}] and framed == [(image, "eve")]

    def test_another_picture_that_a_receiver_names_is_what_the_tool_gets(self, bus):
        framed = []
        bus.signal("pre_tool_call").connect(
            lambda sender, arguments: {"arguments": {**arguments, "picture": "b.png"}},
            when={"name": "frame"},
        )
        agent = calling([Framing(framed)], asking("frame", {"picture": "a.png", "to": "ann"}))
        agent.state = {"a.png": object()}
        agent.run("go", reset=False)
        assert framed == [("b.png", "ann")]
