"""Reads Cedar entities and their roles from a file or a mapping of names to roles."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ... import HookError
from ..._approval.people import people_in
from ..._external.trust import read_trusted, read_trusted_toml
from .library import quoted
from .rules import Uid

AGENT, ROLE, TOOL, HOOK = "Agent", "Role", "Tool", "Hook"
OWN_TYPES = (AGENT, ROLE, TOOL, HOOK)


class Entities:
    """The entities of a policy.

    Args:
        given: a list of Cedar entities, a mapping of names to roles, or a JSON file with either.
        people: a mapping of names to roles, or a TOML file.
        earlier: the entities that these entities replace. Their types remain known.

    Attributes:
        data: the entities in Cedar's format.
        names: the ids of all agents among the entities, in their groups, and in their attributes.

    Raises:
        HookError: if a file cannot be read or is malformed.
    """

    def __init__(
        self, given: Any = None, people: Any = None, earlier: Entities | None = None
    ) -> None:
        self._types_before = earlier.types() if earlier is not None else {}
        self._parents: dict[Uid, set[Uid]] = {}
        self._attributes: dict[Uid, Mapping[str, Any]] = {}
        file = path_of_entities(given)
        found, where = (given, "entities=") if file is None else (_read_json(file), f"{file}")
        if isinstance(found, Mapping):
            self._add_people(found, where)
        elif isinstance(found, (list, tuple)):
            for each in found:
                self._add(each, where)
        elif found is not None:
            raise HookError(
                f"{where} must be a mapping of names to roles, or a list of Cedar entities"
            )
        if people is not None:
            listed, where = people, "people="
            if (file := path_of_entities(people)) is not None:
                listed, where = read_trusted_toml(file), f"{file}"
            self._add_people(listed, where)
        used = {*self._parents, *(each for several in self._parents.values() for each in several)}
        used.update(uid for each in self._attributes.values() for uid in _uids_in(each))
        self.names = frozenset(name for kind, name in used if kind == AGENT)
        self.data = [
            {"uid": _json(uid), "attrs": self._attributes.get(uid, {}),
             "parents": [_json(each) for each in sorted(parents)]}
            for uid, parents in self._parents.items()
        ]  # fmt: skip

    def around(self, uid: Uid) -> list[Uid]:
        """Return an entity and all groups that contain it."""
        found = [uid]
        for each in found:
            found += [up for up in sorted(self._parents.get(each, ())) if up not in found]
        return found

    def types(self) -> dict[str, set[str]]:
        """Return the types of entities. Each type has the types of groups that may contain such
        entities."""
        found: dict[str, set[str]] = {each: set() for each in OWN_TYPES}
        found[AGENT].add(ROLE)
        for kind, ups in self._types_before.items():
            found.setdefault(kind, set()).update(ups)
        for (kind, _), parents in self._parents.items():
            found.setdefault(kind, set()).update(up for up, _ in parents)
            for up, _ in parents:
                found.setdefault(up, set())
        return found

    def declarations(self) -> str:
        """Return the declarations of the entity types for a Cedar schema."""
        lines = []
        for kind, ups in self.types().items():
            within = f" in [{', '.join(sorted(ups))}]" if ups else ""
            lines.append(f"entity {kind}{within}{self._record_of(kind)};")
        return "\n".join(lines)

    def _record_of(self, kind: str) -> str:
        several = [self._attributes.get(uid, {}) for uid in self._parents if uid[0] == kind]
        kinds: dict[str, str] = {}
        for attributes in several:
            for name, value in attributes.items():
                written = _type_of(value, f"{kind}.{name}")
                if kinds.setdefault(name, written) != written:
                    raise HookError(f"the entities have two types for the attribute {kind}.{name}")
        fields = [
            f"{quoted(name)}{'' if all(name in each for each in several) else '?'}: {written}"
            for name, written in kinds.items()
        ]
        return f" {{{', '.join(fields)}}}" if fields else ""

    def _add_people(self, people: Any, where: str) -> None:
        if not isinstance(people, Mapping):
            raise HookError(f"{where} must be a mapping of names to roles")
        for name, person in people_in(people, where).items():
            roles = ((ROLE, each) for each in person.roles)
            self._parents.setdefault((AGENT, name), set()).update(roles)

    def _add(self, entity: Any, where: str) -> None:
        try:
            uid, parents = _uid(entity["uid"]), [_uid(each) for each in entity.get("parents", ())]
            attributes = dict(entity.get("attrs", {}))
            list(_uids_in(attributes))  # each reference must have the form of Cedar, too
        except (TypeError, KeyError, AttributeError, ValueError):
            raise HookError(
                f"{where} has an entity that is not in Cedar's JSON format: "
                '{"uid": {"type": "Tool", "id": "pay"}, "attrs": {}, "parents": []}'
            ) from None
        if uid in self._attributes:
            raise HookError(f"{where} has the entity {uid[0]}::{quoted(uid[1])} twice")
        self._parents.setdefault(uid, set()).update(parents)
        self._attributes[uid] = attributes


def path_of_entities(given: Any) -> Path | None:
    """Return the path of a file of entities or people, or None if they are passed directly."""
    return Path(given) if isinstance(given, (str, os.PathLike)) else None


def _uid(given: Any) -> Uid:
    inner = given.get("__entity", given)
    return str(inner["type"]), str(inner["id"])


def _uids_in(value: Any) -> Iterator[Uid]:
    """Yield the entities to which an attribute refers."""
    if isinstance(value, Mapping) and "__entity" in value:
        yield _uid(value)
    elif isinstance(value, (Mapping, list)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _uids_in(each)


def _json(uid: Uid) -> dict[str, str]:
    return {"type": uid[0], "id": uid[1]}


def _type_of(value: Any, where: str) -> str:
    if isinstance(value, bool):
        return "Bool"
    if isinstance(value, int):
        return "Long"
    if isinstance(value, str):
        return "String"
    if isinstance(value, list):
        kinds = {_type_of(each, where) for each in value}
        if len(kinds) <= 1:
            return f"Set<{kinds.pop() if kinds else 'String'}>"
    if isinstance(value, Mapping):
        if "__entity" in value:
            return _uid(value)[0]
        if "__extn" in value:
            named = str(value["__extn"].get("fn"))
            return "ipaddr" if named == "ip" else named
        fields = [f"{quoted(k)}: {_type_of(v, where)}" for k, v in value.items()]
        return f"{{{', '.join(fields)}}}"
    raise HookError(f"the attribute {where} has a value that Cedar has no type for")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_trusted(path))
    except ValueError as error:
        raise HookError(f"{path} is not valid JSON: {error}") from None
