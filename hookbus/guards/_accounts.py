"""Counts calls, tokens and money for limits and budgets, in this process or in a storage that
processes share."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any, Final, Protocol

import attrs

from .. import HookError
from .._ground.locks import Lock

STORAGE_SECONDS: Final = 5.0


class Counts(Protocol):
    """The counts of a fleet. Each method is a single transaction, and raises HookError if the
    transaction fails."""

    def count(self, limit: str, key: str, calls: int, seconds: float) -> bool:
        """Count a call if fewer than `calls` were counted in the last `seconds`."""
        ...

    def reserve(
        self, limit: str, key: str, amount: tuple[int, Decimal],
        most: tuple[int | None, Decimal | None],
    ) -> tuple[str | None, str]:  # fmt: skip
        """Reserve an amount. Return the reservation's id and an empty string, or None and the
        exceeded limit: "tokens" or "money"."""
        ...

    def settle(self, id: str, used: tuple[int, Decimal]) -> None:
        """Replace a reservation by the amount that was used."""
        ...


class Storage(Protocol):
    """A storage of counts, such as a `hookbus.fleet.Fleet`."""

    def __hookbus_counts__(self) -> Counts: ...


def counts_of(storage: Any) -> Counts | None:
    """Return the counts of a fleet, or None for any other storage."""
    made = getattr(type(storage), "__hookbus_counts__", None)
    found: Counts | None = None if made is None else made(storage)
    return found


def digest_of(key: str) -> str:
    """Return the digest under which a session, user or tool is counted, so that the storage does
    not contain its name.
    """
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


@attrs.frozen
class Amount:
    """An amount of tokens and dollars. In a limit, None means unlimited."""

    tokens: Any = 0
    money: Any = Decimal()

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.money + other.money)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.tokens - other.tokens, self.money - other.money)

    def over(self, most: Amount) -> str | None:
        """Describe the limit that this amount exceeds, or return None."""
        if most.tokens is not None and self.tokens > most.tokens:
            return f"{most.tokens} tokens"
        if most.money is not None and self.money > most.money:
            return f"${most.money}"
        return None


@attrs.frozen
class Reserved:
    """A reservation for one attempt of a model call."""

    account: str
    amount: Amount
    model: str | None
    id: str = ""


class LocalAccounts:
    """Accounts for the limits of one guard in this process."""

    def __init__(self, most: Amount) -> None:
        self._most, self._lock = most, Lock()
        self._used: dict[str, Amount] = {}

    def reserve(self, account: str, amount: Amount, model: str | None) -> Reserved | str:
        """Return the reservation, or a description of the limit that it exceeds."""
        with self._lock:
            used = self._used.get(account, Amount())
            if limit := (used + amount).over(self._most):
                return limit
            self._used[account] = used + amount
        return Reserved(account, amount, model)

    def settle(self, reserved: Reserved, used: Amount) -> None:
        """Replace a reservation by the amount that was used."""
        with self._lock:
            self._used[reserved.account] += used - reserved.amount


class SharedAccounts:
    """Accounts in a storage that processes share."""

    def __init__(self, most: Amount, counts: Counts, name: str) -> None:
        self._most, self._counts, self._name = most, counts, name

    def reserve(self, account: str, amount: Amount, model: str | None) -> Reserved | str:
        """Return the reservation, or a description of the limit that it exceeds.

        Raises:
            HookError: if the storage cannot be used.
        """
        most = self._most
        id, limit = self._counts.reserve(
            self._name, digest_of(account), (amount.tokens, amount.money), (most.tokens, most.money)
        )  # fmt: skip
        if id is None:
            return f"{most.tokens} tokens" if limit == "tokens" else f"${most.money}"
        return Reserved(account, amount, model, id)

    def settle(self, reserved: Reserved, used: Amount) -> None:
        """Replace a reservation by the amount that was used.

        Raises:
            HookError: if the storage cannot be used. In this case, the whole reservation remains
                charged.
        """
        self._counts.settle(reserved.id, (used.tokens, used.money))


def check_storage(storage: Any) -> Counts | None:
    """Return the counts of a storage, or None without a storage.

    Raises:
        HookError: if the storage is not a fleet.
    """
    counts = counts_of(storage)
    if counts is None and storage is not None:
        # It may be a URI with a password, so it is not shown.
        raise HookError(f"storage= (a {type(storage).__name__}) must be a hookbus.fleet.Fleet")
    return counts
