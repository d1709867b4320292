"""The inbox, which holds calls in this process until a person answers their requests."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from .. import HookError
from .._ground.errors import did_you_mean
from .._ground.keywords import named_options
from .._ground.locks import Lock
from ._memory import MOST, Memory, check_answer, describe_answer
from ._words import AlreadyAnswered, Approved, Denied, Request, RequestExpired, UnknownRequest


@named_options
class Inbox:
    """An approver that holds calls in this process until a person answers: `bus.approver(Inbox())`.

    You can call its methods from any thread and any task. Each call waits for its own answer, even
    if the same call is made twice at the same time.
    """

    name = "Inbox"
    program: str | None = None

    def __init__(self) -> None:
        self._lock = Lock()
        self._memory = Memory()
        self.key = self._memory.key
        self._waiting: dict[str, tuple[Request, Future[Any]]] = {}
        self._new: deque[Request] = deque()
        self._lookers: deque[Future[Request]] = deque()
        self._ended: OrderedDict[str, tuple[type[HookError], str]] = OrderedDict()

    def pending(self) -> list[Request]:
        """Return the requests that have no answer yet, oldest first."""
        with self._lock:
            return [request for request, _ in self._waiting.values()]

    def answer(self, id: str, answer: Approved | Denied) -> None:
        """Answer a request. The first answer is final.

        Raises:
            HookError: if the answer is invalid.
            UnknownRequest: if this inbox has no request with that id.
            AlreadyAnswered: if the request already has an answer.
            RequestExpired: if its deadline has passed, or if its call has ended.
        """
        with self._lock:
            request, future = self._waiting.get(id, (None, None))
            if request is None or future is None:
                kind, why = self._ended.get(id, (UnknownRequest, "see pending()"))
                known = did_you_mean(id, self._waiting) if kind is UnknownRequest else ""
                raise kind(f"request {id!r:.40} is not pending in this inbox{known}: {why}")
            check_answer(answer, request)
            if request.deadline is not None and request.deadline <= time.time():
                raise RequestExpired(f"request {id} has expired and its call was blocked")
            del self._waiting[id]
            if not future.set_running_or_notify_cancel():
                self._end(id, RequestExpired, "its call has ended")
                raise RequestExpired(f"request {id} has expired: its call has ended")
            self._end(id, AlreadyAnswered, f"it is already {describe_answer(answer)}")
            self._memory.note(request, answer)
            future.set_result(answer)

    async def next(self) -> Request:
        """Wait for the next request that this method has not returned before."""
        looker: Future[Request] = Future()
        with self._lock:
            while self._new:
                request = self._new.popleft()
                if request.id in self._waiting:
                    return request
            self._lookers.append(looker)
        return await asyncio.wrap_future(looker)

    def ask(self, request: Request) -> Any:
        """Block the calling thread until there is an answer. The bus calls this."""
        known = self._memory.known(request)
        if known is not None:
            return known
        future = self._put(request)
        remaining = None if request.deadline is None else max(0.0, request.deadline - time.time())
        try:
            return future.result(remaining)
        finally:
            self._withdraw(request)

    async def ask_async(self, request: Request) -> Any:
        """Wait in a task until there is an answer. The bus calls this."""
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

    def _end(self, id: str, kind: type[HookError], why: str) -> None:
        """Remember why the latest requests ended, to explain the rejection of late answers."""
        self._ended[id] = kind, why
        while len(self._ended) > MOST:
            self._ended.popitem(last=False)

    def _withdraw(self, request: Request) -> None:
        with self._lock:
            if self._waiting.pop(request.id, None) is not None:
                self._end(request.id, RequestExpired, "it has expired, or its call has ended")
            with suppress(ValueError):
                self._new.remove(request)
