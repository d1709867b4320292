"""CrewAI: whose call it is, and tools that do not exist."""

from __future__ import annotations

import pytest
from crewai.flow.async_feedback.types import HumanFeedbackPending, PendingFeedbackContext

from hookbus.adapters import crewai

from .call_contract import Installed, PauseContract, UnknownContract, Wallet, pytest_generate_tests  # noqa: F401
from .crewai_parts import QUIET, acting, agent_of, asking, calling, crew_of, tool_of, writing
from .tool_contract import ANN

pytestmark = QUIET

WAITING = PendingFeedbackContext(
    flow_id="1", flow_class="Flow", method_name="pay", method_output="", message="may it?"
)
FLY = {"to": "moon"}


class TestCalls(UnknownContract):
    install = staticmethod(crewai.install)

    def ask_for_fly(self) -> str:
        agent = agent_of(calling(asking("fly", FLY)), tool_of(Wallet()))
        crew_of(agent).kickoff()
        return str(next(each["content"] for each in agent.llm.read if each["role"] == "tool"))


class TestWritten(UnknownContract):
    install = staticmethod(crewai.install)

    def ask_for_fly(self) -> str:
        agent = agent_of(writing(*acting("fly", FLY)), tool_of(Wallet()))
        crew_of(agent).kickoff()
        return str(agent.llm.read)


class TestAgents(Installed):
    install = staticmethod(crewai.install)

    @pytest.mark.parametrize("model", [
        lambda: calling(asking("pay", ANN)), lambda: writing(*acting("pay", ANN)),
    ])  # fmt: skip
    def test_a_call_names_the_agent_that_makes_it(self, bus, model):
        seen = []
        bus.signal("pre_tool_call").connect(
            lambda sender, name, caller: seen.append((name, caller)), role="observe", name="look"
        )
        crew_of(agent_of(model(), tool_of(Wallet()), role="payer")).kickoff()
        agent_of(model(), tool_of(Wallet()), role="clerk").kickoff("go")
        tool_of(Wallet()).run(**ANN)
        assert seen == [("pay", "payer"), ("pay", "clerk"), ("pay", None)]

    def test_a_colleague_is_the_agent_of_its_own_calls(self, bus):
        seen = []
        bus.signal("pre_tool_call").connect(
            lambda sender, name, caller: seen.append((name, caller)), role="observe", name="look"
        )
        inner = agent_of(calling(asking("pay", ANN)), tool_of(Wallet()))
        asked = {"task": "pay", "context": "none", "coworker": "payer"}
        model = calling(asking("delegate_work_to_coworker", asked))
        outer = agent_of(model, role="manager", allow_delegation=True)
        crew_of(outer, inner).kickoff()
        assert seen == [("delegate_work_to_coworker", "manager"), ("pay", "payer")]


class TestPauses(PauseContract):
    is_async = False
    install = staticmethod(crewai.install)
    pauses = {"feedback": lambda: HumanFeedbackPending(WAITING)}

    def pause(self, body):
        agent = agent_of(calling(asking("pay", ANN)), tool_of(lambda amount, to: body()))
        return crew_of(agent).kickoff()
