"""Read the entries of a file or mapping of people: names, roles, tokens and secrets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from .._ground.errors import did_you_mean
from ..exceptions import HookError

_KEYS: Final = ("roles", "token", "secret")
_SHORTEST_SECRET: Final = 16
_UNSEEN: Final = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800,
                  0x3164, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}  # fmt: skip
"""Invisible letters and marks below U+E0100. NFKC converts U+FFA0 to one of these characters."""

_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")


@attrs.frozen
class Person:
    """One person in a file or mapping of people.

    Attributes:
        name: the name of the person.
        roles: the names of the roles.
        token: the SHA-256 hash of the person's token for the page, with the prefix `sha256:`, or
            None.
        secret: the key that signs answers through a webhook, or None.
    """

    name: str
    roles: frozenset[str]
    token: str | None = None
    secret: str | None = attrs.field(default=None, repr=False)


def people_in(listed: Mapping[Any, Any], where: str) -> dict[str, Person]:
    """Read a mapping from names to roles, and return the people by name.

    Args:
        listed: the mapping.
        where: the file or option that contains the mapping, for messages.

    Raises:
        HookError: if an entry is not valid, if two names look alike, or if two people have the same
            token.
    """
    found: dict[str, Person] = {}
    alike: dict[str, str] = {}
    for name, given in listed.items():
        found[name] = _person(name, given, where)
        before = alike.setdefault(folded(name), name)
        if before != name:
            raise HookError(
                f"{where}: the names {before!a} and {name!a} look alike: rename one of them"
            )
    tokens = [person.token for person in found.values() if person.token is not None]
    if len(tokens) != len(set(tokens)):
        raise HookError(f"{where}: two people have the same token: run hookbus approvals token")
    return found


def folded(name: str) -> str:
    """Normalize a name by removing differences in case, spaces and invisible characters, which
    people hardly notice.
    """
    for _ in range(2):  # an invisible character can hide that others belong together
        seen = "".join(sign for sign in name if not _is_invisible(sign))
        name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    return "".join(sign for sign in name if not _is_invisible(sign))


def _is_invisible(sign: str) -> bool:
    category, number = unicodedata.category(sign), ord(sign)
    return category[0] in "CZ" or number in _UNSEEN or number > 0xE00FF


def _person(name: Any, given: Any, where: str) -> Person:
    if not isinstance(name, str) or not folded(name) or not name.isprintable() or "," in name:
        raise HookError(f"{where}: {name!a:.60} is not a name: write a printable one without ','")
    fields = given if isinstance(given, Mapping) else {"roles": given}
    for key in fields:
        if key not in _KEYS:
            raise HookError(
                f"{where}: {name!a} has an unknown key {key!r:.40}{did_you_mean(str(key), _KEYS)}"
            )
    roles = fields.get("roles", ())
    is_several = isinstance(roles, Iterable) and not isinstance(roles, (str, Mapping))
    listed: list[Any] = list(roles) if is_several else [None]
    if not all(isinstance(role, str) and role.strip() for role in listed):
        raise HookError(f"{where}: {name!a} needs a list of roles, such as ['finance']")
    token, secret = fields.get("token"), fields.get("secret")
    if token is not None and not (isinstance(token, str) and _HASH.fullmatch(token)):
        raise HookError(
            f"{where}: the token of {name!a} must be a hash: run hookbus approvals token and copy "
            "the line that it prints"
        )
    if secret is not None and not (isinstance(secret, str) and len(secret) >= _SHORTEST_SECRET):
        raise HookError(
            f"{where}: the secret of {name!a} must be a random string of at least "
            f"{_SHORTEST_SECRET} characters"
        )
    return Person(name, frozenset(listed), token, secret)
