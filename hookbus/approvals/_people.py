"""The people who may approve: their roles, and the proof of a name."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from .. import HookError
from .._ground.errors import did_you_mean
from .._ground.keywords import named_options
from .._ground.platform import account_name
from .._ground.trust import check_trust, read_toml

_KEYS: Final = ("roles", "token", "secret")
_SHORTEST_SECRET: Final = 16
_UNSEEN: Final = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800,
                  0x3164, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}  # fmt: skip
"""Invisible letters and marks below U+E0100. NFKC turns U+FFA0 into one of them."""

_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")


@named_options
@attrs.frozen
class Proof:
    """The name of a person, and how the program that accepts the answer knows that it is theirs.

    `Store.answer(..., proof=...)` takes one. The command line, the page and `Store.answer_signed`
    make their own. If your program signs people in, make one for the person who is signed in. Never
    make one from text that a model, or an unknown client, can write.

    Attributes:
        name: the name of the person.
        way: how the name was proven, such as `"command line"`.
    """

    name: str
    way: str

    @classmethod
    def of_account(cls, way: str = "command line") -> Proof:
        """Return the proof for the operating-system account of this process.

        Raises:
            HookError: if the account has no name.
        """
        name = account_name()
        if name is None:
            raise HookError("the operating-system account of this process has no name")
        return cls(name, way)


@attrs.frozen
class Person:
    """One person in a file or mapping of people.

    Attributes:
        name: the name.
        roles: the names of the roles.
        token: the SHA-256 hash of the token for the page, with the prefix `sha256:`, or None.
        secret: the key that signs answers sent by a webhook, or None.
    """

    name: str
    roles: frozenset[str]
    token: str | None = None
    secret: str | None = attrs.field(default=None, repr=False)


class People:
    """The people of a store. A file is read again for every answer, so that changes apply at once.

    Args:
        source: a TOML file, or a mapping of names to roles.

    Raises:
        HookError: if the file cannot be read, if another user could have written it, or if an
            entry is not valid.
    """

    def __init__(self, source: str | os.PathLike[str] | Mapping[str, Any]) -> None:
        self._source: Any = source
        if isinstance(source, (str, os.PathLike)):
            self._source = Path(source).absolute()
        elif not isinstance(source, Mapping):
            raise HookError(
                f"people={source!r:.60} must be a TOML file or a mapping of names to roles"
            )
        else:
            self._source = dict(source)
        self.read()

    def read(self) -> dict[str, Person]:
        """Return the people by name, as they are now.

        Raises:
            HookError: as the class.
        """
        listed, where = self._source, "people="
        if isinstance(listed, Path):
            file, where = listed, f"{listed}"
            listed, status = read_toml(file)
            check_trust(file, status)
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

    def by_token(self, token: str) -> Person | None:
        """Return the person whose token this is now, or None."""
        given, found = token_hash(token), None
        for person in self.read().values():
            if person.token is not None and hmac.compare_digest(person.token, given):
                found = person
        return found

    def is_signed_by(self, name: str, body: bytes, signature: str) -> bool:
        """Return whether a body has the signature of a person."""
        person = self.read().get(name)
        if person is None or person.secret is None:
            return False
        made = hmac.digest(person.secret.encode(), body, "sha256").hex()
        return hmac.compare_digest(f"sha256={made}".encode(), signature.encode())


def folded(name: str) -> str:
    """Return a name without the differences that a person hardly sees: the case, spaces, and
    invisible characters.
    """
    for _ in range(2):  # an invisible character can hide that others belong together
        seen = "".join(sign for sign in name if not _is_invisible(sign))
        name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    return "".join(sign for sign in name if not _is_invisible(sign))


def _is_invisible(sign: str) -> bool:
    category, number = unicodedata.category(sign), ord(sign)
    return category[0] in "CZ" or number in _UNSEEN or number > 0xE00FF


def token_hash(token: str) -> str:
    """Return the hash of a token, as a file of people contains it."""
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def new_token() -> str:
    """Return a random token. It has 256 bits, so that its plain hash reveals nothing."""
    return secrets.token_urlsafe(32)


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
