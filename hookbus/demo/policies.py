"""The policies that the demo compares: guards of `hookbus.guards`, with rules that an operator
could write.

No policy can distinguish an injected instruction from a user's wish, and none tries to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from hookbus.approvals import Approved, Denied, Request, Store
from hookbus.guards import provenance, quarantine, tool_policy

from .cedar import cedar_of
from .rules import READS, RULES


@attrs.frozen
class Task:
    """The facts that are known about a task when the user starts it.

    Attributes:
        suite: the suite of the task.
        prompt: the user's words.
    """

    suite: str
    prompt: str


@attrs.define
class Person:
    """An approver that approves the calls that the user's task needs, and denies all others.

    Attributes:
        needed: the calls of the task's ground truth, by name and arguments. No guard has access to
            them.
        questions: the number of questions asked so far.
        store: where the person's rules are kept, for policies with standing approvals.
    """

    needed: Sequence[tuple[str, Any]]
    questions: int = 0
    store: Store | None = None

    def __call__(self, request: Request) -> Approved | Denied:
        """Answer a question about a tool call."""
        self.questions += 1
        called = request.arguments["name"], request.arguments["arguments"]
        wants = any(called == needed for needed in self.needed)
        return Approved("user") if wants else Denied("user", "the user does not want that")


@attrs.frozen
class Policy:
    """A policy: one row of the demo's table.

    Attributes:
        name: the name for `--policy`.
        says: the rule of the policy in one sentence.
        guards: creates the guards to register for one task.
        asks: whether a person answers questions. Otherwise, a call that needs approval is blocked.
        has_rules: whether the person's approvals also apply to later calls of the same kind.
    """

    name: str
    says: str
    guards: Callable[[Task], Sequence[object]]
    asks: bool = False
    has_rules: bool = False


def _tools(task: Task) -> tool_policy:
    return tool_policy(allow=[*READS, *RULES[task.suite].acts], default="block")


def _asking(task: Task) -> tool_policy:
    return tool_policy(allow=READS, default="ask")


def _provenance(task: Task) -> provenance:
    rules = RULES[task.suite]
    guard = provenance(rules.sinks, trusted=rules.trusted)
    guard.trust(task.prompt)
    return guard


POLICIES: Final = (
    Policy(
        "tools",
        "everyday tools are allowed; actions that are hard to undo are blocked",
        lambda task: [_tools(task)],
    ),
    Policy(
        "provenance",
        "recipients must come from the user's prompt or from trusted fields of tool results",
        lambda task: [_provenance(task)],
    ),
    Policy(
        "quarantine",
        "text in the form of an instruction is removed from tool results; plain prose stays",
        lambda task: [quarantine()],
    ),
    Policy(
        "ask",
        "reading is allowed; a person approves only the other calls that the user's task needs",
        lambda task: [_asking(task)],
        asks=True,
    ),
    Policy(
        "policy",
        "a policy in Cedar for each suite, with standing approvals for equal destinations",
        lambda task: [cedar_of(task.suite)],
        asks=True,
        has_rules=True,
    ),
    Policy(
        "together",
        "quarantine, the policy in Cedar, approval of unknown recipients, standing approvals",
        lambda task: [cedar_of(task.suite), _provenance(task), quarantine()],
        asks=True,
        has_rules=True,
    ),
)
