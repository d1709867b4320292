"""What Agno's users rely on about who a tool's hooks are and what they see, in every state."""

import inspect

from agno.agent import Agent
from agno.run.base import RunContext
from agno.tools import tool as tool_decorator
from agno.tools.function import Function, FunctionCall

from . import agno_states as parts
from .agno_parts import ScriptedModel

state = parts.state
execute = parts.execute


def test_agno_P12_identity_that_the_model_made_up_is_gone_before_the_first_hook(execute):
    seen, context = [], RunContext(run_id="r", session_id="s", user_id="the user")

    def look(func, args):
        seen.append(dict(args))
        return func(**args)

    def tool(x, run_context):
        return run_context.user_id

    function = Function(
        name="tool", entrypoint=tool, tool_hooks=[look],
        pre_hook=lambda fc: seen.append(dict(fc.arguments)),
    )  # fmt: skip
    function._run_context = context
    done = execute(
        FunctionCall(
            function=function,
            arguments={"x": 1, "run_context": {"user_id": "root"}, "_agno_agent": 1},
        )
    )
    assert seen == [{"x": 1}, {"x": 1}] and done.result == "the user"


def test_agno_P12_a_pause_for_confirmation_comes_before_the_hooks():
    ran = []

    @tool_decorator(
        requires_confirmation=True,
        tool_hooks=[lambda func, args: ran.append("hook") or func(**args)],
    )
    def delete(path: str) -> str:
        """Delete a file.

        Args:
            path: which.
        """
        ran.append(path)
        return "deleted"

    agent = Agent(model=ScriptedModel(calls=[("delete", '{"path": "/a"}')]), tools=[delete])
    response = agent.run("clean up")
    assert response.is_paused and ran == []
    response.tools[0].confirmed = True
    done = agent.continue_run(run_response=response)
    assert done.content == "done" and ran == ["hook", "/a"]


def test_agno_P13_hooks_of_an_agent_replace_those_of_its_tools_also_with_none_of_them():
    def runs(**options):
        ran = []

        @tool_decorator(tool_hooks=[lambda func, args: ran.append("tool's") or func(**args)])
        def look(path: str) -> str:
            """Look.

            Args:
                path: where.
            """
            return path

        hooks = [
            lambda func, args: ran.append(f"agent's {name}") or func(**args)
            for name in options.pop("hooks", ())
        ]
        options = {"tool_hooks": hooks} if options.pop("given") else {}
        Agent(model=ScriptedModel(calls=[("look", '{"path": "/a"}')]), tools=[look], **options).run(
            "go"
        )
        return ran

    assert runs(given=False) == ["tool's"]
    assert runs(given=True, hooks=["a"]) == ["agent's a"]
    assert runs(given=True) == []


def test_agno_P14_what_execute_gives(execute):
    state = {"n": 1}

    def tool(run_context):
        run_context.session_state["n"] = 2
        return "ok"

    function = Function(name="tool", entrypoint=tool, tool_hooks=[lambda func, args: func(**args)])
    function._run_context = RunContext(run_id="r", session_id="s", session_state=state)
    done = execute(FunctionCall(function=function))
    assert (done.status, done.result, done.error) == ("success", "ok", None)
    assert done.updated_session_state == state == {"n": 2}

    def items(run_context):
        yield 1

    function = Function(name="tool", entrypoint=items, tool_hooks=[lambda func, args: func(**args)])
    function._run_context = RunContext(run_id="r", session_id="s", session_state=state)
    fc = FunctionCall(function=function)
    done = execute(fc)
    assert done.status == "success" and done.updated_session_state is None
    assert (
        inspect.isgenerator(done.result) and fc.result is done.result and list(done.result) == [1]
    )
