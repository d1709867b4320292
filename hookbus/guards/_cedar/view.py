"""Decides the calls to one tool, with the policies that can match these calls."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any, Final, Literal

import attrs

from ..._ground.errors import did_you_mean
from .library import cedar
from .rules import Policy, Uid
from .trees import for_resource, mentions_of, written
from .types import TEXT, Field, Mismatch, convert_fields, decimal_of

ACTION: Final = "Action"
MOST_KEPT: Final = 1_000
"""The maximum number of cached decisions. A decision is reused for calls with the same arguments,
user and baggage."""

MOST_SETS: Final = 100
"""The maximum number of cached sets of policies for each tool. Principals with the same roles share
a set."""

LONGEST_KEPT: Final = 2_000
"""The maximum number of characters in the arguments and baggage of a call whose decision is
cached."""

_ATTRIBUTE: Final = re.compile(r"attribute `([^`]{1,60})`")


@attrs.frozen
class Decision:
    """A decision about one call.

    Attributes:
        effect: `"allow"`, `"ask"` or `"block"`.
        reason: the reason for a block, or the question.
        policies: the policies that determined the decision.
        details: additional data for events and journals.
    """

    effect: Literal["allow", "ask", "block"]
    reason: str = ""
    policies: tuple[Policy, ...] = ()
    details: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def ids(self) -> list[str]:
        """The ids of the policies."""
        return [each.id for each in self.policies]


class View:
    """The policies that can match the calls to one tool, checked against the tool's arguments.

    Attributes:
        action, resource, fields: the action, the tool and the arguments of its calls.
        policies: the policies that can match the calls.
        problem: the reason why a policy is not valid for the tool, or None. A problem blocks every
            call to the tool.
    """

    def __init__(self, whole: Any, action: str, resource: Uid, fields: Mapping[str, Field]) -> None:
        self._whole, self._name = whole, resource[1]
        self.action, self.resource, self.fields = action, resource, fields
        around = whole.entities.around(resource)
        self.is_checked_by_cedar = whole.schema.handle is not None
        self.policies = [
            each for each in whole.all
            if self.is_checked_by_cedar or each.covers((ACTION, action), around, resource[0])
        ]  # fmt: skip
        read = mentions_of(self.policies)
        words = whole.schema.words
        self._baggage = None if read.baggage is None else read.baggage | words
        unread = set() if read.arguments is None else fields.keys() - read.arguments
        self._unread: Collection[str] = unread
        self._skipped = {name for name in unread if fields[name].kind is TEXT}
        self.problem = None if self.is_checked_by_cedar else self._check(action, around)
        self._request: dict[str, Any] = {
            "action": {"type": ACTION, "id": action},
            "resource": {"type": resource[0], "id": resource[1]},
        }
        self._authorize = cedar().is_authorized
        self._enforced = [each for each in self.policies if not each.is_shadow]
        self.has_shadow = len(self._enforced) < len(self.policies)
        self._evaluated: dict[tuple[int, ...], _Evaluated] = {}
        self._evaluated_for: dict[tuple[Uid, bool], _Evaluated] = {}

    def _check(self, action: str, around: list[Uid]) -> str | None:
        names = mentions_of(self.policies).baggage or ()
        try:
            text = self._whole.schema_for(action, around[0][0], self.fields, names)
            schema = cedar().Schema.from_str(text)
        except ValueError as error:
            return f"the arguments of {self._name!a} have no schema: {error}"
        for policy in self.policies:
            for name in policy.placeholders():
                if name not in self.fields:
                    near = did_you_mean(name, self.fields)
                    said = f"@ask names {{{name}}}, which {self._name!a} does not have"
                    return f"{policy.place}: {said}{near}"
            wrong = problem_with(written(for_resource(policy.tree, around)), schema)
            if wrong is not None:
                return f"{policy.place}: for {self._name!a}, {wrong}"
        return None

    def decide(
        self, principal: Uid, arguments: Mapping[Any, Any], baggage: Mapping[str, Any], *,
        with_shadow: bool = False, is_counted: bool = True,
    ) -> Decision:  # fmt: skip
        """Decide a call.

        Args:
            principal: the Cedar principal that makes the call.
            arguments: the arguments of the call.
            baggage: the baggage of the call.
            with_shadow: whether to evaluate policies with `@shadow`, too. In this case, only the
                decisions of these policies are counted.
            is_counted: whether to add the decision to the counts of the policies.
        """
        if self.problem is not None:
            return Decision("block", self.problem, details={"problem": self.problem})
        try:
            context = self._context(arguments, baggage)
        except Mismatch as wrong:
            return Decision("block", f"{wrong} (tool {self._name[:60]!a})")
        evaluated = self._evaluated_for.get((principal, with_shadow))
        if evaluated is None:
            evaluated = self._evaluate_for(principal, with_shadow)
        # A decision depends on nothing else: Cedar reads neither the clock nor the network.
        key, decided = (self, evaluated, principal, context), self._whole.decided
        decision: Decision | None = decided.get(key)
        if decision is None:
            request = {
                **self._request, "principal": {"type": principal[0], "id": principal[1]},
                "context": context,
            }  # fmt: skip
            answer = self._authorize(
                request, evaluated.handle, self._whole.handle, self._whole.schema.handle
            )
            decision = self._decision(evaluated, answer)
            if len(context) <= LONGEST_KEPT:
                if len(decided) >= MOST_KEPT:
                    decided.clear()
                decided[key] = decision
        if decision.effect == "ask":
            asked = (each.question_for(arguments) for each in decision.policies)
            decision = attrs.evolve(decision, reason="; ".join(asked))
        for each in decision.policies if is_counted else ():
            each.decided += each.is_shadow or not with_shadow
        return decision

    def in_shadow(
        self, principal: Uid, arguments: Mapping[Any, Any], baggage: Mapping[str, Any]
    ) -> Decision | None:
        """Return the decision on a call if the policies with `@shadow` also decided, and count it
        for these policies. Return None if the verdict would be the same.
        """
        if not self.has_shadow:
            return None
        now = self.decide(principal, arguments, baggage, is_counted=False)
        other = self.decide(principal, arguments, baggage, with_shadow=True)
        return None if now.effect == other.effect else other

    def _evaluate_for(self, principal: Uid, with_shadow: bool) -> _Evaluated:
        """Return the policies whose scope can match the calls of a principal."""
        groups = self._whole.entities.around(principal)
        several = [
            each for each in (self.policies if with_shadow else self._enforced)
            if self.is_checked_by_cedar or each.may_apply_to(groups)
        ]  # fmt: skip
        key = tuple(map(id, several))
        evaluated = self._evaluated.get(key)
        if evaluated is None:
            if len(self._evaluated) >= MOST_SETS:
                self._evaluated.clear()
            evaluated = self._evaluated[key] = _Evaluated(several)
        if len(self._evaluated_for) >= MOST_KEPT:
            self._evaluated_for.clear()
        self._evaluated_for[principal, with_shadow] = evaluated
        return evaluated

    def matches(
        self, tree: Any, principal: Uid, arguments: Mapping[Any, Any], baggage: Mapping[str, Any]
    ) -> bool | None:
        """Return whether a permit, given as a tree, matches a call. Return None if it cannot be
        evaluated.
        """
        request = {
            **self._request, "principal": {"type": principal[0], "id": principal[1]},
            "context": self._context(arguments, baggage),
        }  # fmt: skip
        schema = self._whole.schema.handle
        answer = self._authorize(request, written(tree), self._whole.handle, schema)
        return None if answer.diagnostics.errors else bool(answer.allowed)

    def _context(self, arguments: Mapping[Any, Any], baggage: Mapping[str, Any]) -> str:
        if self.is_checked_by_cedar:
            given = _plain(arguments, "arguments")
            around = {
                name: _plain(value, name) for name, value in baggage.items()
                if value is not None and (self._baggage is None or name in self._baggage)
            }  # fmt: skip
        else:
            given = convert_fields(self.fields, arguments, skipped=self._skipped)
            for name in self._unread:
                given.pop(name, None)
            around = {
                name: TEXT.convert(baggage[name], f"baggage {name}")
                for name in (baggage if self._baggage is None else self._baggage)
                if baggage.get(name) is not None
            }
        return json.dumps({"arguments": given, "baggage": around})

    def _decision(self, evaluated: _Evaluated, answer: Any) -> Decision:
        found = answer.diagnostics
        if found.errors:
            return _failed(evaluated, found.errors)
        policies = tuple(evaluated.by_id[each] for each in sorted(found.reasons, key=_number))
        if answer.allowed:
            asking = [each for each in policies if each.question is not None]
            if asking:
                return Decision("ask", policies=tuple(asking))
            return Decision("allow", policies=policies)
        if not policies:
            return Decision("block", f"no policy permits {self._name[:60]!a} here")
        reasons = [each.reason or f"policy {each.id!a} forbids this call" for each in policies]
        return Decision("block", "; ".join(dict.fromkeys(reasons)), policies)


class _Evaluated:
    """Policies that are prepared for evaluation by Cedar."""

    def __init__(self, policies: list[Policy]) -> None:
        self.handle = cedar().PolicySet.from_str("\n".join(each.text for each in policies))
        self.by_id = {f"policy{number}": each for number, each in enumerate(policies)}


def _failed(evaluated: _Evaluated, errors: list[str]) -> Decision:
    """Return the decision to block a call that could not be evaluated. The reason contains no
    values."""
    several = tuple(
        each for key, each in evaluated.by_id.items() if any(f"`{key}`" in e for e in errors)
    )
    if several:
        names = ", ".join(repr(each.id) for each in several)
        return Decision("block", f"policy {names} could not be evaluated", several)
    found = _ATTRIBUTE.search(errors[0])
    named = f" at {found[1]!a}" if found else ""
    return Decision("block", f"the call does not fit the schema of the policies{named}")


def _number(key: str) -> int:
    return int(key.removeprefix("policy"))


def _plain(value: Any, path: str, depth: int = 0) -> Any:
    """Return a value as JSON for Cedar, which checks the value against its own schema."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return decimal_of(value, path)
    if depth < 50 and isinstance(value, Mapping):
        if any(not isinstance(name, str) or name.startswith("__") for name in value):
            raise Mismatch(f"the argument {path!a} has a key that Cedar does not allow")
        return {n: _plain(v, n, depth + 1) for n, v in value.items() if v is not None}
    if depth < 50 and isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(each, path, depth + 1) for each in value]
    return TEXT.convert(value, path)


def problem_with(text: str, schema: Any) -> str | None:
    """Describe the problem with the text of one policy, or return None."""
    result = cedar().validate_policies(text, schema)
    if result.validation_passed:
        return None
    said = [each.error.removeprefix("for policy `policy0`, ") for each in result.errors]
    return "; ".join(" ".join(each.split()) for each in said)[:300]
