"""Who answers where a guard of a program asks for a yes: people, at a store, who may be waited for.
"""

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
    """A store whose answers are waited for: who asks goes on when somebody has answered.

    Args:
        store: where requests are kept, and answered by others.
        seconds: how long a call waits; then it is blocked, and passes when it is made again after
            a yes.
    """

    name = Store.name
    is_lasting = Store.is_lasting

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds, self.key = store, seconds, store.key

    def ask(self, request: Request) -> Approved | Denied | Parked:
        """Return the answer to such a call; that it is parked, where nobody answers in time."""
        last = time.monotonic() + self._seconds
        first = answer = self._store.ask(request)
        while isinstance(answer, Parked) and time.monotonic() < last:
            time.sleep(PAUSE_SECONDS)
            answer = self._store.ask(_again(request))
        return _after(first, answer)

    async def ask_async(self, request: Request) -> Approved | Denied | Parked:
        """Likewise in a task, which does not hold the loop up."""
        last = time.monotonic() + self._seconds
        first = answer = await self._store.ask_async(request)
        while isinstance(answer, Parked) and time.monotonic() < last:
            await asyncio.sleep(PAUSE_SECONDS)
            answer = await self._store.ask_async(_again(request))
        return _after(first, answer)


def _again(request: Request) -> Request:
    """Return the request under another id: a like call may have used the yes to this one."""
    return attrs.evolve(request, id=secrets.token_hex(8))


def _after(first: Any, answer: Approved | Denied | Parked) -> Approved | Denied | Parked:
    """Return the answer; of an approval that came while the call waited, guards judge once more."""
    if isinstance(first, Parked) and isinstance(answer, Kept):
        return attrs.evolve(answer, is_waited_for=True)
    return answer
