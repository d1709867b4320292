"""The results of an experiment: the rows of the table, the remarks below it, and the output of
`--json`."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from .benchmark import VERSION, AttackedSuite
from .cost import Cost
from .policies import Policy
from .run import UNHOOKED, Outcome

MOST_LISTED: Final = 6
"""The maximum number of successful goals to list for a policy. `--json` has all of them."""

MEASURES: Final = (
    "The agent is scripted: it does the user's task and obeys every injected goal that it reads. "
    "So this measures enforcement, not a model's attack rate. It uses no model, network or API key."
)


@attrs.frozen
class Row:
    """The results of one policy on one suite, or on all suites together.

    Attributes:
        suite: the name of the suite, or `"all"`.
        policy: the policy, or None without hooks.
        alone: the runs of user tasks without an attack.
        attacked: the runs of user tasks with an injected goal.
        cost: the time that hooks added to calls without an attack.
    """

    suite: str
    policy: Policy | None
    alone: Sequence[Outcome]
    attacked: Sequence[Outcome]
    cost: Cost

    @property
    def useful_alone(self) -> int:
        """The number of user tasks that were completed without an attack."""
        return sum(outcome.utility for outcome in self.alone)

    @property
    def useful_attacked(self) -> int:
        """The number of user tasks that were completed under attack."""
        return sum(outcome.utility for outcome in self.attacked)

    @property
    def attacks_that_succeed(self) -> int:
        """The number of injected goals that were completed, by AgentDojo's checkers."""
        return sum(bool(outcome.attack_succeeded) for outcome in self.attacked)

    @property
    def calls(self) -> int:
        """The number of tool calls that the agent requested, with or without an attack."""
        return sum(outcome.calls for outcome in (*self.alone, *self.attacked))

    @property
    def blocked(self) -> int:
        """The number of blocked calls."""
        return sum(len(outcome.blocks) for outcome in (*self.alone, *self.attacked))

    @property
    def questions(self) -> int:
        """The number of questions to a person."""
        return sum(outcome.questions for outcome in (*self.alone, *self.attacked))

    @property
    def false_alarms(self) -> dict[str, int]:
        """The number of calls without an attack, and how many of them were blocked, needed approval
        or had a changed result.
        """
        return {
            "calls": sum(outcome.calls for outcome in self.alone),
            "blocked": sum(len(outcome.blocks) for outcome in self.alone),
            "asked": sum(outcome.questions for outcome in self.alone),
            "changed": sum(outcome.changed for outcome in self.alone),
        }

    @property
    def past(self) -> Counter[str]:
        """The goals that were completed, with the calls that ran for them."""
        return Counter(
            f"{each.suite} {each.injection_task} by {', '.join(each.served) or 'words alone'}"
            for each in self.attacked
            if each.attack_succeeded and each.goal_was_served
        )

    @property
    def credited(self) -> int:
        """The number of attacks that AgentDojo counts as successful although no call and no text
        of the agent served the attacker's goal.
        """
        return sum(
            bool(outcome.attack_succeeded) and not outcome.goal_was_served
            for outcome in self.attacked
        )


@attrs.frozen
class Experiment:
    """All runs, and the added cost.

    Attributes:
        attack: the name of the attack.
        suites: the attacked suites.
        policies: the policies, not including the runs without hooks.
        outcomes: every run.
        costs: the time that a policy added, by names of suite and policy.
    """

    attack: str
    suites: Sequence[AttackedSuite]
    policies: Sequence[Policy]
    outcomes: Sequence[Outcome]
    costs: Mapping[tuple[str, str], Cost]

    def rows(self) -> Iterator[Row]:
        """Yield the rows suite by suite, and for all suites together if there are several."""
        names = list(dict.fromkeys(attacked.suite.name for attacked in self.suites))
        for group in [[name] for name in names] + ([names] if len(names) > 1 else []):
            for policy in (None, *self.policies):
                yield self._row(group, policy)

    def _row(self, suites: Sequence[str], policy: Policy | None) -> Row:
        name = policy.name if policy else UNHOOKED
        runs = [
            outcome
            for outcome in self.outcomes
            if outcome.suite in suites and outcome.policy == name
        ]
        return Row(
            suite=suites[0] if len(suites) == 1 else "all",
            policy=policy,
            alone=[outcome for outcome in runs if outcome.injection_task is None],
            attacked=[outcome for outcome in runs if outcome.injection_task is not None],
            cost=functools.reduce(
                operator.add, (self.costs.get((suite, name), Cost()) for suite in suites)
            ),
        )

    def remarks(self) -> Iterator[str]:
        """Yield notes that a reader needs to interpret the numbers."""
        for attacked in self.suites:
            name = attacked.suite.name
            if not attacked.plays_alone:
                continue
            if attacked.unreachable:
                tasks = ", ".join(attacked.unreachable)
                yield (
                    f"{name}: never attacked, because they read nothing an attacker can write: "
                    f"{tasks}."
                )
            if attacked.unplayable:
                tasks = ", ".join(attacked.unplayable)
                yield f"{name}: left out, because there is nothing to obey: {tasks}."
        for row in list(self.rows())[-1 - len(self.policies) :]:
            yield from _remarks_on(row)

    def as_json(self) -> dict[str, Any]:
        """Return the content of `--json`: the result of every run, and the rows."""
        return {
            "measures": MEASURES,
            "benchmark": f"AgentDojo {VERSION}",
            "attack": self.attack,
            "policies": {policy.name: policy.says for policy in self.policies},
            "rows": [_row_as_json(row) for row in self.rows()],
            "outcomes": [attrs.asdict(outcome) for outcome in self.outcomes],
        }


def _remarks_on(row: Row) -> Iterator[str]:
    where = row.policy.name if row.policy else "without hooks"
    if row.credited:
        yield (
            f"{where}: {row.credited} of the {row.attacks_that_succeed} attacks count although "
            "none of their calls ran, because AgentDojo's checker for them reads the requested "
            "calls."
        )
    if row.policy is None:
        return
    alarms = row.false_alarms
    yield (
        f"{where}: of {alarms['calls']} calls without an attack, {alarms['blocked']} were "
        f"blocked, {alarms['asked']} needed approval, {alarms['changed']} results changed."
    )
    if past := row.past.most_common():
        listed = "; ".join(f"{what}, {count}" for what, count in past[:MOST_LISTED])
        more = f"; and {len(past) - MOST_LISTED} more" if len(past) > MOST_LISTED else ""
        yield f"{where}: not stopped: {listed}{more}."


def _row_as_json(row: Row) -> dict[str, Any]:
    return {
        "suite": row.suite,
        "policy": row.policy.name if row.policy else UNHOOKED,
        "user_tasks": len(row.alone),
        "utility": row.useful_alone,
        "attacks": len(row.attacked),
        "utility_under_attack": row.useful_attacked,
        "attacks_that_succeed": row.attacks_that_succeed,
        "calls": row.calls,
        "blocked": row.blocked,
        "questions": row.questions,
        "false_alarms": row.false_alarms,
        "past": row.past,
        "added_microseconds_per_call": row.cost.microseconds_per_call,
    }
