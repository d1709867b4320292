"""Reads and rewrites the syntax trees of policies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import attrs

from .library import cedar
from .rules import Policy, Uid, uid_of


@attrs.frozen
class Mentions:
    """The names that policies read from the context of a call.

    Attributes:
        arguments, baggage: the names; None if they read all of them at once.
    """

    arguments: frozenset[str] | None
    baggage: frozenset[str] | None


def mentions_of(policies: Iterable[Policy]) -> Mentions:
    """Return the names that these policies read in their conditions and questions."""
    found: dict[str, set[str] | None] = {"arguments": set(), "baggage": set()}
    for policy in policies:
        for path in _paths(policy.tree.clauses):
            if not path:
                found = {"arguments": None, "baggage": None}
            elif (names := found.get(path[0])) is not None:
                if len(path) == 1:
                    found[path[0]] = None
                else:
                    names.add(path[1])
        names = found["arguments"]
        if names is not None:
            names.update(policy.placeholders())
    arguments, baggage = found["arguments"], found["baggage"]
    return Mentions(
        None if arguments is None else frozenset(arguments),
        None if baggage is None else frozenset(baggage),
    )


def _paths(node: Any) -> Iterator[tuple[str, ...]]:
    """Yield each path of attributes of `context`. The path of the context as a whole is empty."""
    pst = cedar().pst
    if (path := _path_of(node)) is not None:
        yield path
    elif isinstance(node, pst.HasAttr) and (path := _path_of(node.base)) is not None:
        yield (*path, *node.attrs)
    else:
        for each in _inner(node):
            yield from _paths(each)


def _path_of(node: Any) -> tuple[str, ...] | None:
    pst = cedar().pst
    if isinstance(node, pst.GetAttr):
        path = _path_of(node.base)
        return None if path is None else (*path, node.attr)
    return () if isinstance(node, pst.Var) and node.name == "context" else None


def _inner(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        yield from node
    elif isinstance(node, Mapping):
        yield from node.values()
    elif dataclasses.is_dataclass(node) and not isinstance(node, type):
        for field in dataclasses.fields(node):
            yield getattr(node, field.name)


def entities_in(policy: Policy) -> list[Uid]:
    """Return the uids of the entities that a policy names."""
    tree = policy.tree
    parts = (tree.principal, tree.action, tree.resource, *tree.clauses)
    return sorted(map(uid_of, cedar().pst.entity_uids(parts)))


def types_in(policy: Policy) -> set[str]:
    """Return the types of entities that a policy names."""
    pst, found = cedar().pst, {kind for kind, _ in entities_in(policy)}
    stack: list[Any] = [policy.tree.principal, policy.tree.resource, policy.tree.clauses]
    while stack:
        node = stack.pop()
        if isinstance(node, pst.EntityType):
            found.add(str(node))
        else:
            stack += _inner(node)
    return found


def written(tree: Any) -> str:
    """Return the text of a policy."""
    library = cedar()
    whole = library.pst.PolicySet(templates={}, static_policies={tree.id: tree}, template_links=())
    return str(library.PolicySet.from_pst(whole))


def for_resource(tree: Any, resource: Collection[Uid]) -> Any:
    """Return a policy in which all tests of `resource` are decided. Its other tests can then be
    checked against the types of this tool's arguments.

    Args:
        tree: the policy.
        resource: the resource, followed by the groups that contain it.
    """
    clauses = tuple(
        dataclasses.replace(each, expr=_folded(each.expr, resource)) for each in tree.clauses
    )
    return dataclasses.replace(tree, clauses=clauses)


def rewritten(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tree in which `change` has replaced nodes, innermost nodes first."""
    if isinstance(node, tuple):
        return tuple(rewritten(each, change) for each in node)
    if isinstance(node, Mapping):
        make: Any = type(node)
        return make({name: rewritten(each, change) for name, each in node.items()})
    if not dataclasses.is_dataclass(node) or isinstance(node, type):
        return node
    fields = {each.name: getattr(node, each.name) for each in dataclasses.fields(node)}
    new = {name: rewritten(each, change) for name, each in fields.items()}
    changed = any(new[name] is not each for name, each in fields.items())
    return change(dataclasses.replace(node, **new) if changed else node)


def _folded(expr: Any, resource: Collection[Uid]) -> Any:
    pst, own = cedar().pst, next(iter(resource))

    def is_resource(node: Any) -> bool:
        return isinstance(node, pst.Var) and node.name == "resource"

    def change(node: Any) -> Any:
        if isinstance(node, pst.BinaryOp) and node.op in ("eq", "not_eq"):
            several = [node.left, node.right]
            named = [each for each in several if isinstance(each, pst.EntityLit)]
            if any(map(is_resource, several)) and named:
                return pst.BoolLit((uid_of(named[0].value) == own) == (node.op == "eq"))
        if isinstance(node, pst.BinaryOp) and node.op == "in" and is_resource(node.left):
            groups = node.right.elements if isinstance(node.right, pst.Set) else (node.right,)
            if all(isinstance(each, pst.EntityLit) for each in groups):
                return pst.BoolLit(any(uid_of(each.value) in resource for each in groups))
        if isinstance(node, pst.Is) and is_resource(node.base) and node.in_expr is None:
            return pst.BoolLit(str(node.entity_type) == own[0])
        return node

    return rewritten(expr, change)
