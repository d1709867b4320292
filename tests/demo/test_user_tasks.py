"""All of AgentDojo's user tasks still succeed when receivers that change nothing listen in on every
phase."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from hookbus import Bus, HookContext, Replace, events, receives

from .conftest import SUITES, Suites, demo

LONG = bool(os.environ.get("HOOKBUS_LONG"))


@attrs.define(eq=False)
class Onlookers:
    """Receivers of every phase and role that a plain call has; each counts its calls and leaves the
    call as it is."""

    seen: dict[str, int] = attrs.field(factory=dict)

    def note(self, what: str) -> None:
        self.seen[what] = self.seen.get(what, 0) + 1

    @receives("pre_tool_call", priority=1)
    def pass_arguments_on(self, sender: object, name: str, arguments: Any) -> dict[str, Any]:
        self.note("pre modify")
        return {"name": name, "arguments": arguments}

    @receives("pre_tool_call")
    def assign_what_is_there(self, sender: object, ctx: HookContext) -> None:
        self.note("pre modify")
        ctx.kwargs["tool"] = ctx.kwargs["tool"]

    @receives("pre_tool_call", role="guard")
    def allow(self, sender: object, name: str) -> None:
        self.note("pre guard")

    @receives("pre_tool_call", role="observe")
    def watch(self, sender: object, **kwargs: Any) -> None:
        self.note("pre observe")

    @receives("around_tool_call")
    def call_through(self, sender: object, call_next: Callable[..., Any]) -> Any:
        self.note("around")
        return call_next()

    @receives("post_tool_call")
    def hand_back(self, sender: object, result: Any) -> Replace:
        self.note("post modify")
        return Replace(result)

    @receives("post_tool_call", role="guard")
    def let_out(self, sender: object, result: Any) -> None:
        self.note("post guard")

    @receives("post_tool_call", role="observe")
    def read(self, sender: object, result: Any) -> None:
        self.note("post observe")

    @receives("error_tool_call")
    def mourn(self, sender: object, error: Exception) -> None:
        self.note("error modify")

    @receives("finally_tool_call")
    def close(self, sender: object, ctx: HookContext) -> None:
        self.note(f"finally {ctx.outcome}")


def test_the_benchmark_has_97_user_tasks(suites: Suites) -> None:
    assert sum(len(attacked.suite.user_tasks) for attacked in suites.values()) == 97


@pytest.mark.parametrize("name", SUITES)
def test_every_user_task_succeeds_without_hooks_and_with_onlookers_in_every_phase(
    suites: Suites, name: str
) -> None:
    attacked = suites[name]
    tasks = list(attacked.suite.user_tasks)
    plain = tasks if LONG else tasks[::4]
    assert [task for task in plain if not demo.run.play(attacked.pair(task)).utility] == []

    bus, onlookers, ledger = Bus(), Onlookers(), demo.run.Ledger()
    bus.register(onlookers)
    with demo.run.hooked_runtime(bus), bus.events.connected_to(ledger):
        played = [demo.run.play(attacked.pair(task)) for task in tasks]

    assert [each.pair.user_task.ID for each in played if not each.utility] == []
    calls = sum(len(each.agent.steps) for each in played)
    assert onlookers.seen == {
        "pre modify": 2 * calls,
        "pre guard": calls,
        "pre observe": calls,
        "around": calls,
        "post modify": calls,
        "post guard": calls,
        "post observe": calls,
        "finally returned": calls,
    }
    told = ledger.take()
    assert {type(event) for event in told} == {events.Started, events.Finished}, (
        "nothing changed, failed or was blocked"
    )
    assert len(told) == 2 * calls


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # AgentDojo's own
@pytest.mark.parametrize("name", SUITES if LONG else ["banking"])
def test_the_loop_agrees_with_agentdojos_own_check_of_the_ground_truth(
    suites: Suites, name: str
) -> None:
    # Its check of what can be injected is left out: it skips messages that hold lists of text,
    # which all of them do.
    _, (user_tasks, _) = suites[name].suite.check(check_injectable=False)
    assert [task for task, (is_sound, _) in user_tasks.items() if not is_sound] == []


def test_every_user_task_is_played_alone_and_with_every_goal(suites: Suites) -> None:
    for attacked in suites.values():
        tasks, goals = len(attacked.suite.user_tasks), len(attacked.suite.injection_tasks)
        assert (attacked.unreachable, attacked.unplayable) == ((), ())
        assert len(attacked) == tasks * (1 + goals)
