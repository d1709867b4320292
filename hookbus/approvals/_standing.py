"""Standing approvals, by which a person approves later similar calls in advance."""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
import time
from collections.abc import Mapping
from typing import Any, Final

import attrs

from .. import HookError
from ._digest import EXACT
from ._people import People, Proof
from ._redacted import _is_same
from ._words import Between, Request, Rule

_STAR: Final = re.compile(r"(?<!\[)\*|\*(?!\])")
_LINE: Final = r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]*"
"""The regular expression for `*` in a pattern, which matches any characters on one line."""


@attrs.frozen(kw_only=True)
class StandingRule:
    """A rule that is stored in a store.

    Attributes:
        id: the id of the rule, to revoke it.
        rule: the patterns and limits.
        by: the person who made the rule.
        request: the id of the request that the person answered with this rule.
        made: the time when the rule was made, in seconds since 1970.
        until: the time when the rule ends, or None.
        used: the number of calls that the rule has approved.
        revoked: the time when the rule was revoked, or None.
        revoked_by: the person who revoked the rule, or None.
    """

    id: str
    rule: Rule
    by: str
    request: str
    made: float
    until: float | None
    used: int
    revoked: float | None
    revoked_by: str | None

    @property
    def is_valid(self) -> bool:
        """Whether the rule can still approve a call."""
        is_left = self.rule.uses is None or self.used < self.rule.uses
        return self.revoked is None and is_left and (self.until is None or time.time() < self.until)


@attrs.frozen(kw_only=True)
class Exact(Request):
    """A request with its real arguments, which are known only in the process of the call.

    Attributes:
        real: the unredacted arguments, with which a rule is compared.
    """

    real: Mapping[str, Any] = attrs.field(factory=dict, repr=False)


def written_request(request: Request) -> str:
    """Serialize a request to JSON. Descriptive values that cannot be serialized are written as
    their repr.
    """
    data = attrs.asdict(request)
    data.pop("real", None)  # a store keeps only what has passed the redactors
    return json.dumps(data, default=repr)


def patterned(hook: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments to which the patterns of a rule apply. In a `tool_call`, these are the
    arguments of the tool.
    """
    inner = arguments.get("arguments")
    return inner if hook == "tool_call" and isinstance(inner, Mapping) else arguments


def check_rule(rule: Any, request: Request, proof: Proof | None, people: People | None) -> str:
    """Check a rule for a request, and return the name of the person who makes the rule.

    Raises:
        HookError: if the rule is not valid for this request, or the name is not proven.
    """
    if not isinstance(rule, Rule):
        raise HookError(f"rule={rule!r:.60} must be a Rule")
    if not request.scope:
        raise HookError(f"request {request.id} cannot have a standing approval: answer each call")
    if proof is None:
        raise HookError("rule= needs a proven name, so that no agent can make a rule: answer on "
                        "the command line, or pass proof=")  # fmt: skip
    if people is not None and proof.name not in people.read():
        raise HookError(
            f"{proof.name!a} is not one of the people in people.toml, who alone can make a rule"
        )
    names = patterned(request.hook, request.arguments).keys()
    if rule.arguments.keys() != names:
        raise HookError(f"Rule(arguments=) must contain every argument: {', '.join(names)}")
    if rule.arguments and all(map(_is_unlimited, rule.arguments.values())):
        raise HookError("the rule matches every call of the tool: write a narrower pattern")
    return proof.name


def add_rule(db: sqlite3.Connection, rule: Rule, request: Request, by: str) -> None:
    """Store a rule that a person has made."""
    now = time.time()
    until = None if rule.seconds is None else now + rule.seconds
    db.execute(
        "INSERT INTO rules (id, scope, request, rule, by, made, until, used) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
        [secrets.token_hex(4), request.scope, request.id, written_rule(rule), by, now, until],
    )


def rules_in(db: sqlite3.Connection, condition: str = "1", *values: Any) -> list[StandingRule]:
    """Return the rules in a store, oldest first."""
    rows = db.execute(
        "SELECT id, rule, by, request, made, until, used, revoked, revoked_by FROM rules "
        f"WHERE {condition} ORDER BY number", values,
    ).fetchall()  # fmt: skip
    return [rule_of(row) for row in rows]


def rule_of(row: tuple[Any, ...]) -> StandingRule:
    """Return the rule in a row, whose values are in the order of the attributes."""
    names = [each.name for each in attrs.fields(StandingRule)]
    return StandingRule(**{**dict(zip(names, row)), "rule": read_rule(json.loads(row[1]))})


def use_rule(db: sqlite3.Connection, people: People | None, request: Request) -> str | None:
    """Return the approver if a rule approves a call, and count the use; otherwise return None."""
    if not isinstance(request, Exact) or not request.scope:
        return None
    for rule in rules_in(db, "scope = ?", request.scope):
        if not rule.is_valid or not is_match(rule.rule, request.real):
            continue
        if people is not None and rule.by not in people.read():
            continue
        db.execute("UPDATE rules SET used = used + 1 WHERE id = ?", [rule.id])
        return f"{rule.by}, by rule {rule.id}"
    return None


def is_match(rule: Rule, arguments: Mapping[str, Any]) -> bool:
    """Return whether all arguments match the patterns. Types and characters must be the same."""
    return rule.arguments.keys() == arguments.keys() and all(
        _is_like(pattern, arguments[name]) for name, pattern in rule.arguments.items()
    )


def _is_like(pattern: Any, value: Any) -> bool:
    if isinstance(pattern, Between):
        return type(value) in (int, float) and pattern.low <= value <= pattern.high
    if not isinstance(pattern, str):
        return _is_same(pattern, value)
    return type(value) is str and _regex(pattern).fullmatch(value) is not None


def _regex(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern. Matching takes linear time for each star, because
    the text after a star is matched only at its first occurrence. This matters because the agent
    writes the value.
    """
    first, *others = (re.escape(text.replace("[*]", "*")) for text in _STAR.split(pattern))
    if not others:
        return re.compile(first)
    found = "".join(f"(?>{_LINE}?{text})" for text in others[:-1])
    return re.compile(f"{first}{found}{_LINE}{others[-1]}")


def _is_unlimited(pattern: Any) -> bool:
    """Return whether a pattern matches every line, or every number that JSON represents exactly."""
    if isinstance(pattern, Between):
        return pattern.low <= -EXACT and pattern.high >= EXACT
    return isinstance(pattern, str) and not pattern.strip("*")


def literal_pattern(value: Any) -> Any:
    """Return the pattern that only this value matches."""
    return value.replace("*", "[*]") if isinstance(value, str) else value


def written_rule(rule: Rule) -> str:
    """Serialize a rule to JSON."""
    patterns = {
        name: {"between": [each.low, each.high]} if isinstance(each, Between) else {"is": each}
        for name, each in rule.arguments.items()
    }
    return json.dumps({"arguments": patterns, "uses": rule.uses, "seconds": rule.seconds})


def read_rule(data: dict[str, Any]) -> Rule:
    """Return the rule that was serialized to this JSON data."""
    patterns = {
        name: Between(*each["between"]) if "between" in each else each["is"]
        for name, each in data["arguments"].items()
    }
    return Rule(patterns, uses=data["uses"], seconds=data["seconds"])
