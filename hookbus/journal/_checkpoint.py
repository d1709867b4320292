"""Checkpoints: heads of a hash chain, to be stored outside the journal and optionally signed."""

from __future__ import annotations

import base64
import binascii
from importlib import import_module
from typing import Any, Final, Self

import attrs

from .. import HookError

_MARK: Final = "hookbus-journal-1"
_DROPPED: Final = "hookbus-retained-1"


@attrs.frozen
class Checkpoint:
    """The head of a journal's hash chain at one point in time. Store `str(checkpoint)` where no
    process that can write to the journal can modify it. Pass it to `verify` to detect whether the
    records up to the checkpoint were removed or rewritten.

    Attributes:
        file: the random id of the journal.
        seq: the number of records at that time.
        hash: the hash of the last record, in hexadecimal. It depends on this record and on all
            earlier records.
        signature: an Ed25519 signature in base64, or None.
        is_dropped: whether `retain` returned this checkpoint for dropped records.
    """

    file: str
    seq: int
    hash: str
    signature: str | None = None
    is_dropped: bool = False

    def __str__(self) -> str:
        return self._said() if self.signature is None else f"{self._said()}:{self.signature}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Create a checkpoint from its string.

        Raises:
            HookError: if the string is not a checkpoint.
        """
        mark, *parts = text.strip().split(":") if isinstance(text, str) else [""]
        if mark in (_MARK, _DROPPED) and len(parts) in (3, 4) and parts[1].isdecimal():
            signature = parts[3] if parts[3:] else None
            return cls(parts[0], int(parts[1]), parts[2], signature, mark == _DROPPED)
        raise HookError(f"{text!r:.60} is not a checkpoint: pass str(journal.checkpoint())")

    def signed(self, key: str | bytes) -> Self:
        """Return a copy signed with a private key.

        Raises:
            HookError: if the key is not a private Ed25519 key in PEM format, or if `cryptography`
                is not installed.
        """
        private = _key(key, "load_pem_private_key", "Ed25519PrivateKey", None)
        signature = base64.b64encode(private.sign(self._said().encode())).decode()
        return attrs.evolve(self, signature=signature)

    def is_signed_by(self, key: str | bytes) -> bool:
        """Return whether the signature belongs to this public key.

        Raises:
            HookError: if the key is not a public Ed25519 key in PEM format, or if `cryptography` is
                not installed.
        """
        public = _key(key, "load_pem_public_key", "Ed25519PublicKey")
        wrong = import_module("cryptography.exceptions").InvalidSignature
        try:
            signature = base64.b64decode(self.signature or "", validate=True)
            public.verify(signature, self._said().encode())
        except (wrong, binascii.Error):
            return False
        return True

    def _said(self) -> str:
        mark = _DROPPED if self.is_dropped else _MARK
        return f"{mark}:{self.file}:{self.seq}:{self.hash}"


def check_private_key(key: str | bytes) -> None:
    """Raise HookError if a key cannot sign a checkpoint.

    Raises:
        HookError: if the key is not a private Ed25519 key in PEM format, or if `cryptography` is
            not installed.
    """
    _key(key, "load_pem_private_key", "Ed25519PrivateKey", None)


def _key(pem: str | bytes, load: str, kind: str, *password: None) -> Any:
    try:
        keys = import_module("cryptography.hazmat.primitives.serialization")
        ed25519 = import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
        refused = import_module("cryptography.exceptions").UnsupportedAlgorithm
    except ModuleNotFoundError:
        raise HookError(
            "signed checkpoints need the package cryptography; run: pip install 'hookbus[journal]'"
        ) from None
    wanted = getattr(ed25519, kind)
    try:
        found = getattr(keys, load)(pem.encode() if isinstance(pem, str) else pem, *password)
    except (ValueError, TypeError, refused):
        found = None
    if not isinstance(found, wanted):
        raise HookError(f"key= must be an {kind} in PEM format, without a password")
    return found
