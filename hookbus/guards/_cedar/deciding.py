"""Decides calls by checked policies. Each tool has a view with the policies that can match its
calls."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from ... import HookError
from ..._ground.errors import did_you_mean
from .._call import principal_in
from .library import cedar, in_one_line, quoted
from .people import AGENT, HOOK, ROLE, TOOL, Entities
from .rules import Policy, Uid, parse
from .schemas import Schema
from .source import Piece
from .trees import entities_in, types_in
from .types import Field, record_text
from .view import ACTION, Decision, View, problem_with

MOST_VIEWS: Final = 1_000


class Policies:
    """Checked policies with their schema and entities.

    Args:
        pieces: the texts of the policies.
        schema: the types of arguments.
        entities: the entities, with their roles.
        actions: the hooks whose calls the policies decide: names or globs.
        earlier: the policies that these policies replace. All tools that used the earlier policies
            must match the new schema, too.

    Attributes:
        all: the policies, in order.
        decided: a cache of decisions about calls.
        agents: the agents that the entities or the policies name.
        roles: all roles that an entity has or had since the program started.
        roles_of_nobody: the roles in `roles` that no entity has now.

    Raises:
        HookError: with file and line, for an invalid policy.
    """

    def __init__(
        self, pieces: Iterable[Piece], schema: Schema, entities: Entities,
        actions: Collection[str] = (), earlier: Policies | None = None,
    ) -> None:  # fmt: skip
        self.all, self.schema, self.entities = parse(pieces), schema, entities
        self.has_shadow = any(each.is_shadow for each in self.all)
        self.may_ask = any(each.question is not None for each in self.all)
        self.decided: dict[Any, Decision] = {}
        self._views: dict[tuple[str, str, str, str], View] = {}
        self.handle = self._entities_handle()
        self._actions = {
            name for each in self.all for kind, name in entities_in(each) if kind == ACTION
        }
        named = (uid for each in self.all for uid in entities_in(each))
        self.agents = entities.names | {name for kind, name in named if kind == AGENT}
        held = {name for kind, name in known_uids(entities) if kind == ROLE}
        # A role without members is not an error here: otherwise, its last member would keep it.
        self.roles: set[str] = held | (earlier.roles if earlier is not None else set())
        self.roles_of_nobody = self.roles - held
        if schema.handle is None:
            self._check_names()
        else:
            self._check_schema()
        self._check_actions(actions)
        self._check_tools([each for each in actions if each.isidentifier()], earlier)

    def _entities_handle(self) -> Any:
        try:
            return cedar().Entities.from_json_str(
                json.dumps(self.entities.data), self.schema.handle
            )
        except ValueError as error:
            raise HookError(f"entities=: {in_one_line(error)}") from None

    def _check_schema(self) -> None:
        for each in self.all:
            wrong = problem_with(each.text, self.schema.handle)
            raise_if(wrong and f"{each.place}: {wrong}")

    def _check_names(self) -> None:
        known = self.entities.types()
        tools = None if self.schema.is_partial else self.schema.fields
        roles = self.roles
        for policy in self.all:
            for kind in sorted(types_in(policy)):
                if kind not in known and kind != ACTION:
                    near = did_you_mean(kind, [*known, ACTION])
                    raise HookError(f"{policy.place}: no entity has the type {kind!a}{near}")
            for kind, name in entities_in(policy):
                if kind == ROLE and name not in roles:
                    near = did_you_mean(name, roles) if roles else ""
                    raise HookError(
                        f"{policy.place}: no one in entities= or people= has the role {name!a}"
                        f"{near}"
                    )
                if kind == TOOL and tools is not None and name not in tools:
                    near = did_you_mean(name, tools)
                    raise HookError(f"{policy.place}: there is no tool {name!a}{near}")

    def _check_actions(self, hooks: Collection[str]) -> None:
        """Refuse policies of which none covers a call of these hooks.

        Such policies would protect nothing: the calls that they are about belong to a hook that has
        no guard, so they would run. Therefore, it is not enough that each call of `hooks` is
        blocked because no permit matches it.
        """
        named: dict[str, Policy] = {}
        for policy in self.all if hooks else ():
            names = [name for _, name in policy.actions()]
            # Only a Cedar schema can declare groups of actions.
            may_be_group = self.schema.handle is not None and policy.has_action_in
            if not names or may_be_group:
                return
            if any(fnmatchcase(name, each) for name in names for each in hooks):
                return
            for name in names:
                named.setdefault(name, policy)
        for name, policy in named.items():
            near = did_you_mean(name, hooks)
            advice = f"If it is the hook of your calls, pass hook={name!r}, or --hook {name}"
            raise HookError(
                f"{policy.place}: no policy is about the hook {' or '.join(map(repr, hooks))}: the "
                f"first one names Action::{quoted(name)}{near if 'mean' in near else '.'} {advice}"
            )

    def _check_tools(self, actions: Iterable[str], earlier: Policies | None) -> None:
        several = list(actions)
        if self.schema.fields is not None:
            for name, fields in self.schema.fields.items():
                for action in [name] if name in several else several:
                    kind = HOOK if name in several else TOOL
                    raise_if(self.view(action, kind, name, fields).problem)
        elif earlier is not None and self.schema.handle is None:
            for each in list(earlier._views.values()):
                if each.problem is None:
                    raise_if(self.view(each.action, *each.resource, each.fields).problem)

    def view(self, action: str, kind: str, name: str, fields: Mapping[str, Field]) -> View:
        """Return the view of one tool."""
        key = action, kind, name, record_text(fields)
        found = self._views.get(key)
        if found is None:
            if len(self._views) >= MOST_VIEWS:
                self._views.clear()
            found = self._views[key] = View(self, action, (kind, name), fields)
        return found

    def principal_of(self, baggage: Mapping[str, Any]) -> Uid | Decision:
        """Return the principal for this baggage: the user; without a user, the session; otherwise,
        `anonymous`. Return a blocking decision if the session has the name of an agent and the user
        is not set.
        """
        user, session = baggage.get("user"), baggage.get("session")
        if user is None and session is not None and str(session) in self.agents:
            return Decision(
                "block", "the session has the name of a user, but the call has no user: wrap it in "
                "with baggage(user=...)",
            )  # fmt: skip
        return AGENT, principal_in(baggage)

    def views(self) -> list[View]:
        """Return the views of the tools that have been called, or of all tools if the schema
        declares them."""
        return list(self._views.values())

    def schema_for(self, action: str, kind: str, fields: Mapping[str, Field], names: Any) -> str:
        """Return the Cedar schema for one tool.

        Args:
            action: the name of the action.
            kind: the type of the resource.
            fields: the types of the arguments.
            names: the names of the baggage that the policies read.
        """
        others = "".join(
            f"action {quoted(each)};\n" for each in sorted(self._actions) if each != action
        )
        baggage = ", ".join(f"{quoted(each)}?: String" for each in sorted(names))
        return (
            f"{self.entities.declarations()}\n{others}action {quoted(action)} appliesTo "
            f"{{ principal: {AGENT}, resource: {kind}, context: "
            f"{{ arguments: {record_text(fields)}, baggage: {{{baggage}}} }} }};"
        )


def raise_if(problem: str | None) -> None:
    """Raise a problem with the policies, if there is one.

    Raises:
        HookError: with the problem.
    """
    if problem:
        raise HookError(problem)


def known_uids(entities: Entities) -> Iterable[Uid]:
    """Yield the uids of all entities and of the groups that contain them."""
    for each in entities.data:
        uid: Any = each["uid"]
        yield from entities.around((uid["type"], uid["id"]))
