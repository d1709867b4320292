"""What Agno's users rely on, on the real package: before `install`, on hookbus, heard or not, and
after `uninstall`.

Each test is the same in all of them; that it passes before says that it describes Agno and not the
adapter.
"""

import asyncio
import functools
import inspect
import logging
from importlib import metadata

import pytest
from agno.agent import Agent
from agno.eval.base import BaseEval
from agno.exceptions import (
    InputCheckError,
    OutputCheckError,
    RetryAgentRun,
    RunCancelledException,
    StopAgentRun,
)  # fmt: skip
from agno.guardrails.base import BaseGuardrail
from agno.hooks import hook as hook_decorator
from agno.models.message import Message
from agno.run.base import RunContext
from agno.team import Team
from agno.tools import tool as tool_decorator
from agno.tools.function import Function, FunctionCall

from hookbus import Bus
from hookbus.adapters import agno
from hookbus.testing import record

from .agno_parts import ScriptedModel

IS_3 = metadata.version("agno").startswith("3.")


@pytest.fixture(params=["before", "during", "heard", "after"], autouse=True)
def state(request):
    if request.param == "before":
        yield
        return
    bus = Bus(values=True)
    uninstall = agno.install(bus)
    if request.param == "after":
        uninstall()
    if request.param == "heard":
        with record(bus):
            yield
    else:
        yield
    uninstall()


@pytest.fixture
def logged():
    """What Agno logs while the test runs."""
    lines = []

    class Keep(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    keep = Keep()
    loggers = [logging.getLogger(name) for name in ("agno", "agno-team", "agno-workflow")]
    for logger in loggers:
        logger.addHandler(keep)
    yield lines
    for logger in loggers:
        logger.removeHandler(keep)


@pytest.fixture(params=["sync", "async"])
def execute(request):
    if request.param == "sync":
        return lambda fc: fc.execute()

    def execute(fc):
        if not IS_3 and fc.function.tool_hooks:
            # 2.9.0 does not await what a plain hook of an async call returns.
            fc.function.tool_hooks = [hook_that_awaits(hook) for hook in fc.function.tool_hooks]
        return asyncio.run(fc.aexecute())

    return execute


def hook_that_awaits(hook):
    @functools.wraps(hook)
    async def wrapped(**kwargs):
        return await value_of(hook(**kwargs))

    return wrapped


def called(execute, entrypoint, arguments, **options):
    """Call a tool; return the FunctionCall, which has the result, and what executing it gave."""
    fc = FunctionCall(
        function=Function(name="tool", entrypoint=entrypoint, **options), arguments=arguments
    )
    return fc, execute(fc)


async def value_of(given):
    return await given if inspect.isawaitable(given) else given


# -- tools -----------------------------------------------------------------------------------------


def test_agno_P1_the_first_hook_is_outermost():
    ran = []

    def noting(name):
        def hook(func, args):
            ran.append(f"{name} before")
            result = func(**args)
            ran.append(f"{name} after")
            return f"{result} {name}"

        return hook

    _, done = called(
        lambda fc: fc.execute(), lambda x: ran.append("tool") or x, {"x": 1},
        tool_hooks=[noting("a"), noting("b")],
    )  # fmt: skip
    assert ran == ["a before", "b before", "tool", "b after", "a after"]
    assert (done.status, done.result) == ("success", "1 b a")


async def test_agno_P1_the_first_hook_is_outermost_in_async_calls_too():
    ran = []

    def noting(name):
        async def hook(func, args):
            ran.append(f"{name} before")
            result = await func(**args)
            ran.append(f"{name} after")
            return f"{result} {name}"

        return hook

    async def tool(x):
        ran.append("tool")
        return x

    function = Function(name="tool", entrypoint=tool, tool_hooks=[noting("a"), noting("b")])
    done = await FunctionCall(function=function, arguments={"x": 1}).aexecute()
    assert ran == ["a before", "b before", "tool", "b after", "a after"] and done.result == "1 b a"


def test_agno_P2_arguments_of_hooks_are_filled_by_name(execute):
    seen, agent, context = {}, object(), RunContext(run_id="r", session_id="s")

    def all_of_them(
        function_call, arguments, agent, func, team, name, args, run_context, function,
        function_name, **others,
    ):  # fmt: skip
        seen.update(locals())
        return func(**args)

    def few(func, args):
        return func(**args)

    function = Function(name="tool", entrypoint=lambda x: x, tool_hooks=[all_of_them, few])
    function._agent, function._run_context = agent, context
    done = execute(FunctionCall(function=function, arguments={"x": 1}))
    assert (done.status, done.result) == ("success", 1)
    assert seen["name"] == seen["function_name"] == "tool"
    assert seen["func"] is seen["function"] is seen["function_call"]
    assert seen["args"] is seen["arguments"] and seen["args"] == {"x": 1}
    assert (
        seen["agent"] is agent
        and seen["team"] is None
        and seen["run_context"] is context
        and seen["others"] == {}
    )


def test_agno_P2_a_name_it_does_not_know_is_not_filled(execute):
    bodies = []
    _, done = called(
        execute, lambda x: bodies.append(x), {"x": 1},
        tool_hooks=[lambda func, args, color: func(**args)],
    )  # fmt: skip
    assert done.status == "failure" and "color" in done.error and bodies == []
    _, done = called(
        execute, lambda x: x, {"x": 1}, tool_hooks=[lambda func, args, color="red": color]
    )
    assert (done.status, done.result) == ("success", "red")


def test_agno_P3_next_takes_keywords_that_the_next_hook_sees_and_may_be_skipped_or_repeated():
    seen, bodies = [], []

    def outer(func, args):
        func(**args, extra=1)
        with pytest.raises(TypeError):
            func({"x": 1})
        return func(**args)

    def inner(func, args):
        seen.append(args)
        return func(**args)

    _, done = called(
        lambda fc: fc.execute(), lambda x: bodies.append(x) or len(bodies), {"x": 1},
        tool_hooks=[outer, inner],
    )  # fmt: skip
    assert seen == [{"x": 1, "extra": 1}, {"x": 1}] and bodies == [1, 1] and done.result == 2
    _, done = called(
        lambda fc: fc.execute(), lambda x: bodies.append(x), {"x": 1},
        tool_hooks=[lambda args: "instead"],
    )  # fmt: skip
    assert done.result == "instead" and len(bodies) == 2
    _, done = called(
        lambda fc: fc.execute(), lambda x: x, {"x": 1},
        tool_hooks=[lambda func, args: func(**args) and None],
    )  # fmt: skip
    assert (done.status, done.result) == ("success", None)


async def test_agno_P3_next_may_be_repeated_in_async_calls_side_by_side_too():
    seen = []

    async def twice(func, args):
        return await asyncio.gather(func(**args, n=1), func(**args, n=2))

    async def inner(func, args):
        await asyncio.sleep(0)
        seen.append(args["n"])
        return await func(**args)

    async def tool(x):
        await asyncio.sleep(0)
        return x

    function = Function(name="tool", entrypoint=tool, tool_hooks=[twice, inner])
    done = await FunctionCall(function=function, arguments={"x": 7}).aexecute()
    assert done.result == [7, 7] and sorted(seen) == [1, 2]


def test_agno_P4_what_the_outermost_hook_changes_in_place_reaches_the_tool(execute):
    def change(func, args):
        args["x"] = 99
        args["more"].append(2)
        return func(**args)

    hooks = [change, lambda func, args: func(**args)]
    fc, done = called(execute, lambda x, more: (x, more), {"x": 1, "more": [1]}, tool_hooks=hooks)
    assert done.result == (99, [1, 2]) and fc.arguments == {"x": 99, "more": [1, 2]}


def test_agno_P4_where_the_call_had_no_arguments_there_is_nothing_to_change(execute):
    def change(func, args):
        args["x"] = 99
        return func(**args)

    for nothing in (None, {}):
        _, done = called(execute, lambda x=0: x, nothing, tool_hooks=[change])
        assert done.result == 0


def test_agno_P5_what_is_given_to_next_does_not_reach_the_tool(execute):
    seen = []

    def change(func, args):
        return func(**{**args, "x": 99})

    def inner(func, args):
        seen.append(dict(args))
        args["x"] = 100
        return func(**args)

    def tool(x, run_context=None):
        return x, run_context

    context = RunContext(run_id="r", session_id="s")
    function = Function(name="tool", entrypoint=tool, tool_hooks=[change, inner])
    function._run_context = context
    done = execute(FunctionCall(function=function, arguments={"x": 1}))
    assert seen == [{"x": 99}] and done.result[0] == 1 and done.result[1] is context


def test_agno_P6_a_plain_call_goes_past_async_hooks_and_logs_it(logged):
    ran = []

    async def guard(func, args):
        ran.append("guard")
        return "BLOCKED"

    _, done = called(
        lambda fc: fc.execute(), lambda x: x, {"x": 1},
        tool_hooks=[guard, lambda func, args: func(**args) + 1],
    )  # fmt: skip
    assert (done.status, done.result) == ("success", 2) and ran == []
    assert (
        logged.count("Cannot use async hooks with sync function calls. Skipping hook: guard") == 1
    )


async def test_agno_P7_next_is_a_coroutine_function_and_what_a_plain_hook_returns_is_awaited():
    kinds = []

    async def outer(func, args):
        kinds.append(inspect.iscoroutinefunction(func))
        return await value_of(await func(**args))

    def plain(func, args):
        kinds.append(inspect.iscoroutinefunction(func))
        return func(**args)

    async def tool(x):
        return x

    for entrypoint in (tool, lambda x: x):
        function = Function(name="tool", entrypoint=entrypoint, tool_hooks=[outer, plain])
        done = await FunctionCall(function=function, arguments={"x": 5}).aexecute()
        assert (done.status, done.result) == ("success", 5)
    assert kinds == [True] * 4


async def test_agno_P7_generators_come_out_as_they_are_and_a_hook_may_be_one():
    async def items(n):
        for each in range(n):
            yield each

    def plain_items(n):
        yield from range(n)

    async def passing(func, args):
        return await func(**args)

    async def doubling(func, args):
        async for each in await func(**args):
            yield each * 2

    def is_run(function):
        return FunctionCall(function=function, arguments={"n": 3}).aexecute()

    done = await is_run(Function(name="tool", entrypoint=items, tool_hooks=[passing]))
    assert inspect.isasyncgen(done.result) and [each async for each in done.result] == [0, 1, 2]
    done = await is_run(Function(name="tool", entrypoint=plain_items, tool_hooks=[passing]))
    assert inspect.isgenerator(done.result) and list(done.result) == [0, 1, 2]
    done = await is_run(Function(name="tool", entrypoint=items, tool_hooks=[doubling]))
    assert inspect.isasyncgen(done.result) and [each async for each in done.result] == [0, 2, 4]


def test_agno_P7_a_hook_of_a_plain_call_may_be_a_generator():
    def items(n):
        yield from range(n)

    def doubling(func, args):
        for each in func(**args):
            yield each * 2

    _, done = called(lambda fc: fc.execute(), items, {"n": 3}, tool_hooks=[doubling])
    assert inspect.isgenerator(done.result) and list(done.result) == [0, 2, 4]
    _, done = called(
        lambda fc: fc.execute(), items, {"n": 3},
        tool_hooks=[lambda func, args: list(func(**args)), doubling],
    )  # fmt: skip
    assert done.result == [0, 2, 4]


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


# -- runs ------------------------------------------------------------------------------------------


@pytest.fixture(params=["agent", "team"])
def made(request):
    """Make an agent or a team, whose hooks ask for it as `owner`."""
    if request.param == "agent":
        return Agent
    return functools.partial(Team, members=[])


@pytest.fixture(params=["sync", "async"])
def run(request):
    if request.param == "sync":
        return lambda owner, text="hi", **kwargs: owner.run(text, **kwargs)
    return lambda owner, text="hi", **kwargs: asyncio.run(owner.arun(text, **kwargs))


def test_agno_P15_hooks_of_a_run_come_in_order_by_name_and_change_in_place(made, run):
    seen = []

    def first(run_input, session, user_id):
        seen.append(("first", run_input.input_content, user_id))
        run_input.input_content += "!"
        return "ignored"

    def second(**everything):
        seen.append(("second", everything["run_input"].input_content, sorted(everything)))

    def after(run_output):
        run_output.content += "?"

    owner = made(
        model=ScriptedModel(lambda text: f"re: {text}"),
        pre_hooks=[first, second],
        post_hooks=[after, after],
    )
    assert run(owner, "hi", user_id="me").content == "re: hi!??"
    names = {"run_input", "run_context", "session", "user_id", "debug_mode", "metadata"}
    assert (
        seen[0] == ("first", "hi", "me")
        and seen[1][:2] == ("second", "hi!")
        and names <= set(seen[1][2])
    )


def test_agno_P16_a_check_stops_the_run_and_whatever_else_is_logged(made, run, logged):
    ran = []

    def fails():
        raise ValueError("a bug")

    def refuse(run_input):
        if "bad" in run_input.input_content:
            raise InputCheckError("not this")

    model = ScriptedModel(lambda text: ran.append(text) or "done")
    owner = made(
        model=model, pre_hooks=[fails, refuse, lambda: ran.append("third")], post_hooks=[fails]
    )
    assert run(owner, "good").content == "done" and ran == ["third", "good"]
    assert "Pre-hook #1 execution failed" in logged and "Post-hook #1 execution failed" in logged
    refused = run(owner, "bad")
    assert (
        refused.status.value == "ERROR"
        and refused.content == "not this"
        and ran == ["third", "good"]
    )

    def withhold(run_output):
        raise OutputCheckError("not that")

    owner = made(model=model, post_hooks=[withhold, lambda: ran.append("never")])
    assert run(owner).status.value == "ERROR" and "never" not in ran


class NoSecrets(BaseGuardrail):
    def __init__(self, ran):
        self.ran = ran

    def check(self, run_input):
        self.ran.append("check")
        if "secret" in run_input.input_content:
            raise InputCheckError("a secret")

    async def async_check(self, run_input):
        await asyncio.sleep(0)
        self.ran.append("async_check")
        if "secret" in run_input.input_content:
            raise InputCheckError("a secret")


class Evaluates(BaseEval):
    def __init__(self, ran):
        self.ran = ran

    def pre_check(self, run_input):
        self.ran.append("pre_check")

    async def async_pre_check(self, run_input):
        self.ran.append("async_pre_check")

    def post_check(self, run_output):
        self.ran.append("post_check")

    async def async_post_check(self, run_output):
        self.ran.append("async_post_check")


def test_agno_P17_guardrails_and_evaluations_are_asked_in_the_colour_of_the_run(made):
    for prefix, run in (
        ("", lambda owner, text: owner.run(text)),
        ("async_", lambda owner, text: asyncio.run(owner.arun(text))),
    ):
        ran = []
        owner = made(
            model=ScriptedModel(),
            pre_hooks=[NoSecrets(ran), Evaluates(ran)],
            post_hooks=[Evaluates(ran)],
        )
        assert run(owner, "hi").content == "done"
        assert ran == [f"{prefix}check", f"{prefix}pre_check", f"{prefix}post_check"]
        assert run(owner, "my secret").content == "a secret"


def test_agno_P17_a_coroutine_function_is_refused_for_run(made):
    async def later(run_input):
        pass

    with pytest.raises(ValueError, match="Use `arun\\(\\)` instead"):
        made(model=ScriptedModel(), pre_hooks=[later]).run("hi")


class Tasks:
    """Stands for FastAPI's background tasks."""

    def __init__(self):
        self.tasks = []

    def add_task(self, function, **kwargs):
        self.tasks.append((function, kwargs))


def hooks_run_by(owner, hooks, run_input, tasks, **given):
    """Run pre-hooks as a run does; return the events they gave."""
    name = "agent" if isinstance(owner, Agent) else "team"
    module = __import__(f"agno.{name}._hooks", fromlist=["*"])
    prefix = "" if name == "agent" else "_"
    response = given.pop("run_response")
    context = RunContext(run_id="r", session_id="s", metadata={"n": [1]})
    common = {
        "hooks": hooks, "run_response": response, "run_input": run_input, "session": None,
        "run_context": context, "background_tasks": tasks, **given,
    }  # fmt: skip
    sync = list(getattr(module, f"{prefix}execute_pre_hooks")(owner, **common))

    async def collect():
        return [
            event async for event in getattr(module, f"{prefix}aexecute_pre_hooks")(owner, **common)
        ]

    return sync, asyncio.run(collect())


def parts_of(owner, text):
    if isinstance(owner, Agent):
        from agno.run.agent import RunInput, RunOutput

        return RunInput(input_content=text), RunOutput(run_id="r", session_id="s", agent_id="a")
    from agno.run.team import TeamRunInput, TeamRunOutput

    return TeamRunInput(input_content=text), TeamRunOutput(run_id="r", session_id="s", team_id="t")


def test_agno_P18_a_background_hook_is_queued_with_copies(made):
    ran = []

    @hook_decorator(run_in_background=True)
    def later(run_input, metadata):
        ran.append("later")

    owner, tasks = made(model=ScriptedModel()), Tasks()
    run_input, response = parts_of(owner, ["hi"])
    hooks_run_by(owner, [later, lambda: ran.append("now")], run_input, tasks, run_response=response)
    assert ran == ["now", "now"] and [function for function, _ in tasks.tasks] == [later, later]
    given = tasks.tasks[0][1]
    assert given["run_input"] == run_input and given["run_input"] is not run_input
    assert given["run_input"].input_content is not run_input.input_content and given[
        "metadata"
    ] == {"n": [1]}


def test_agno_P18_all_in_the_background_leaves_guardrails_in_line_and_queues_after_them(made):
    ran = []

    class Masks(BaseGuardrail):
        def check(self, run_input):
            ran.append("guardrail")
            run_input.input_content = run_input.input_content.replace("4711", "****")
            if "secret" in run_input.input_content:
                raise InputCheckError("a secret")

        async def async_check(self, run_input):
            self.check(run_input)

    owner = made(model=ScriptedModel())
    owner._run_hooks_in_background = True
    note, tasks = (lambda run_input: ran.append("note")), Tasks()
    run_input, response = parts_of(owner, "pin 4711")
    hooks_run_by(owner, [note, Masks().check], run_input, tasks, run_response=response)
    assert (
        ran == ["guardrail"] * 2
        and [kwargs["run_input"].input_content for _, kwargs in tasks.tasks] == ["pin ****"] * 2
    )
    refused, response = parts_of(owner, "secret")
    with pytest.raises(InputCheckError):
        hooks_run_by(owner, [note, Masks().check], refused, tasks, run_response=response)
    assert len(tasks.tasks) == 2


def test_agno_P19_events_come_before_and_after_each_hook(made):
    class Called:
        def __call__(self, run_input):
            pass

    def fails(run_input):
        raise ValueError("a bug")

    order = []

    def named(run_input):
        order.append("hook")

    owner = made(
        model=ScriptedModel(), pre_hooks=[named, Called(), fails], post_hooks=[lambda: None]
    )
    for event in owner.run("hi", stream=True, stream_events=True):
        name = getattr(event, "pre_hook_name", None) or getattr(event, "post_hook_name", None)
        order.append((event.event.removeprefix("Team"), name))
    told = [each for each in order if each == "hook" or "Hook" in each[0]]
    assert told == [
        ("PreHookStarted", "named"), "hook", ("PreHookCompleted", "named"),
        ("PreHookStarted", "Called"), ("PreHookCompleted", "Called"), ("PreHookStarted", "fails"),
        ("PostHookStarted", "<lambda>"), ("PostHookCompleted", "<lambda>"),
    ]  # fmt: skip


def test_agno_P19_events_are_stored_or_left_out_as_the_agent_says():
    from agno.run.agent import RunEvent

    skipped = [RunEvent.pre_hook_completed]
    agent = Agent(
        model=ScriptedModel(), pre_hooks=[lambda: None], store_events=True, events_to_skip=skipped
    )
    for _ in agent.run("hi", stream=True, stream_events=True):
        pass
    [output] = [
        event
        for event in agent.run("hi", stream=True, stream_events=True, yield_run_output=True)
        if hasattr(event, "events") and hasattr(event, "messages")
    ]
    stored = [event.event for event in output.events]
    assert "PreHookStarted" in stored and "PreHookCompleted" not in stored


def test_agno_P20_the_input_is_kept_and_the_debug_mode_reset(made):
    from agno.utils import log

    levels = []
    owner = made(model=ScriptedModel())
    logger = log.agent_logger if isinstance(owner, Agent) else log.team_logger
    run_input, response = parts_of(owner, "hi")

    def louder(run_input):
        logger.setLevel(logging.DEBUG)

    def look(run_input):
        levels.append(logger.level)

    hooks_run_by(owner, [louder, look], run_input, None, run_response=response)
    assert response.input is run_input and levels == [logging.INFO] * 2
