"""A desk: calls wait at it, in this process, until somebody answers."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from .. import HookError
from .._keywords import named_options
from .._locks import Lock
from ._memory import Memory, check_answer
from ._words import Approved, Denied, Request


@named_options
class Desk:
    """Where calls wait, in this process, until somebody answers: `bus.approver(Desk())`.

    It may be asked and answered in any thread and any task. Each call waits for an answer of its
    own, the same call made twice at once, too.
    """

    name = "Desk"

    def __init__(self) -> None:
        self._lock = Lock()
        self._memory = Memory()
        self.key = self._memory.key
        self._waiting: dict[str, tuple[Request, Future[Any]]] = {}
        self._new: deque[Request] = deque()
        self._lookers: deque[Future[Request]] = deque()

    def pending(self) -> list[Request]:
        """Return the requests that wait for an answer, the oldest first."""
        with self._lock:
            return [request for request, _ in self._waiting.values()]

    def answer(self, id: str, answer: Approved | Denied) -> None:
        """Answer a request; the first answer is final.

        Raises:
            HookError: for what is no answer, a request that does not wait, or whose time is over.
        """
        with self._lock:
            request, future = self._waiting.get(id, (None, None))
            if request is None or future is None:
                raise HookError(
                    f"no request {id!r:.40} waits at this desk: it was answered, its call has "
                    "ended, or it never was; pending() has those that wait"
                )
            check_answer(answer, request)
            if request.deadline is not None and request.deadline <= time.time():
                raise HookError(f"the time for request {id} is over: its call was blocked")
            del self._waiting[id]
            if not future.set_running_or_notify_cancel():
                raise HookError(f"nobody waits for request {id} any more: its call has ended")
            self._memory.note(request, answer)
            future.set_result(answer)

    async def next(self) -> Request:
        """Wait for the next request that nobody has been given by this."""
        looker: Future[Request] = Future()
        with self._lock:
            while self._new:
                request = self._new.popleft()
                if request.id in self._waiting:
                    return request
            self._lookers.append(looker)
        return await asyncio.wrap_future(looker)

    def ask(self, request: Request) -> Any:
        """Wait for the answer in a plain call, as the bus does."""
        known = self._memory.known(request)
        if known is not None:
            return known
        future = self._put(request)
        left = None if request.deadline is None else max(0.0, request.deadline - time.time())
        try:
            return future.result(left)
        finally:
            self._withdraw(request)

    async def ask_async(self, request: Request) -> Any:
        """Wait for the answer in a task, as the bus does."""
        known = self._memory.known(request)
        if known is not None:
            return known
        future = self._put(request)
        try:
            return await asyncio.wrap_future(future)
        finally:
            self._withdraw(request)

    def _put(self, request: Request) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            self._waiting[request.id] = request, future
            while self._lookers:
                looker = self._lookers.popleft()
                if looker.set_running_or_notify_cancel():
                    looker.set_result(request)
                    return future
            self._new.append(request)
        return future

    def _withdraw(self, request: Request) -> None:
        with self._lock:
            self._waiting.pop(request.id, None)
            with suppress(ValueError):
                self._new.remove(request)
