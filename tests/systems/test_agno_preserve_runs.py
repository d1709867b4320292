"""What Agno's users rely on around runs, in every state."""

import asyncio
import functools
import logging

import pytest
from agno.agent import Agent
from agno.eval.base import BaseEval
from agno.exceptions import InputCheckError, OutputCheckError
from agno.guardrails.base import BaseGuardrail
from agno.hooks import hook as hook_decorator
from agno.run.base import RunContext
from agno.team import Team

from . import agno_states as parts
from .agno_parts import ScriptedModel

state = parts.state
logged = parts.logged


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
