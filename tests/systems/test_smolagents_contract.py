"""smolagents' tools under the contract: by an agent that calls them, by one that writes code, by a
program."""

from __future__ import annotations

from typing import Any

from smolagents import CodeAgent, ToolCallingAgent

from hookbus import HookBlocked
from hookbus.adapters import smolagents

from .smolagents_parts import (
    QUIET,
    Paying,
    Scripted,
    asking,
    calling,
    coded,
    told,
    told_by_code,
    tool_of,
)
from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401


class TestSmolagents(ToolContract):
    adapter, package, module = "smolagents", "smolagents", "smolagents"
    program = ("code", "code_streamed", "called")
    install = staticmethod(smolagents.install)
    # The final answer is a tool, too.
    besides = {
        "calls": 1, "calls_of_a_class": 1, "streamed": 1, "model_streamed": 1, "code": 1,
        "code_streamed": 1, "managed": 3, "managed_by_code": 3,
    }  # fmt: skip

    @mode
    def calls(self, body, calls):
        agent = calling([tool_of(body)], asking("pay", *calls))
        return told(agent, agent.run("go"))

    @mode
    def calls_of_a_class(self, body, calls):
        paying = Paying()
        paying.body = body
        agent = calling([paying], asking("pay", *calls))
        return told(agent, agent.run("go"))

    @mode
    def streamed(self, body, calls):
        agent = calling([tool_of(body)], asking("pay", *calls))
        return told(agent, [*agent.run("go", stream=True)][-1].output)

    @mode
    def model_streamed(self, body, calls):
        agent = calling([tool_of(body)], asking("pay", *calls), stream_outputs=True)
        return told(agent, [*agent.run("go", stream=True)][-1].output)

    @mode
    def code(self, body, calls):
        agent = self._coding(body, calls)
        return told_by_code(agent, agent.run("go"))

    @mode
    def code_streamed(self, body, calls):
        agent = self._coding(body, calls)
        return told_by_code(agent, [*agent.run("go", stream=True)][-1].output)

    def _coding(self, body: Any, calls: Any) -> CodeAgent:
        lines = [f"print(pay({each['amount']}, to={each['to']!r}))" for each in calls]
        return CodeAgent([tool_of(body)], Scripted(*coded(*lines)), **QUIET)

    def _inner(self, body: Any, calls: Any) -> ToolCallingAgent:
        return calling([tool_of(body)], asking("pay", *calls), name="payer", description="Pays.")

    @mode
    def managed(self, body, calls):
        inner = self._inner(body, calls)
        outer = calling([], asking("payer", {"task": "pay"}), managed_agents=[inner])
        assert outer.run("go") == "done"
        return told(inner, "done")

    @mode
    def managed_by_code(self, body, calls):
        inner = self._inner(body, calls)
        model = Scripted(*coded('payer(task="pay")'))
        outer = CodeAgent([], model, managed_agents=[inner], **QUIET)
        assert outer.run("go") == "done"
        return told(inner, "done")

    @mode
    def called(self, body, calls):
        pay, answers = tool_of(body), []
        for each in calls:
            try:
                answers.append(str(pay(**each)))
            except HookBlocked as blocked:
                answers.append(str(blocked))
        return Told(answers, repr(answers))
