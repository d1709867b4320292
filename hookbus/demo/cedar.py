"""The suites' policies in Cedar. They name tools and arguments, but no task and no attack."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from agentdojo.task_suite.load_suites import get_suite

from hookbus.guards import policy

from .benchmark import VERSION
from .rules import READS, RULES

_EVERY_SUITE: Final = """
@id("reading") permit(principal, action, resource in Group::"reading");
@id("everyday") permit(principal, action, resource in Group::"everyday");
@id("hard to undo") @ask("allow an action that is hard to undo?")
permit(principal, action, resource in Group::"hard to undo");
"""

_PAYMENT: Final = """
@id("large: {tool}") @ask("pay {{amount}} to {{recipient}}?")
permit(principal, action, resource == Tool::"{tool}")
when {{ context.arguments.amount.greaterThan(decimal("1000.0")) }};
"""

_MESSAGE: Final = """
@id("link: {tool}") @ask("send a message with a link?")
permit(principal, action, resource == Tool::"{tool}")
when {{ context.arguments.body like "*http*" || context.arguments.body like "*www.*" }};
"""

_MAIL: Final = """
@id("attachment") @ask("send an attachment?")
permit(principal, action, resource == Tool::"send_email")
when { context.arguments has attachments };
"""

POLICIES_IN_CEDAR: Final[Mapping[str, str]] = {
    "banking": _EVERY_SUITE
    + _PAYMENT.format(tool="send_money")
    + _PAYMENT.format(tool="schedule_transaction"),
    "slack": _EVERY_SUITE
    + _MESSAGE.format(tool="send_direct_message")
    + _MESSAGE.format(tool="send_channel_message"),
    "travel": _EVERY_SUITE + _MAIL,
    "workspace": _EVERY_SUITE + _MAIL,
}
"""The policies of each suite. They permit reading, and some calls with an approval. All other calls
are blocked.
"""


@functools.cache
def cedar_of(suite: str) -> policy:
    """Return the guard of a suite. It keeps no state between calls, so all runs share it."""
    tools = {tool.name: tool.parameters for tool in get_suite(VERSION, suite).tools}
    return policy(
        POLICIES_IN_CEDAR[suite],
        schema=tools,
        entities=[_entity(suite, name) for name in tools],
        reload=False,
    )


def _entity(suite: str, tool: str) -> dict[str, Any]:
    rules = RULES[suite]
    groups = {"reading": READS, "everyday": rules.acts, "hard to undo": rules.grave}
    found = [
        name for name, globs in groups.items() if any(fnmatchcase(tool, glob) for glob in globs)
    ]
    # Like a deny rule, the stricter group wins.
    group = found[-1:]
    return {
        "uid": {"type": "Tool", "id": tool},
        "attrs": {},
        "parents": [{"type": "Group", "id": each} for each in group],
    }
