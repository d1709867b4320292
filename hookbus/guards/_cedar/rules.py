"""A single policy, with its annotations and the calls that its scope covers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from ... import HookError
from ..._ground.errors import did_you_mean
from .library import cedar, in_one_line
from .source import Piece

ANNOTATIONS: Final = ("id", "reason", "ask", "shadow")
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_MOST_SHOWN: Final = 200

Uid = tuple[str, str]
"""The type and the id of an entity."""


class Policy:
    """A policy.

    Attributes:
        id: the policy's `@id`; without one, the name and line of its file.
        effect: `"permit"` or `"forbid"`.
        reason, question: its `@reason` and `@ask`, or None.
        is_shadow: whether the policy has `@shadow`.
        tree: the syntax tree of the policy.
        text: the text of the policy.
        file, line: the location of the policy.
        decided: the number of decisions that the policy has determined.
    """

    def __init__(self, piece: Piece, tree: Any) -> None:
        self.text, self.file, self.line, self.tree = piece.text, piece.file, piece.line, tree
        self.place, self.effect = piece.place, tree.effect
        notes: Mapping[str, str] = tree.annotations
        where = f"{Path(piece.file).name}:{piece.line}" if piece.file else f"line {piece.line}"
        self.id: str = notes.get("id") or where
        self.reason, self.question = notes.get("reason"), notes.get("ask")
        self.is_shadow = "shadow" in notes
        self.decided = 0
        self._check(notes)

    def _check(self, notes: Mapping[str, str]) -> None:
        for name in notes:
            near = did_you_mean(name, ANNOTATIONS)
            if name not in ANNOTATIONS and "did you mean" in near:
                raise HookError(f"{self.place}: @{name} has no meaning here{near}")
        if self.question is None and not self.is_shadow and self._is_unlimited():
            raise HookError(
                f"{self.place}: this {self.effect} matches every call: name a tool, or write "
                "resource is Tool if you mean all tools"
            )
        if self.question is not None:
            if self.effect == "forbid":
                raise HookError(
                    f"{self.place}: @ask has no effect on a forbid, which always blocks: write "
                    "@ask on a permit"
                )
            if not self.question.strip():
                raise HookError(f'{self.place}: @ask needs a question: @ask("pay {{amount}}?")')

    def _is_unlimited(self) -> bool:
        tree, anything = self.tree, cedar().pst.ScopeAny
        scopes = tree.principal, tree.action, tree.resource
        return not tree.clauses and all(isinstance(each, anything) for each in scopes)

    def placeholders(self) -> list[str]:
        """Return the names of the arguments that the policy's question contains."""
        return _PLACEHOLDER.findall(self.question or "")

    def question_for(self, arguments: Mapping[str, Any]) -> str:
        """Return the policy's question about a call with these arguments."""
        return _PLACEHOLDER.sub(lambda found: _shown(arguments.get(found[1])), self.question or "")

    def covers(self, action: Uid, resource: Collection[Uid], kind: str) -> bool:
        """Return whether the policy's scope can match a call.

        Args:
            action: the name of the action.
            resource: the resource, followed by the groups that contain it.
            kind: the type of the resource.
        """
        named = self.actions()
        if named and action not in named:
            return False
        return _matches(self.tree.resource, resource, kind)

    def actions(self) -> list[Uid]:
        """Return the actions that its scope names, or an empty list if it covers all actions."""
        pst, scope = cedar().pst, self.tree.action
        if isinstance(scope, pst.ActionEq):
            return [uid_of(scope.entity)]
        return [uid_of(each) for each in scope.entities] if isinstance(scope, pst.ActionIn) else []

    @property
    def has_action_in(self) -> bool:
        """Whether its scope is `action in`, which also covers the members of groups."""
        return isinstance(self.tree.action, cedar().pst.ActionIn)

    def may_apply_to(self, principal: Collection[Uid]) -> bool:
        """Return whether the policy's scope can match calls of a principal.

        Args:
            principal: the principal, followed by the groups that contain it.
        """
        return _matches(self.tree.principal, principal, next(iter(principal))[0])


def _matches(scope: Any, entity: Collection[Uid], kind: str) -> bool:
    """Return whether a scope matches an entity of this type, given the entity and its groups."""
    pst = cedar().pst
    if isinstance(scope, (pst.ScopeIs, pst.ScopeIsIn)) and str(scope.entity_type) != kind:
        return False
    if isinstance(scope, pst.ScopeEq):
        return uid_of(scope.entity) == next(iter(entity))
    if isinstance(scope, (pst.ScopeIn, pst.ScopeIsIn)):
        return uid_of(scope.entity) in entity
    return True


def uid_of(entity: Any) -> Uid:
    """Return the uid of an entity in a syntax tree."""
    return str(entity.type), entity.id


def parse(pieces: Iterable[Piece]) -> list[Policy]:
    """Parse the policies in these texts.

    Raises:
        HookError: with file and line, for a text that is not a single valid policy, or for a
            duplicate id.
    """
    found: dict[str, Policy] = {}
    for piece in pieces:
        policy, number = Policy(piece, _tree_of(piece)), 1
        while "id" not in policy.tree.annotations and policy.id in found:
            number += 1  # several policies in one line
            policy.id = f"{policy.id.partition(' (')[0]} ({number})"
        other = found.setdefault(policy.id, policy)
        if other is not policy:
            raise HookError(f"{policy.place}: @id({policy.id!r}) is also at {other.place}")
    return list(found.values())


def _tree_of(piece: Piece) -> Any:
    try:
        trees = cedar().policies_to_pst(piece.text)
    except ValueError as error:
        raise HookError(f"{piece.place}: {in_one_line(error)}") from None
    if trees.templates:
        raise HookError(
            f"{piece.place}: a template with ?principal or ?resource is never linked here, so it "
            "would never apply: name the entity"
        )
    if len(trees.static_policies) != 1:
        raise HookError(f"{piece.place}: this is not a single policy")
    return next(iter(trees.static_policies.values()))


def _shown(value: Any) -> str:
    text = value if type(value) is str else "none" if value is None else repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
