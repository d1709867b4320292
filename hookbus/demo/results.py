"""What came of an experiment: the rows of the table, the remarks below it, and the file `--json`
writes."""

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
"""So many of the goals that get past a policy are listed; `--json` has them all."""

MEASURES: Final = (
    "This measures the enforcement layer against an agent that always obeys, not a model's attack "
    "rate: the agent is scripted to play the user's task and to carry out every injected goal it "
    "reads. No model, no network, no key."
)


@attrs.frozen
class Row:
    """One policy on one suite, or on all of them together.

    Attributes:
        suite: the suite's name, or `"all"`.
        policy: the policy; None without hooks.
        alone: the runs of user tasks nobody attacked.
        attacked: the runs of user tasks with a planted goal.
        cost: what the hooks added to the calls of user tasks nobody attacked.
    """

    suite: str
    policy: Policy | None
    alone: Sequence[Outcome]
    attacked: Sequence[Outcome]
    cost: Cost

    @property
    def useful_alone(self) -> int:
        """How many user tasks were done when nobody attacked."""
        return sum(outcome.utility for outcome in self.alone)

    @property
    def useful_attacked(self) -> int:
        """How many user tasks were done in spite of an attack."""
        return sum(outcome.utility for outcome in self.attacked)

    @property
    def attacks_that_succeed(self) -> int:
        """How many planted goals were done, as AgentDojo's checkers see it."""
        return sum(bool(outcome.attack_succeeded) for outcome in self.attacked)

    @property
    def calls(self) -> int:
        """How many tool calls the agent asked for, attacked or not."""
        return sum(outcome.calls for outcome in (*self.alone, *self.attacked))

    @property
    def blocked(self) -> int:
        """How many of them were refused."""
        return sum(len(outcome.blocks) for outcome in (*self.alone, *self.attacked))

    @property
    def questions(self) -> int:
        """How often a person was asked."""
        return sum(outcome.questions for outcome in (*self.alone, *self.attacked))

    @property
    def false_alarms(self) -> dict[str, int]:
        """What happened to calls that nobody attacked."""
        return {
            "calls": sum(outcome.calls for outcome in self.alone),
            "blocked": sum(len(outcome.blocks) for outcome in self.alone),
            "asked": sum(outcome.questions for outcome in self.alone),
            "changed": sum(outcome.changed for outcome in self.alone),
        }

    @property
    def past(self) -> Counter[str]:
        """The goals that were done, and by which of their calls that got through."""
        return Counter(
            f"{each.suite} {each.injection_task} by {', '.join(each.served) or 'words alone'}"
            for each in self.attacked
            if each.attack_succeeded and each.goal_was_served
        )

    @property
    def credited(self) -> int:
        """How many attacks count as successful although not one call for the goal got through and
        nothing was said for it."""
        return sum(
            bool(outcome.attack_succeeded) and not outcome.goal_was_served
            for outcome in self.attacked
        )


@attrs.frozen
class Experiment:
    """Everything that was played, and what it cost.

    Attributes:
        attack: the name of the attack.
        suites: the attacked suites.
        policies: the policies played, besides no hooks at all.
        outcomes: every run.
        costs: what a policy added, by names of suite and policy.
    """

    attack: str
    suites: Sequence[AttackedSuite]
    policies: Sequence[Policy]
    outcomes: Sequence[Outcome]
    costs: Mapping[tuple[str, str], Cost]

    def rows(self) -> Iterator[Row]:
        """Yield the rows suite by suite, and for all suites together where there are several."""
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
        """Yield what a reader has to know to read the numbers rightly, where it applies."""
        for attacked in self.suites:
            name = attacked.suite.name
            if not attacked.plays_alone:
                continue
            if attacked.unreachable:
                tasks = ", ".join(attacked.unreachable)
                yield (
                    f"{name}: never attacked, since they read nothing an attacker can write to: "
                    f"{tasks}."
                )
            if attacked.unplayable:
                tasks = ", ".join(attacked.unplayable)
                yield f"{name}: left out, since there is nothing to obey: {tasks}."
        for row in list(self.rows())[-1 - len(self.policies) :]:
            yield from _remarks_on(row)

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` writes: every run's outcome, and the rows."""
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
            "none of their calls got through; AgentDojo's checker for them reads the calls that "
            "were asked for, not those that ran."
        )
    if row.policy is None:
        return
    alarms = row.false_alarms
    yield (
        f"{where}: of {alarms['calls']} calls that nobody attacked, {alarms['blocked']} were "
        f"blocked, {alarms['asked']} asked about, {alarms['changed']} results changed."
    )
    if past := row.past.most_common():
        listed = "; ".join(f"{what}, {count}" for what, count in past[:MOST_LISTED])
        more = f"; and {len(past) - MOST_LISTED} more" if len(past) > MOST_LISTED else ""
        yield f"{where}: past it: {listed}{more}."


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
