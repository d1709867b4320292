"""P31: a call that `guards.policy` has not decided before, beside one call of the library."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count, repeat
from typing import Any

from hookbus import Bus, guards, hookable

from .harness import Case, Expect, Row
from .limits import LIMITS

TOOLS = ("send", *(f"send_{number}" for number in range(13)))
PERMITS = [
    f'permit(principal, action, resource == Tool::"{tool}") '
    f'when {{ context.arguments.to like "Ada*" && context.arguments.text != "{tool}" }};'
    for tool in TOOLS
]
FORBIDS = [
    f'forbid(principal in Role::"role{number}", action, resource) '
    f'when {{ context.arguments.to like "*@evil{number}.test" }};'
    for number in range(6)
]
POLICIES = "\n".join(PERMITS + FORBIDS)
PEOPLE = {f"user{number}": [f"role{number}"] for number in range(6)}
DECLARED = {name: {"to": str, "text": str} for name in TOOLS}
TEXT = "The meeting is at ten, in the room upstairs."


def rows() -> Iterator[Row]:
    """Yield the row: twenty policies, of which two can match the call."""
    yield Row(
        "P31 policy", "guards.policy, a new call / one call of cedarpy", _cases,
        LIMITS["P31 policy"],
    )  # fmt: skip


def _cases() -> dict[str, Case]:
    import cedarpy

    bus = Bus()
    bus.register(guards.policy(POLICIES, schema=DECLARED, entities=PEOPLE))
    parsed = cedarpy.PolicySet.from_str(POLICIES)
    people = [
        {"uid": {"type": "Agent", "id": name}, "attrs": {},
         "parents": [{"type": "Role", "id": role} for role in roles]}
        for name, roles in PEOPLE.items()
    ]  # fmt: skip
    with_roles = cedarpy.Entities.from_json_str(json.dumps(people))

    def ask_library(name: str, arguments: dict[str, Any]) -> bool:
        request = {
            "principal": {"type": "Agent", "id": "anonymous"},
            "action": {"type": "Action", "id": "tool_call"},
            "resource": {"type": "Tool", "id": name},
            "context": {"arguments": arguments, "baggage": {}},
        }
        return cedarpy.is_authorized(request, parsed, with_roles).allowed

    @hookable("tool_call", bus=bus)
    def call_guarded(name: str, arguments: dict[str, Any]) -> bool:
        return True

    return {"by hand": _case(ask_library), "hookbus": _case(call_guarded)}


def _case(call: Callable[[str, dict[str, Any]], bool]) -> Case:
    numbers = count()

    def once() -> bool:
        return call("send", {"to": f"Ada {next(numbers)}", "text": TEXT})

    def many(n: int) -> None:
        for _ in repeat(None, n):
            once()

    return Case(once, many, Expect(0, True))
