"""Finds policies that have no effect, because they can never match or another policy overrules
them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

from ..._ground.errors import did_you_mean
from .deciding import Policies
from .library import cedar, quoted
from .rules import Policy
from .trees import entities_in, rewritten
from .view import ACTION

_BELOW: Final = ("less", "less_eq")
_ABOVE: Final = ("greater", "greater_eq")
_OPPOSITE: Final = {
    "less": "greater_eq", "less_eq": "greater", "greater": "less_eq", "greater_eq": "less",
    "eq": "not_eq", "not_eq": "eq",
}  # fmt: skip


def findings_of(policies: Policies, hooks: Collection[str]) -> Iterator[str]:
    """Yield descriptions of likely mistakes in valid policies.

    Args:
        policies: the policies.
        hooks: the known hooks.
    """
    for policy in policies.all:
        yield from _unknown_actions(policy, hooks)
        if why := _why_never(policy):
            yield f"{policy.place}: {policy.id!a} can never match: {why}"
        yield from _unknown_tests(policies, policy)
    forbids = [each for each in policies.all if each.effect == "forbid" and not each.is_shadow]
    for policy in policies.all:
        for other in forbids if policy.effect == "permit" else ():
            if _covers(other, policy):
                how = "contradicts" if _covers(policy, other) else "never decides, because of"
                yield (
                    f"{policy.place}: the permit {policy.id!a} {how} the forbid {other.id!a} "
                    f"({other.place}), which matches the same calls"
                )
    for policy, other in _pairs(policies.all):
        yield f"{other.place}: {other.id!a} is the same as {policy.id!a} ({policy.place})"


def _unknown_actions(policy: Policy, hooks: Collection[str]) -> Iterator[str]:
    for kind, name in entities_in(policy):
        if kind == ACTION and name not in hooks:
            near = did_you_mean(name, hooks)
            named = f"{policy.place}: {policy.id!a} names {ACTION}::{quoted(name)}"
            yield (
                f"{named}, but no known hook has that name{near if 'did you mean' in near else '.'}"
                f" If it is right, pass --hook {name}, or --module with the module that declares it"
            )


def notes_of(policies: Policies) -> Iterator[str]:
    """Yield a note for each tool that no permit covers, so that all its calls are blocked."""
    for view in policies.views():
        if not any(each.effect == "permit" and not each.is_shadow for each in view.policies):
            yield f"no permit covers {view.resource[1]!a}, so all its calls are blocked"


def _pairs(several: list[Policy]) -> Iterator[tuple[Policy, Policy]]:
    """Yield pairs of policies that differ only in their annotations."""
    alike: dict[Any, list[Policy]] = {}
    for each in several:
        tree = each.tree
        key = tree.effect, tree.principal, tree.action, tree.resource, tree.clauses, each.is_shadow
        alike.setdefault(key, []).append(each)
    for same in alike.values():
        yield from pairwise(same)


def tests_of(policy: Policy) -> list[Any]:
    """Return the conditions that must all hold for a policy to match."""
    pst, found = cedar().pst, []
    for clause in policy.tree.clauses:
        is_when = isinstance(clause, pst.When)
        found += list(_split(clause.expr if is_when else pst.UnaryOp("not", clause.expr)))
    return found


def _split(expr: Any) -> Iterator[Any]:
    """Yield the parts of a conjunction, with negations moved inwards."""
    pst = cedar().pst
    if isinstance(expr, pst.UnaryOp) and expr.op == "not":
        inner = expr.arg
        if isinstance(inner, pst.UnaryOp) and inner.op == "not":
            yield from _split(inner.arg)
        elif isinstance(inner, pst.BinaryOp) and inner.op == "or":
            yield from _split(pst.UnaryOp("not", inner.left))
            yield from _split(pst.UnaryOp("not", inner.right))
        elif isinstance(inner, pst.BinaryOp) and inner.op in _OPPOSITE:
            yield pst.BinaryOp(_OPPOSITE[inner.op], inner.left, inner.right)
        else:
            yield expr
    elif isinstance(expr, pst.BinaryOp) and expr.op == "and":
        yield from _split(expr.left)
        yield from _split(expr.right)
    else:
        yield expr


def _why_never(policy: Policy) -> str | None:
    pst, tests = cedar().pst, tests_of(policy)
    literals = (pst.BoolLit, pst.LongLit, pst.StringLit, pst.EntityLit)
    for test in tests:
        if test in (pst.BoolLit(False), pst.UnaryOp("not", pst.BoolLit(True))):
            return "its condition is false"
        if pst.UnaryOp("not", test) in tests:
            return "two of its conditions exclude each other"
    limits: dict[Any, list[tuple[float, float]]] = {}
    equals: dict[Any, set[Any]] = {}
    for test in tests:
        if (found := _limit(test)) is not None:
            limits.setdefault(test.left, []).append(found)
        if isinstance(test, pst.BinaryOp) and test.op == "eq" and isinstance(test.right, literals):
            equals.setdefault(test.left, set()).add(test.right)
    for several in limits.values():
        if max(low for low, _ in several) > min(high for _, high in several):
            return "no number is within its limits"
    if any(len(each) > 1 for each in equals.values()):
        return "one value cannot equal two others"
    return None


def _limit(test: Any) -> tuple[float, float] | None:
    """Return the least and the greatest integer that satisfy a comparison with a number, or
    None."""
    pst = cedar().pst
    if not isinstance(test, pst.BinaryOp) or not isinstance(test.right, pst.LongLit):
        return None
    value, endless = test.right.value, float("inf")
    if test.op in _BELOW:
        return -endless, value - (test.op == "less")
    if test.op in _ABOVE:
        return value + (test.op == "greater"), endless
    return (value, value) if test.op == "eq" else None


def _covers(outer: Policy, inner: Policy) -> bool:
    """Return whether the outer policy is known to match every call that the inner policy
    matches."""
    scopes = all(
        isinstance(wide := getattr(outer.tree, name), cedar().pst.ScopeAny)
        or wide == getattr(inner.tree, name)
        or _is_kind_of(wide, getattr(inner.tree, name))
        for name in ("principal", "action", "resource")
    )
    needed, given = tests_of(outer), tests_of(inner)
    return scopes and all(any(_implies(each, test) for each in given) for test in needed)


def _is_kind_of(wide: Any, narrow: Any) -> bool:
    pst = cedar().pst
    if isinstance(wide, pst.ScopeIs) and isinstance(narrow, pst.ScopeEq):
        return bool(narrow.entity.type == wide.entity_type)
    if isinstance(wide, pst.ActionIn) and isinstance(narrow, pst.ActionEq):
        return narrow.entity in wide.entities
    return isinstance(wide, pst.ScopeIn) and isinstance(narrow, pst.ScopeEq) and (
        narrow.entity == wide.entity
    )  # fmt: skip


def _implies(given: Any, test: Any) -> bool:
    if given == test:
        return True
    inner, outer = _limit(given), _limit(test)
    if inner is None or outer is None or given.left != test.left:
        return False
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _unknown_tests(policies: Policies, policy: Policy) -> Iterator[str]:
    """Yield a description of each `has` test for an argument that none of the policy's tools
    has."""
    known = {name for view in policies.views() if policy in view.policies for name in view.fields}
    if not known:
        return
    for name in dict.fromkeys(_arguments_tested(policy)):
        if name not in known:
            near = did_you_mean(name, known)
            yield f"{policy.place}: {policy.id!a} tests for {name!a}, which no tool has{near}"


def _arguments_tested(policy: Policy) -> Iterable[str]:
    pst, found = cedar().pst, list[str]()

    def change(node: Any) -> Any:
        if isinstance(node, pst.HasAttr):
            base, names = node.base, node.attrs
            if isinstance(base, pst.GetAttr) and base.attr == "arguments":
                found.append(names[0])
            elif isinstance(base, pst.Var) and names[0] == "arguments" and len(names) > 1:
                found.append(names[1])
        return node

    rewritten(policy.tree.clauses, change)
    return found
