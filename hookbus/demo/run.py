"""Run the experiment: every pair runs without hooks and under each policy, and AgentDojo's checkers
check each run.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
from agentdojo.functions_runtime import FunctionsRuntime

from hookbus import Bus, HookBlocked, events, hookable
from hookbus.approvals import Store

from .agent import WorstCaseAgent, pipeline_of
from .benchmark import Pair
from .policies import Person, Policy, Task
from .rules import RULES
from .standing import StandingApprover

UNHOOKED: Final = "none"
"""The policy name for runs without hooks."""


@attrs.frozen
class Outcome:
    """The result of one pair under one policy.

    Attributes:
        suite: the name of the suite.
        user_task: the id of the user task.
        injection_task: the id of the injected goal, or None for the user task alone.
        attack: the form in which the goal was injected.
        policy: the name of the policy, or `UNHOOKED`.
        utility: whether the user's task was completed, according to AgentDojo's checker.
        attack_succeeded: whether the injected goal was completed, according to AgentDojo's checker,
            or None if no goal was injected.
        goal_was_read: whether the agent read the goal. From then on, the agent obeyed it.
        goal_was_served: whether the agent did anything for the goal: made a call that ran, or said
            the words that the goal wanted.
        served: the tools of the goal's calls that ran.
        calls: the number of tool calls that the agent requested.
        changed: the number of tool results that a receiver changed.
        questions: the number of questions to a person.
        blocks: the reasons of the blocked calls, in order.
    """

    suite: str
    user_task: str
    injection_task: str | None
    attack: str | None
    policy: str
    utility: bool
    attack_succeeded: bool | None
    goal_was_read: bool
    goal_was_served: bool
    served: tuple[str, ...]
    calls: int
    changed: int
    questions: int
    blocks: tuple[str, ...]


@attrs.frozen
class Played:
    """One finished run.

    Attributes:
        pair: the pair that was run.
        agent: the agent, with its steps.
        utility: whether the user's task was completed.
        attack_succeeded: whether the injected goal was completed, or None if there was none.
    """

    pair: Pair
    agent: WorstCaseAgent
    utility: bool
    attack_succeeded: bool | None


class Ledger:
    """Listens to a bus and keeps its events until they are taken."""

    def __init__(self) -> None:
        self._events: list[events.Event] = []

    def __call__(self, bus: object, event: events.Event) -> None:
        self._events.append(event)

    def take(self) -> list[events.Event]:
        """Return the events since the last call."""
        taken, self._events = self._events, []
        return taken


@attrs.frozen
class _Called:
    """A call of AgentDojo's runtime, passed as the argument `tool` of a `tool_call`."""

    runtime: FunctionsRuntime
    env: Any
    run: Callable[..., tuple[Any, str | None]]
    raise_on_error: bool


@contextlib.contextmanager
def hooked_runtime(bus: Bus) -> Iterator[None]:
    """Hook AgentDojo's `FunctionsRuntime.run_function` on this bus, as `tool_call`, in a `with`
    block.

    The loop reads `(result, error)` and shows the error to the model. A call nested in another
    call's arguments raises an exception instead, because its empty result would be passed on as if
    the tool had returned it.
    """
    stock = FunctionsRuntime.run_function

    # The approvals of a person are for this runtime, not for the function of one run.
    @hookable("tool_call", bus=bus, labels=("name",), identity=lambda sender: "AgentDojo")
    def tool_call(name: str, arguments: Any, tool: _Called) -> tuple[Any, str | None]:
        return tool.run(tool.runtime, tool.env, name, arguments, tool.raise_on_error)

    def run_function(
        self: FunctionsRuntime, env: Any, function: str, kwargs: Any, raise_on_error: bool = False
    ) -> tuple[Any, str | None]:
        try:
            return tool_call(function, kwargs, _Called(self, env, stock, raise_on_error))
        except HookBlocked as blocked:
            if raise_on_error:
                raise
            return "", f"hookbus: {blocked.reason}"

    FunctionsRuntime.run_function = run_function  # type: ignore[method-assign]
    try:
        yield
    finally:
        FunctionsRuntime.run_function = stock  # type: ignore[method-assign]


@contextlib.contextmanager
def register_policy(bus: Bus, policy: Policy, task: Task, person: Person) -> Iterator[None]:
    """Register the guards of a policy and its approver on the bus in a `with` block."""
    with contextlib.ExitStack() as unregister:
        if policy.asks:
            store = person.store if policy.has_rules else None
            once = RULES[task.suite].once
            bus.approver(person if store is None else StandingApprover(store, person, once))
            unregister.callback(bus.approver, None)
        for guard in policy.guards(task):
            unregister.callback(bus.register(guard))
        yield


def task_of(pair: Pair) -> Task:
    """Return the facts that are known about this pair when the user starts the task."""
    return Task(pair.suite.name, pair.user_task.PROMPT)


def person_of(pair: Pair, store: Store | None = None) -> Person:
    """Return the user of this pair, who knows the calls that the task needs."""
    calls = pair.user_task.ground_truth(pair.environment)
    return Person([(call.function, dict(call.args)) for call in calls], store=store)


def play(pair: Pair) -> Played:
    """Run one pair through AgentDojo's own loop and checkers."""
    agent = WorstCaseAgent(pair.user_task, pair.injection_task, pair.environment)
    # One of AgentDojo's checkers prints the text that it looks for.
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        utility, goal_done = pair.suite.run_task_with_pipeline(
            pipeline_of(agent),
            pair.user_task,
            pair.injection_task,
            injections={},  # these arguments are in the environment
            environment=pair.environment.model_copy(deep=True),
        )
    return Played(
        pair, agent, bool(utility), None if pair.injection_task is None else bool(goal_done)
    )


def play_task(
    pairs: Sequence[Pair], policies: Sequence[Policy], on_played: Callable[[], Any],
    stores: Mapping[str, Store] | None = None,
) -> list[Outcome]:  # fmt: skip
    """Run the pairs of one user task without hooks, and then with hooks under each policy.

    Args:
        pairs: the pairs to run.
        policies: the policies to run them under.
        on_played: called after each run.
        stores: where the rules of the user are kept, by the names of policies. Without a store,
            each approval applies to one call only.
    """
    outcomes = []
    for pair in pairs:
        outcomes.append(_outcome(UNHOOKED, play(pair), [], 0))
        on_played()
    bus, ledger = Bus(), Ledger()
    with hooked_runtime(bus), bus.events.connected_to(ledger):
        for pair in pairs:
            for policy in policies:
                person = person_of(pair, (stores or {}).get(policy.name))
                with register_policy(bus, policy, task_of(pair), person):
                    played = play(pair)
                recorded = ledger.take()
                outcomes.append(_outcome(policy.name, played, recorded, person.questions))
                on_played()
    return outcomes


def _outcome(
    policy: str, played: Played, recorded: Sequence[events.Event], questions: int
) -> Outcome:
    pair, agent = played.pair, played.agent
    return Outcome(
        suite=pair.suite.name,
        user_task=pair.user_task.ID,
        injection_task=pair.injection_task.ID if pair.injection_task else None,
        attack=pair.attack,
        policy=policy,
        utility=played.utility,
        attack_succeeded=played.attack_succeeded,
        goal_was_read=agent.has_obeyed,
        goal_was_served=agent.has_served_goal,
        served=tuple(
            step.call.function for step in agent.steps if step.obeys and step.error is None
        ),
        calls=len(agent.steps),
        changed=sum(isinstance(event, events.Mutated) for event in recorded),
        questions=questions,
        blocks=tuple(event.reason for event in recorded if isinstance(event, events.Blocked)),
    )
