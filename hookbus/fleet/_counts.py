"""Count calls and amounts for the limits and budgets of a fleet, on its server."""

from __future__ import annotations

import secrets
from decimal import Decimal

from ._connecting import Server


class Counts:
    """The counts of one fleet. Each method runs in its own transaction.

    Args:
        server: the server of the fleet.
    """

    def __init__(self, server: Server) -> None:
        self._server = server

    def count(self, limit: str, key: str, calls: int, seconds: float) -> bool:
        """Count a call and return True, if fewer than `calls` were counted in the last `seconds`.
        """
        return bool(self._server.call("count_call", limit, key, calls, float(seconds))[0][0])

    def reserve(
        self, limit: str, key: str, amount: tuple[int, Decimal],
        most: tuple[int | None, Decimal | None],
    ) -> tuple[str | None, str]:  # fmt: skip
        """Reserve an amount, and return the id of the reservation and an empty string. If a limit
        is exceeded, return None and the name of the limit, "tokens" or "money".
        """
        id = secrets.token_hex(16)
        exceeded = self._server.call("reserve", id, limit, key, *amount, *most)[0][0]
        return (id, "") if exceeded is None else (None, str(exceeded))

    def settle(self, id: str, used: tuple[int, Decimal]) -> None:
        """Replace a reservation with the amount that was used."""
        self._server.call("settle", id, *used)
