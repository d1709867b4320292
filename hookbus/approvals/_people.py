"""The people who may approve, with their roles, and proofs of their names."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from .. import HookError
from .._approval.people import Person, people_in
from .._external.platform import account_name
from .._external.trust import read_trusted_toml
from .._ground.keywords import named_options


@named_options
@attrs.frozen
class Proof:
    """The name of a person, and how the program that accepts the answer has verified the name.

    Pass a proof to `Store.answer(..., proof=...)`. The command line, the page and
    `Store.answer_signed` create their own proofs. If your program signs people in, create a proof
    for the person who is signed in. Never create a proof from text that a model or an unknown
    client can write.

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


class People:
    """The people of a store. A file is reloaded for every answer, so changes apply immediately.

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
        """Return the current people by name.

        Raises:
            HookError: as for the class.
        """
        listed, where = self._source, "people="
        if isinstance(listed, Path):
            file, where = listed, f"{listed}"
            listed = read_trusted_toml(file)
        return people_in(listed, where)

    def by_token(self, token: str) -> Person | None:
        """Return the person who currently has this token, or None."""
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
        made = signature_of(person.secret.encode(), body)
        return hmac.compare_digest(made.encode(), signature.encode())


def signature_of(secret: bytes, body: bytes) -> str:
    """Return the signature of the body of a webhook."""
    return f"sha256={hmac.digest(secret, body, 'sha256').hex()}"


def token_hash(token: str) -> str:
    """Return the hash of a token in the format of a people file."""
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def new_token() -> str:
    """Return a random token. The token has 256 bits, so its unsalted hash reveals nothing."""
    return secrets.token_urlsafe(32)
