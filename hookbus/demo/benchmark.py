"""AgentDojo's tasks, goals and attacks by name, and the pairs of tasks and goals that the demo
runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs
from agentdojo.agent_pipeline import AgentPipeline, BasePipelineElement
from agentdojo.attacks.attack_registry import ATTACKS, load_attack, register_attack
from agentdojo.attacks.base_attacks import BaseAttack, FixedJailbreakAttack
from agentdojo.base_tasks import BaseInjectionTask, BaseUserTask
from agentdojo.functions_runtime import TaskEnvironment
from agentdojo.task_suite.load_suites import get_suite
from agentdojo.task_suite.task_suite import TaskSuite

from hookbus.exceptions import HookError

from .._ground.errors import did_you_mean
from .agent import WorstCaseAgent
from .goals import is_playable

VERSION: Final = "v1.2.2"
"""The newest version of AgentDojo's benchmark in agentdojo 0.1.35. Every version has 97 user tasks.
"""

SUITES: Final = ("banking", "slack", "travel", "workspace")


@register_attack
class PlainAttack(FixedJailbreakAttack):
    """The goal in its own words, without any form that a sanitizer could recognize."""

    name = "plain"

    def __init__(
        self, task_suite: TaskSuite[TaskEnvironment], target_pipeline: BasePipelineElement
    ) -> None:
        super().__init__("{goal}", task_suite, target_pipeline)


@attrs.frozen(eq=False)
class Pair:
    """One user task, alone or with one goal injected into the data that it reads.

    Attributes:
        suite: the suite of the task and the goal.
        user_task: the user's task.
        injection_task: the injected goal, or None for the user task alone.
        environment: the data before the first call. Every run gets its own copy.
        attack: the form of the injected goal, or None for the user task alone.
    """

    suite: TaskSuite[TaskEnvironment]
    user_task: BaseUserTask[TaskEnvironment]
    injection_task: BaseInjectionTask[TaskEnvironment] | None
    environment: TaskEnvironment
    attack: str | None


@attrs.define(eq=False)
class AttackedSuite:
    """One suite under one attack, as pairs.

    Attributes:
        suite: AgentDojo's suite.
        attack: AgentDojo's attack on the suite.
        plays_alone: whether its user tasks also run alone.
        unreachable: user tasks that read no data that an attacker can write. They run only alone.
        unplayable: goals that require neither a call nor words. They are not run.
    """

    suite: TaskSuite[TaskEnvironment]
    attack: BaseAttack
    plays_alone: bool = True
    unreachable: tuple[str, ...] = attrs.field(init=False)
    unplayable: tuple[str, ...] = attrs.field(init=False)
    _goals: Sequence[str] = attrs.field(init=False)
    _clean: TaskEnvironment = attrs.field(init=False)
    _attacked: dict[tuple[tuple[str, str], ...], TaskEnvironment] = attrs.field(
        init=False, factory=dict
    )

    def __attrs_post_init__(self) -> None:
        self._clean = self.suite.load_and_inject_default_environment({})
        goals = self.suite.injection_tasks
        self.unplayable = tuple(
            name for name, goal in goals.items() if not is_playable(goal, self._clean)
        )
        self.unreachable = tuple(
            name for name, task in self.suite.user_tasks.items() if not self._is_reachable(task)
        )
        self._goals = [name for name in goals if name not in self.unplayable]

    def __len__(self) -> int:
        tasks = self.suite.user_tasks
        alone = len(tasks) if self.plays_alone else 0
        return alone + (len(tasks) - len(self.unreachable)) * len(self._goals)

    def pair(self, user_task: str, injection_task: str | None = None) -> Pair:
        """Return one user task, alone or with one injected goal."""
        task = self.suite.user_tasks[user_task]
        if injection_task is None:
            return Pair(self.suite, task, None, self._clean, None)
        goal = self.suite.injection_tasks[injection_task]
        environment = self._environment_with(task, goal)
        return Pair(self.suite, task, goal, environment, self.attack.name)

    def tasks(self) -> Iterator[list[Pair]]:
        """Yield the pairs of each user task: first the task alone, then with every goal.
        """
        for user_task in self.suite.user_tasks:
            alone: list[str | None] = [None] if self.plays_alone else []
            goals = [] if user_task in self.unreachable else self._goals
            yield [self.pair(user_task, goal) for goal in (*alone, *goals)]

    def _is_reachable(self, user_task: BaseUserTask[TaskEnvironment]) -> bool:
        try:
            return bool(self.attack.get_injection_candidates(user_task))
        except ValueError:  # the task reads no data that an attacker can write
            return False

    def _environment_with(
        self, user_task: BaseUserTask[TaskEnvironment], goal: BaseInjectionTask[TaskEnvironment]
    ) -> TaskEnvironment:
        injections = self.attack.attack(user_task, goal)
        key = tuple(sorted(injections.items()))
        if key not in self._attacked:
            # Reading the data takes longer than any run on it, and many user tasks read the same
            # data.
            self._attacked[key] = self.suite.load_and_inject_default_environment(injections)
        return self._attacked[key]


def attack_suites(suite: str, attack: str) -> list[AttackedSuite]:
    """Return the named suite (or all four for `"all"`) under the named attack (or under every form
    for `"all"`). The user tasks also run alone under the first form.

    Raises:
        HookError: if the suite or attack is unknown, or the attack injects no goal.
    """
    check_known("suite", suite, (*SUITES, "all"))
    if attack in ATTACKS and attack not in attack_names():
        raise HookError(
            f"the attack {attack!r} injects no instruction that the agent could follow; use one of "
            f"{', '.join(attack_names())}"
        )
    check_known("attack", attack, (*attack_names(), "all"))
    # An attack needs only the name of its target.
    target = AgentPipeline(())
    target.name = WorstCaseAgent.name
    suites = [get_suite(VERSION, name) for name in (SUITES if suite == "all" else (suite,))]
    forms = attack_names() if attack == "all" else (attack,)
    return [
        AttackedSuite(each, load_attack(form, each, target), plays_alone=form == forms[0])
        for each in suites
        for form in forms
    ]


def attack_names() -> tuple[str, ...]:
    """Return the names of the attacks that inject a goal: those of AgentDojo, and `plain`.

    Attacks that only stop the agent, and the attack that asks a person for its text, are left out.
    """
    return tuple(
        sorted(
            name
            for name, attack in ATTACKS.items()
            if not attack.is_dos_attack and name != "manual"
        )
    )


def check_known(kind: str, name: str, known: Sequence[str]) -> None:
    """Raise HookError, with a suggestion, unless a name is known."""
    if name not in known:
        raise HookError(f"unknown {kind} {name!r}{did_you_mean(name, known)}")
