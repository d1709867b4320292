"""The approver of the gate, which uses the store of approvals or Claude Code's own prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final

import attrs

from .._program.waiting import Waited
from ..approvals import Approved, Denied, Parked, Request, Store
from ..approvals._words import HandedOn
from ._events import comparable

BOUND: Final = ("agent", "cwd")
"""The baggage to which an approval is bound by default. It does not include the session or the
prompt.
"""


@attrs.define(eq=False)
class HandOver:
    """A call that the agent's own prompt may approve.

    Attributes:
        arguments: the arguments that the agent sent, and that its user sees.
        question: a future that is done when a guard requires approval.
        result: a future that is done when the tool has run, which means that the agent's user
            approved the call.
    """

    arguments: Mapping[str, Any]
    question: asyncio.Future[str]
    result: asyncio.Future[None]

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> HandOver:
        """Create an object whose futures belong to the running loop."""
        loop = asyncio.get_running_loop()
        return cls(arguments, loop.create_future(), loop.create_future())

    def fits(self, request: Request) -> bool:
        """Return whether the agent can ask its user. It can ask only once, and only about the
        arguments that it sent."""
        shown = request.arguments.get("arguments")
        if request.required:  # the agent does not prove the name of its user
            return False
        is_whole = isinstance(shown, dict) and comparable(shown) == comparable(self.arguments)
        return is_whole and not self.question.done()


HAND_OVER: Final[ContextVar[HandOver | None]] = ContextVar("hookbus_gate_hand_over", default=None)
"""The data for handing the current call on to its agent, or None if the agent cannot ask its
user."""

EXTEND: Final[ContextVar[Callable[[float], None] | None]] = ContextVar(
    "hookbus_gate_extend", default=None
)
"""Extends the deadline of the current event by a number of seconds."""


class GateApprover:
    """Asks the agent's user if this is configured and possible, and otherwise the store.

    Args:
        store: the store of approvals, or None.
        wait: the number of seconds that a call waits for an answer in the store.
        key: the key for digests if no store is configured.
    """

    name = Store.name
    is_lasting = True
    bind = BOUND

    def __init__(self, store: Store | None, wait: float, key: bytes) -> None:
        self._store, self._wait = store, wait
        self.key = key if store is None else store.key
        self.people = None if store is None else store.people

    def ask(self, request: Request) -> Approved | Denied | Parked:
        """Return the answer for a sync call, which only a plugin can make."""
        if self._store is None:
            return Denied("hookbus gate", "no store of approvals is configured")
        return self._store.ask(request)

    async def ask_async(self, request: Request) -> Approved | Denied | Parked:
        """Return the answer for a call that the agent makes."""
        hand_over = HAND_OVER.get()
        if hand_over is not None and hand_over.fits(request):
            hand_over.question.set_result(request.question)
            await hand_over.result
            return HandedOn("claude")
        if self._store is None:
            return Denied("hookbus gate", "no store of approvals is configured")
        answer = await self._store.ask_async(request)
        if not isinstance(answer, Parked) or not self._wait:
            return answer
        extend = EXTEND.get()
        if extend is not None:
            extend(self._wait)
        return await Waited(self._store, self._wait).ask_async(request)
