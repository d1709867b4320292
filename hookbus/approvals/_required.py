"""Requests that need several approvals, or approvals by people with a role."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from .._approval.people import folded


@attrs.frozen
class Required:
    """What one guard requires of the approvers.

    Attributes:
        receiver: the name of the guard.
        roles: the names of roles. Each approver must have one of them; () means any person.
        approvals: the number of different people that must approve the call.
    """

    receiver: str
    roles: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    approvals: int = 1

    def is_open_to(self, roles: Iterable[str]) -> bool:
        """Return whether the approval of a person with these roles counts."""
        return not self.roles or not set(self.roles).isdisjoint(roles)

    def missing(self, approvers: Mapping[str, Iterable[str]]) -> str | None:
        """Return what is missing, as words, or None.

        Args:
            approvers: the people who have approved, with their roles.
        """
        left = self.approvals - sum(map(self.is_open_to, approvers.values()))
        if left <= 0:
            return None
        whose = f" by a person with the role {' or '.join(self.roles)}" if self.roles else ""
        if left > 1 and whose:
            whose = whose.replace("a person", "people", 1)
        return f"{left} {'approval' if left == 1 else 'approvals'}{whose}"


def required_by(asks: Iterable[tuple[str, Any]]) -> tuple[Required, ...]:
    """Return what guards require of the approvers, for each that does not take any one approval."""
    return tuple(
        Required(name, ask.roles, ask.approvals)
        for name, ask in asks
        if ask.roles or ask.approvals != 1
    )


def read_required(given: Iterable[Any]) -> tuple[Required, ...]:
    """Return the requirements of a request, also from JSON."""
    return tuple(each if isinstance(each, Required) else Required(**each) for each in given)


def missing(
    required: Iterable[Required], approvers: Mapping[str, Iterable[str]]
) -> tuple[str, ...]:
    """Return what is missing, as words, one for each guard. () means that nothing is."""
    found = (each.missing(approvers) for each in required)
    return tuple(dict.fromkeys(each for each in found if each is not None))


def name_mark(key: bytes, name: str) -> str:
    """Return the keyed hash of a name. It reveals nothing, so that a redacted name stays so."""
    return hmac.digest(key, b"name " + folded(name).encode(), "sha256").hex()
