"""Calls approvers that wait for a disk or a server in a thread."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from .. import HookError
from ._words import Approved, Denied, Parked, Request


class AskedInThread(ABC):
    """An approver whose `ask` is called in a thread, so that it does not block the event loop."""

    @abstractmethod
    def ask(self, request: Request) -> Approved | Denied | Parked:
        """Return the answer for the call, or keep the request until it is answered."""

    async def ask_async(self, request: Request) -> Approved | Denied | Parked:
        """Like `ask`, but without blocking the event loop."""
        answered = await asyncio.to_thread(self._asked, request)
        if isinstance(answered, HookError):
            raise answered  # raised here only, so it is safe to show
        return answered

    def _asked(self, request: Request) -> Approved | Denied | Parked | HookError:
        try:
            return self.ask(request)
        except HookError as error:
            return error
