"""One attack, call by call, from hookbus events: on whose behalf each call was made, what changed,
and which guard blocked the call and why.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final

import attrs
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import FunctionCall

from hookbus import Bus, events
from hookbus._views.values import place_of_change

from .agent import Step
from .benchmark import AttackedSuite, Pair
from .policies import Policy
from .run import (
    UNHOOKED,
    Ledger,
    Outcome,
    Played,
    hooked_runtime,
    person_of,
    play,
    register_policy,
    task_of,
)

LONGEST_VALUE: Final = 32
"""The maximum number of characters of an argument to show."""


@attrs.frozen
class Moment:
    """One tool call.

    Attributes:
        wanted_by: `"user"` or `"injected goal"`.
        call: the tool and its arguments, shortened.
        ending: the changes made by receivers, the guard that blocked the call and its reason, the
            error of the tool, or "ran".
        is_blocked: whether the call was blocked.
    """

    wanted_by: str
    call: str
    ending: str
    is_blocked: bool


@attrs.frozen
class Timeline:
    """One attack under one policy, the verdict of AgentDojo's checkers, and the calls in order.
    """

    policy: Policy
    played: Played
    moments: tuple[Moment, ...]


@attrs.frozen
class _Story:
    """An attack that succeeds without hooks, and the runs in which a policy stopped it."""

    pair: tuple[str, ...]
    blocking: Sequence[Outcome]
    hiding: Sequence[Outcome]

    @classmethod
    def of(cls, pair: tuple[str, ...], stopped: Sequence[Outcome]) -> _Story:
        """Separate runs with a blocked call from runs that hid the goal from the agent."""
        blocking = [outcome for outcome in stopped if outcome.blocks]
        return cls(
            pair,
            blocking,
            [outcome for outcome in stopped if outcome.changed and not outcome.blocks],
        )

    def outcomes(self) -> list[Outcome]:
        """Return the last run with a blocked call, and the first run without a blocked call."""
        return [*self.blocking[-1:], *self.hiding[:1]]

    def rank(self) -> tuple[bool, ...]:
        """Return the sort key of a story. The best story has a run without a blocked call, and a
        run in which a call was blocked and the user's task was still completed.
        """
        goes_on = [
            outcome for outcome in self.blocking[-1:] if outcome.calls - len(outcome.blocks) > 1
        ]
        return (
            bool(self.blocking), bool(self.hiding),
            any(outcome.utility for outcome in self.blocking[-1:]), bool(goes_on),
        )  # fmt: skip


def telling_timelines(
    suites: Sequence[AttackedSuite], policies: Sequence[Policy], outcomes: Iterable[Outcome]
) -> list[Timeline]:
    """Return the timelines of one attack: under the last policy that blocked it, and under the
    first policy that hid the goal from the agent.

    The attack is one that succeeds without hooks. The list is empty if no policy stopped an attack.
    """
    stopped: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in outcomes:
        pair = (
            outcome.suite, outcome.attack or "", outcome.user_task, outcome.injection_task or "",
        )  # fmt: skip
        if outcome.policy == UNHOOKED and outcome.attack_succeeded:
            stopped[pair] = []
        elif pair in stopped and not outcome.attack_succeeded:
            stopped[pair].append(outcome)
    story = max(itertools.starmap(_Story.of, stopped.items()), key=_Story.rank, default=None)
    if story is None:
        return []
    suite, attack, user_task, injection_task = story.pair
    attacked = next(e for e in suites if (e.suite.name, e.attack.name) == (suite, attack))
    pair_again = attacked.pair(user_task, injection_task)
    by_name = {policy.name: policy for policy in policies}
    return [timeline_of(pair_again, by_name[outcome.policy]) for outcome in story.outcomes()]


def timeline_of(pair: Pair, policy: Policy) -> Timeline:
    """Run one pair under one policy and record it call by call."""
    bus, ledger = Bus(values=True), Ledger()
    with (
        hooked_runtime(bus),
        bus.events.connected_to(ledger),
        register_policy(bus, policy, task_of(pair), person_of(pair)),
    ):
        played = play(pair)
    return Timeline(
        policy, played, tuple(map(_moment, played.agent.steps, _by_call(ledger.take())))
    )


def _by_call(recorded: Iterable[events.Event]) -> Iterable[list[events.Event]]:
    """Group events by the agent's own calls. A call nested in another call's arguments belongs to
    the line of that call.
    """
    own: dict[int, int] = {}
    grouped: dict[int, list[events.Event]] = {}
    for event in recorded:
        call = own.setdefault(event.call_id, own.get(event.parent_id or 0, event.call_id))
        grouped.setdefault(call, []).append(event)
    return grouped.values()


def _moment(step: Step, recorded: Sequence[events.Event]) -> Moment:
    blocks = [event for event in recorded if isinstance(event, events.Blocked)]
    endings = [f"blocked by {event.receiver}: {event.reason}" for event in blocks]
    changes = [_change(event) for event in recorded if isinstance(event, events.Mutated)]
    return Moment(
        wanted_by="injected goal" if step.obeys else "user",
        call=shortened(step.call),
        ending="; ".join([*changes, *endings]) or step.error or "ran",
        is_blocked=bool(blocks),
    )


def _change(event: events.Mutated) -> str:
    if event.name != "result":
        return f"{place_of_change(event.name)} changed by {event.receiver}"
    before, after = (len(tool_result_to_str(result[0])) for result in (event.before, event.after))
    return f"result changed from {before} to {after} characters by {event.receiver}"


def shortened(call: FunctionCall) -> str:
    """Return a call as text, with its arguments on a separate line, each shortened to a readable
    length.
    """
    arguments = ", ".join(f"{name}={_cut(repr(value))}" for name, value in call.args.items())
    return f"{call.function}(\n{arguments})" if arguments else f"{call.function}()"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
