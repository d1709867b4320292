"""The policies that the demo compares: guards as `hookbus.guards` has them, with rules that an
operator could write.

A policy cannot tell an injected instruction from a wish of the user, and does not try to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from hookbus.approvals import Approved, Denied, Request
from hookbus.guards import provenance, quarantine, tool_policy

from .rules import READS, RULES


@attrs.frozen
class Task:
    """What is known about a task when the user hands it over.

    Attributes:
        suite: the suite that it is from.
        prompt: the user's words.
    """

    suite: str
    prompt: str


@attrs.define
class Person:
    """Says yes to the calls that the user's task needs, and no to the rest.

    Attributes:
        needed: the calls of its ground truth, by name and arguments, which nobody else knows.
        questions: how often it was asked.
    """

    needed: Sequence[tuple[str, Any]]
    questions: int = 0

    def __call__(self, request: Request) -> Approved | Denied:
        """Answer a question about a tool call."""
        self.questions += 1
        called = request.arguments["name"], request.arguments["arguments"]
        wants = any(called == needed for needed in self.needed)
        return Approved("user") if wants else Denied("user", "the user does not want that")


@attrs.frozen
class Policy:
    """A row of the demo.

    Attributes:
        name: what `--policy` calls it.
        says: its rule in one sentence.
        guards: makes what is registered in for one task.
        asks: whether there is a person to ask; else a question is a block.
    """

    name: str
    says: str
    guards: Callable[[Task], Sequence[object]]
    asks: bool = False


def _tools(task: Task) -> tool_policy:
    return tool_policy(allow=[*READS, *RULES[task.suite].acts], default="block")


def _asking(task: Task) -> tool_policy:
    return tool_policy(allow=READS, default="ask")


def _grave(task: Task) -> tool_policy:
    rules = RULES[task.suite]
    return tool_policy(allow=[*READS, *rules.acts], ask=rules.grave, default="block")


def _provenance(task: Task) -> provenance:
    rules = RULES[task.suite]
    guard = provenance(rules.sinks, trusted=rules.trusted)
    guard.trust(task.prompt)
    return guard


POLICIES: Final = (
    Policy(
        "tools",
        "reads and everyday acts are allowed, what is hard to take back is not",
        lambda task: [_tools(task)],
    ),
    Policy(
        "provenance",
        "where something goes stands in the prompt, or in what only user and operator write",
        lambda task: [_provenance(task)],
    ),
    Policy(
        "quarantine",
        "tool results lose what has the form of an instruction; plain prose stays",
        lambda task: [quarantine()],
    ),
    Policy(
        "ask",
        "reads are allowed, a person is asked about the rest, and says yes to what the user's "
        "task needs",
        lambda task: [_asking(task)],
        asks=True,
    ),
    Policy(
        "together",
        "quarantine, and the person is asked about what is hard to take back, and about "
        "destinations that provenance does not account for",
        lambda task: [_grave(task), _provenance(task), quarantine()],
        asks=True,
    ),
)
