"""The self-test of the Agno adapter, which runs a `FunctionCall`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
agno.agent._hooks:aexecute_post_hooks(agent, hooks, run_output, session, run_context, user_id,
    debug_mode, stream_events, background_tasks, **kwargs)
agno.agent._hooks:aexecute_pre_hooks(agent, hooks, run_response, run_input, session, run_context,
    user_id, debug_mode, stream_events, background_tasks, **kwargs)
agno.agent._hooks:execute_post_hooks(agent, hooks, run_output, session, run_context, user_id,
    debug_mode, stream_events, background_tasks, **kwargs)
agno.agent._hooks:execute_pre_hooks(agent, hooks, run_response, run_input, session, run_context,
    user_id, debug_mode, stream_events, background_tasks, **kwargs)
agno.agent.agent:Agent.__init__(self, *, model, name, id, user_id, metadata, tools, tool_choice,
    tool_hooks, pre_hooks, post_hooks, retries, stream, stream_events, store_events,
    events_to_skip, role, debug_mode)
agno.agent.agent:Agent.initialize_agent(self, debug_mode)
agno.team._hooks:_aexecute_post_hooks(team, hooks, run_output, session, run_context, user_id,
    debug_mode, stream_events, background_tasks, **kwargs)
agno.team._hooks:_aexecute_pre_hooks(team, hooks, run_response, run_input, session, run_context,
    user_id, debug_mode, stream_events, background_tasks, **kwargs)
agno.team._hooks:_execute_post_hooks(team, hooks, run_output, session, run_context, user_id,
    debug_mode, stream_events, background_tasks, **kwargs)
agno.team._hooks:_execute_pre_hooks(team, hooks, run_response, run_input, session, run_context,
    user_id, debug_mode, stream_events, background_tasks, **kwargs)
agno.team.team:Team.__init__(self, members, *, id, model, name, role, mode, user_id, tools,
    tool_choice, tool_hooks, pre_hooks, post_hooks, metadata, stream, stream_events, store_events,
    events_to_skip, debug_mode, retries)
agno.team.team:Team.initialize_team(self, debug_mode)
agno.tools.function:FunctionCall._execute(self)
async agno.models.base:Model.arun_function_call(self, function_call)
async agno.tools.function:FunctionCall._aexecute(self)
"""


def sample(pay: Pay) -> Sample:
    """Make a function that is called with and without `await`."""
    functions = import_module("agno.tools.function")
    plain, awaited = functions_of(pay)

    def call_of(function: Any, amount: int, to: str) -> Any:
        tool = functions.Function(name=NAME, entrypoint=function)
        return functions.FunctionCall(function=tool, arguments={"amount": amount, "to": to})

    def execute(amount: int, to: str) -> Any:
        return call_of(plain, amount, to).execute()

    async def aexecute(amount: int, to: str) -> Any:
        return await call_of(awaited, amount, to).aexecute()

    def refused(given: Any) -> str:
        return str(given.error) if given.status == "failure" else ""

    ways = {"FunctionCall.execute": execute, "FunctionCall.aexecute": aexecute}
    return Sample(ways, refused, awaits=False)
