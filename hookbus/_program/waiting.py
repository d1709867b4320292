"""An approver whose calls wait until a person answers in a store."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import Any, Final

import attrs

from ..approvals import Approved, Denied, Parked, Request, Store
from ..approvals._words import Kept

PAUSE_SECONDS: Final = 0.2


class Waited:
    """A store that makes calls wait for answers. A call continues as soon as its request is
    answered.

    Args:
        store: the store that keeps the requests. Other processes answer them.
        seconds: the number of seconds that a call waits before it is blocked. If the approval
            arrives later, a repeated call is allowed.
    """

    name = Store.name
    program = Store.program
    is_lasting = Store.is_lasting

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds, self.key = store, seconds, store.key
        self.people = store.people

    def ask(self, request: Request) -> Approved | Denied | Parked:
        """Return the answer to a request, or the pending request if no answer arrives in time."""
        last = time.monotonic() + self._seconds
        first = answer = self._store.ask(request)
        while isinstance(answer, Parked) and time.monotonic() < last:
            time.sleep(PAUSE_SECONDS)
            answer = self._store.ask(_again(request))
        return _after(first, answer)

    async def ask_async(self, request: Request) -> Approved | Denied | Parked:
        """Like `ask`, without blocking the event loop."""
        last = time.monotonic() + self._seconds
        first = answer = await self._store.ask_async(request)
        while isinstance(answer, Parked) and time.monotonic() < last:
            await asyncio.sleep(PAUSE_SECONDS)
            answer = await self._store.ask_async(_again(request))
        return _after(first, answer)


def _again(request: Request) -> Request:
    """Return the request with a new id, because an equal call may have used the approval."""
    return attrs.evolve(request, id=secrets.token_hex(8))


def _after(first: Any, answer: Approved | Denied | Parked) -> Approved | Denied | Parked:
    """Return the answer. If the approval arrived while the call waited, mark it so that guards
    check the call again.
    """
    if isinstance(first, Parked) and isinstance(answer, Kept):
        return attrs.evolve(answer, is_waited_for=True)
    return answer
