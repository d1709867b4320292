"""The requirements of requests that need several approvals, or approvals by people with a role."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from .._approval.people import folded


@attrs.frozen
class Required:
    """The requirements of a guard for the approvers.

    Attributes:
        receiver: the name of the guard.
        roles: the names of roles. Each approver must have at least one of these roles; () means any
            person.
        approvals: the number of different people that must approve the call.
    """

    receiver: str
    roles: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    approvals: int = 1

    def is_open_to(self, roles: Iterable[str]) -> bool:
        """Return whether the approval of a person with these roles counts."""
        return not self.roles or not set(self.roles).isdisjoint(roles)

    def missing(self, approvers: Mapping[str, Iterable[str]]) -> str | None:
        """Describe the approvals that are missing, or return None.

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
    """Return the requirements of each guard for which one approval by any person is not enough."""
    return tuple(
        Required(name, ask.roles, ask.approvals)
        for name, ask in asks
        if needs_people(ask)
    )


def needs_people(ask: Any) -> bool:
    """Return whether one approval by any person is not enough for an `Ask`."""
    return bool(ask.roles) or ask.approvals != 1


def read_required(given: Iterable[Any]) -> tuple[Required, ...]:
    """Return the requirements of a request, which may be JSON data."""
    return tuple(each if isinstance(each, Required) else Required(**each) for each in given)


def missing(
    required: Iterable[Required], approvers: Mapping[str, Iterable[str]]
) -> tuple[str, ...]:
    """Describe the missing approvals of each guard. Return () if no approval is missing."""
    found = (each.missing(approvers) for each in required)
    return tuple(dict.fromkeys(each for each in found if each is not None))


def name_mark(key: bytes, name: str) -> str:
    """Return the keyed hash of a name. The hash does not reveal the name, which may be redacted."""
    return hmac.digest(key, b"name " + folded(name).encode(), "sha256").hex()
