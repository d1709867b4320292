"""CrewAI's tools under the contract: by crews that call functions or write actions, by an agent of
its own, by a program."""

from __future__ import annotations

import asyncio
from typing import Any

from hookbus.adapters import crewai

from .crewai_parts import (
    QUIET,
    Paying,
    acting,
    agent_of,
    asking,
    calling,
    crew_of,
    told,
    tool_of,
    writing,
)
from .tool_contract import Told, ToolContract, mode, pytest_generate_tests  # noqa: F401

pytestmark = QUIET


class TestCrewAI(ToolContract):
    adapter, package, module = "crewai", "crewai", "crewai"
    besides = {"delegated": 1}
    threads = (
        "agent_alone_async", "functions_async", "functions_in_a_thread", "written_async",
    )  # fmt: skip
    install = staticmethod(crewai.install)

    def _crew(self, model: Any, tool: Any, **options: Any) -> Any:
        return crew_of(agent_of(model, tool), **options)

    @mode
    def functions(self, body, calls):
        crew = self._crew(calling(asking("pay", *calls)), tool_of(body))
        return told(crew.agents[0], crew.kickoff())

    @mode
    def functions_of_a_class(self, body, calls):
        crew = self._crew(calling(asking("pay", *calls)), Paying(body=body))
        return told(crew.agents[0], crew.kickoff())

    @mode
    async def functions_async(self, body, calls):
        crew = self._crew(calling(asking("pay", *calls)), tool_of(body, is_async=True))
        return told(crew.agents[0], await crew.akickoff())

    @mode
    async def functions_in_a_thread(self, body, calls):
        crew = self._crew(calling(asking("pay", *calls)), tool_of(body))
        return told(crew.agents[0], await crew.kickoff_async())

    @mode
    def functions_streamed(self, body, calls):
        crew = self._crew(calling(asking("pay", *calls)), tool_of(body), stream=True)
        stream = crew.kickoff()
        list(stream)
        return told(crew.agents[0], stream.result)

    @mode
    def written(self, body, calls):
        crew = self._crew(writing(*acting("pay", *calls)), tool_of(body))
        return told(crew.agents[0], crew.kickoff())

    @mode
    async def written_async(self, body, calls):
        crew = self._crew(writing(*acting("pay", *calls)), tool_of(body))
        return told(crew.agents[0], await crew.akickoff())

    @mode
    def agent_alone(self, body, calls):
        agent = agent_of(calling(asking("pay", *calls)), tool_of(body))
        return told(agent, agent.kickoff("go").raw)

    @mode
    async def agent_alone_async(self, body, calls):
        agent = agent_of(calling(asking("pay", *calls)), tool_of(body))
        return told(agent, (await agent.kickoff_async("go")).raw)

    @mode
    def delegated(self, body, calls):
        inner = agent_of(calling(asking("pay", *calls)), tool_of(body))
        asked = {"task": "pay", "context": "none", "coworker": "payer"}
        model = calling(asking("delegate_work_to_coworker", asked))
        outer = agent_of(model, role="manager", allow_delegation=True)
        assert str(crew_of(outer, inner).kickoff()) == "done"
        return told(inner, "done")

    @mode
    def by_a_model(self, body, calls):
        pay = tool_of(body)
        model = calling()
        found = [model._handle_tool_execution("pay", each, {"pay": pay.run}) for each in calls]
        return Told([str(each) for each in found], repr(found))

    @mode
    def run_by_a_program(self, body, calls):
        found = [tool_of(body).run(**each) for each in calls]
        return Told([str(each) for each in found], repr(found))

    @mode
    def invoked(self, body, calls):
        pay = tool_of(body).to_structured_tool()
        found = [pay.invoke(dict(each)) for each in calls]
        return Told([str(each) for each in found], repr(found))

    @mode
    async def ainvoked(self, body, calls):
        pay = tool_of(body).to_structured_tool()
        found = await asyncio.gather(*[pay.ainvoke(dict(each)) for each in calls])
        return Told([str(each) for each in found], repr(found))

    @mode
    async def arun_by_a_program(self, body, calls):
        pay = tool_of(body, is_async=True)
        found = await asyncio.gather(*[pay.arun(**each) for each in calls])
        return Told([str(each) for each in found], repr(found))
