"""Agno's users rely on a tool's own hooks, its failures and its cache, in every state."""

import inspect

import pytest
from agno.exceptions import RetryAgentRun, RunCancelledException, StopAgentRun
from agno.models.message import Message
from agno.run.base import RunContext
from agno.tools.function import Function, FunctionCall

from . import agno_states as parts
from .agno_states import called, value_of

state = parts.state
logged = parts.logged
execute = parts.execute


def test_agno_P8_pre_hook_and_post_hook_are_asked_by_name_and_their_answers_are_ignored(execute):
    seen = []

    def pre(fc, agent, run_context, team):
        seen.append(("pre", fc.arguments, agent, fc.result))
        return "ignored"

    def post(fc):
        seen.append(("post", fc.arguments, fc.result, fc.error))
        return "ignored"

    fc, done = called(execute, lambda x: x + 1, {"x": 1}, pre_hook=pre, post_hook=post)
    assert seen == [("pre", {"x": 1}, None, None), ("post", {"x": 1}, 2, None)]
    assert (done.status, done.result) == ("success", 2)


def test_agno_P8_an_exception_of_theirs_is_logged_and_the_tool_runs(execute, logged):
    def fails():
        raise PermissionError("not allowed")

    _, done = called(execute, lambda x: x, {"x": 1}, pre_hook=fails, post_hook=fails)
    assert (done.status, done.result) == ("success", 1)
    assert (
        "Error in pre-hook callback: not allowed" in logged
        and "Error in post-hook callback: not allowed" in logged
    )


@pytest.mark.parametrize(
    "error", [RetryAgentRun("again"), StopAgentRun("stop"), RunCancelledException("cancelled")]
)
def test_agno_P8_what_steers_the_run_goes_out(execute, error):
    ran = []

    def stop():
        raise error

    function = Function(
        name="tool", entrypoint=lambda x: ran.append("tool"), pre_hook=stop,
        post_hook=lambda: ran.append("post"),
    )  # fmt: skip
    fc = FunctionCall(function=function, arguments={"x": 1})
    with pytest.raises(type(error)) as raised:
        execute(fc)
    assert raised.value is error and ran == []
    assert fc.error == (None if isinstance(error, RunCancelledException) else str(error))
    function = Function(name="tool", entrypoint=lambda x: ran.append("tool"), post_hook=stop)
    with pytest.raises(type(error)):
        execute(FunctionCall(function=function, arguments={"x": 1}))
    assert ran == ["tool"]


def test_agno_P8_what_pre_hook_puts_into_the_call_is_what_the_tool_and_the_cache_are_asked_for(
    execute, tmp_path
):
    ran = []

    def change(fc):
        fc.arguments = {"x": fc.arguments["x"] * 10}

    for _ in range(2):
        _, done = called(
            execute, lambda x: ran.append(x) or x, {"x": 1}, pre_hook=change, cache_results=True,
            cache_dir=str(tmp_path),
        )  # fmt: skip
        assert done.result == 10
    assert ran == [10]


@pytest.mark.parametrize("where", ["tool", "hook"])
def test_agno_P9_what_a_tool_or_its_hook_raises(execute, where):
    seen = []

    def called_with(error):
        def fails():
            raise error

        hook = (
            (lambda func, args: fails()) if where == "hook" else (lambda func, args: func(**args))
        )
        function = Function(
            name="tool", entrypoint=fails, tool_hooks=[hook],
            post_hook=lambda fc: seen.append(fc.error),
        )  # fmt: skip
        fc = FunctionCall(function=function, arguments={})
        return fc, lambda: execute(fc)

    fc, go = called_with(StopAgentRun("enough"))
    with pytest.raises(StopAgentRun, match="enough"):
        go()
    assert fc.error == "enough" and seen == ["enough"]
    fc, go = called_with(RunCancelledException("cancelled"))
    with pytest.raises(RunCancelledException):
        go()
    assert fc.error is None
    fc, go = called_with(LookupError("nothing there"))
    done = go()
    assert (done.status, done.result, done.error, fc.error) == (
        "failure", None, "nothing there", "nothing there",
    )  # fmt: skip


def test_agno_P9_a_hook_may_rescue_the_tool():
    def fails():
        raise LookupError("nothing there")

    def rescue(func, args):
        try:
            return func(**args)
        except LookupError as error:
            return f"rescued: {error}"

    _, done = called(lambda fc: fc.execute(), fails, {}, tool_hooks=[rescue])
    assert (done.status, done.result) == ("success", "rescued: nothing there")


def test_agno_P10_what_a_hook_does_to_the_list_of_messages_stays_with_it(execute):
    context = RunContext(run_id="r", session_id="s", messages=[Message(role="user", content="hi")])
    live, first = context.messages, context.messages[0]

    def meddle(run_context, func, args):
        assert isinstance(run_context, RunContext) and run_context.messages == live
        assert run_context.messages[0] is first and run_context.session_id == "s"
        run_context.messages.clear()
        run_context.session_state = {"seen": True}
        return func(**args)

    def meddle_too(run_context):
        run_context.messages.append("more")

    function = Function(
        name="tool", entrypoint=lambda: 1, tool_hooks=[meddle], pre_hook=meddle_too,
        post_hook=meddle_too,
    )  # fmt: skip
    function._run_context = context
    done = execute(FunctionCall(function=function))
    assert (
        done.result == 1
        and context.messages is live
        and live == [first]
        and context.session_state == {"seen": True}
    )


def test_agno_P11_a_hit_runs_the_hooks_and_what_is_stored_is_what_the_tool_gave(execute, tmp_path):
    ran = []

    def hook(args):
        ran.append("hook")

    def shout(func, args):
        ran.append("hook")
        result = func(**args)
        return value_of(result) if inspect.isawaitable(result) else result

    def tool(x):
        ran.append("tool")
        return {"value": x}

    def once(x, hooks):
        return called(
            execute, tool, {"x": x}, tool_hooks=hooks, cache_results=True, cache_dir=str(tmp_path)
        )[1].result

    assert once(1, [shout]) == {"value": 1} and ran == ["hook", "tool"]
    assert once(1, [shout]) == {"value": 1} and ran == ["hook", "tool", "hook"]
    assert once(1, [lambda args: "instead"]) == "instead"
    assert once(1, None) == {"value": 1} and ran == ["hook", "tool", "hook"]
    ran.clear()

    def moves(func, args):
        args["x"] = 3
        return func(**args)

    assert (
        once(2, [moves]) == {"value": 3}
        and once(2, [moves]) == {"value": 3}
        and ran == ["tool", "tool"]
    )


def test_agno_P11_a_tool_that_was_called_twice_and_one_that_gave_none_are_not_stored(
    execute, tmp_path
):
    ran = []

    def twice(func, args):
        first, second = func(**args), func(**args)
        if inspect.isawaitable(first):
            return both(first, second)
        return second

    async def both(first, second):
        await first
        return await second

    for _ in range(2):
        called(
            execute, lambda: ran.append("tool") or 1, {}, tool_hooks=[twice], cache_results=True,
            cache_dir=str(tmp_path),
        )  # fmt: skip
    assert ran == ["tool"] * 4
    ran.clear()
    for _ in range(2):
        called(
            execute, lambda: ran.append("tool"), {}, tool_hooks=[], cache_results=True,
            cache_dir=str(tmp_path),
        )  # fmt: skip
    assert ran == ["tool"] * 2
