"""Whatever Agno takes for an agent, a team or a tool runs on hookbus as it runs without: mocks and
plain stand-ins, too."""

import asyncio
from importlib import import_module
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import pytest
from agno.agent import Agent
from agno.exceptions import InputCheckError
from agno.models.base import Model
from agno.run import RunContext
from agno.run.agent import RunInput
from agno.team import Team
from agno.tools.function import Function, FunctionCall

from hookbus import Block
from hookbus.adapters import agno

from .agno_parts import ScriptedModel

FIELDS = {
    "debug_mode": False, "events_to_skip": None, "store_events": False, "debug_level": 1,
    "_run_hooks_in_background": None, "name": "stand-in",
}  # fmt: skip


class Slotted:
    __slots__ = tuple(FIELDS)

    def __init__(self, **fields):
        for name, value in fields.items():
            setattr(self, name, value)

    __hash__ = None


def agent_with_own_names():
    """Return an agent that has things of its own by the names of the adapter's."""
    agent = Agent(model=ScriptedModel())
    agent.run_input = agent.arun_input = agent.run_output = agent.arun_output = None
    return agent


OWNERS = {
    "a mock": lambda: MagicMock(**FIELDS),
    "a mock of an agent": lambda: MagicMock(spec=Agent, **FIELDS),
    "a mock of a team": lambda: Mock(spec=Team, **FIELDS),
    "a namespace": lambda: SimpleNamespace(**FIELDS),
    "slots, no weak references, no hash": lambda: Slotted(**FIELDS),
    "an agent with such names": agent_with_own_names,
}
EXECUTORS = [
    f"{level}.{colour}{phase}"
    for level in ("agent", "team")
    for colour in ("", "a")
    for phase in ("pre", "post")
]


def ran(executor, owner, hooks, **options):
    """Run hooks as Agno does; return its events, what it queued, and what it raised."""
    level, _, phase = executor.partition(".")
    module, subject = import_module(f"agno.{level}._hooks"), RunInput(input_content="hi")
    named = (
        {"run_response": SimpleNamespace(), "run_input": subject}
        if phase.endswith("pre")
        else {"run_output": MagicMock()}
    )
    execute = getattr(
        module,
        f"{'_' * (level == 'team')}{phase.removesuffix('pre').removesuffix('post')}"
        f"execute_{phase.removeprefix('a')}_hooks",
    )
    context = RunContext(run_id="r", session_id="s", session_state={}, metadata={"key": 1})
    given = {
        level: owner, "hooks": hooks, "session": MagicMock(), "run_context": context, **named,
        **options,
    }  # fmt: skip

    async def collected():
        return [event async for event in execute(**given)]

    try:
        events = asyncio.run(collected()) if phase.startswith("a") else list(execute(**given))
    except Exception as error:
        return type(error).__name__, str(error)
    return len(events), "run_input" not in named or getattr(
        named["run_response"], "input", None
    ) is subject


def refuse(**given):
    raise InputCheckError("not this")


@pytest.fixture(params=[False, True], ids=["faithful", "strict"])
def installed(request, bus):
    def install():
        request.addfinalizer(agno.install(bus, strict=request.param))

    return install


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("owner", OWNERS.values(), ids=OWNERS)
def test_the_hooks_of_a_run_of_any_owner_run_as_without_hookbus(installed, executor, owner):
    def all_of_it():
        seen, tasks = [], MagicMock()
        note = lambda **given: seen.append((given["metadata"], given["debug_mode"]))  # noqa: E731
        outcomes = [
            ran(executor, owner(), hooks)
            for hooks in (None, [], [note], [note, note], [note, refuse, note])
        ]
        outcomes.append(ran(executor, owner(), [note], debug_mode=True))
        behind = owner()
        behind._run_hooks_in_background = True
        outcomes.append(ran(executor, behind, [note], background_tasks=tasks))
        return outcomes, seen, tasks.add_task.call_count

    before = all_of_it()
    installed()
    assert all_of_it() == before
    assert before[1][:1] == [({"key": 1}, False)] and before[2] == 1


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("owner", OWNERS.values(), ids=OWNERS)
def test_receivers_for_all_senders_guard_any_owner_and_see_what_it_is(
    installed, bus, executor, owner
):
    installed()
    phase = "run_input" if executor.endswith("pre") else "run_output"
    seen, calls = [], []
    bus.signal(f"pre_{phase}").connect(
        lambda sender: seen.append(sender.debug_mode) or Block("no"), role="guard", name="no"
    )
    kind, said = ran(executor, owner(), [lambda **given: calls.append(1)])
    assert kind in ("InputCheckError", "OutputCheckError") and "no" in said
    assert seen[:1] == [False]


def test_a_mock_of_a_tool_is_executed_and_guarded(installed, bus):
    def tool_of(**fields):
        function = MagicMock(spec=Function)
        for field, value in {**fields, "entrypoint": lambda: "ran"}.items():
            setattr(function, field, value)
        return FunctionCall.model_construct(
            function=function, arguments={}, result=None, error=None
        )

    fields = {
        "name": "t", "tool_hooks": None, "pre_hook": None, "post_hook": None,
        "cache_results": False, "_agent": None, "_team": None, "_run_context": None,
        "_images": None, "_videos": None, "_audios": None, "_files": None,
    }  # fmt: skip
    before = tool_of(**fields).execute()
    around = {**fields, "tool_hooks": [lambda name, func, args: f"{func(**args)} inside"]}
    with_hooks = tool_of(**around).execute()
    installed()
    assert (tool_of(**fields).execute(), tool_of(**around).execute()) == (before, with_hooks)
    assert (before.result, with_hooks.result) == ("ran", "ran inside")
    bus.signal("pre_tool_call").connect(lambda function: Block("no"), role="guard", name="no")
    for one in (fields, around):
        assert tool_of(**one).execute().status == "failure"


async def test_a_model_runs_a_mock_of_a_function_call(installed):
    def call():
        fc = MagicMock()
        fc.function.entrypoint = lambda: None
        fc.function.tool_hooks = fc.function.pre_hook = fc.function.post_hook = None
        fc.execute.return_value = SimpleNamespace(status="success")

        async def aexecute():
            return fc.execute.return_value

        fc.aexecute = aexecute
        return fc

    async def run(fc):
        success, _, given, result = await Model.arun_function_call(ScriptedModel(), fc)
        return success, given is fc, result.status

    before = await run(call())
    installed()
    assert await run(call()) == before == (True, True, "success")
    bare = MagicMock()
    bare.execute.return_value = SimpleNamespace(status="success")
    assert (await run(bare))[0] is True
