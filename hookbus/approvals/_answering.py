"""Who answers for a bus: a function, a desk or a store, and how its answers are read."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from .. import Block, HookError
from ._digest import canonical, covered, digest_of, library
from ._memory import Memory, check_answer, check_seconds
from ._words import Approved, Parked, Pending, Request


def answering(approver: Any, timeout: float | None = None) -> Answering:
    """Return what a bus asks, made of what `bus.approver` is given.

    Raises:
        HookError: if it cannot be asked, or what a request is made with is not installed.
    """
    library()
    if isinstance(approver, type):
        raise HookError(f"give the bus an object: {approver.__name__}(...), not the class itself")
    if timeout is not None:
        check_seconds("timeout", timeout)
    if hasattr(approver, "ask") and hasattr(approver, "ask_async") and hasattr(approver, "key"):
        return Answering(approver, timeout)
    if not callable(approver):
        raise HookError(f"{approver!r:.60} cannot be asked: give a function, a Desk or a Store")
    return Answering(_Function(approver), timeout)


def _home(module: str) -> str:
    """Return what a module is known by: of `__main__`, which each program has, the name that it was
    run by with `-m`, else its file.
    """
    main = sys.modules.get(module) if module == "__main__" else None
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None:
        return str(spec.name)
    return module if file is None else os.path.abspath(file)


class _Function:
    """A function of the request, plain or async."""

    def __init__(self, function: Callable[[Request], Any]) -> None:
        self.name = getattr(function, "__qualname__", type(function).__qualname__)
        self.function, self._memory = function, Memory()
        self.key = self._memory.key
        self.ask_async = self.ask

    def ask(self, request: Request) -> Any:
        waiting = attrs.evolve(request, id=self._memory.waiting(request))
        return self._memory.known(request) or self.function(waiting)

    def noted(self, request: Request, answer: Any) -> Any:
        """Keep what is to be remembered of an answer, and return it."""
        if isinstance(answer, Parked):
            return Parked(answer.id or self._memory.parked(request))
        check_answer(answer, request)
        self._memory.answered(request)
        self._memory.note(request, answer)
        return answer


class Answering:
    """What a bus asks: it makes the request, and reads the answer."""

    def __init__(self, approver: Any, timeout: float | None) -> None:
        self.timeout, self.key = timeout, approver.key
        self.function = getattr(approver, "function", type(approver))
        self.name: str = getattr(approver, "name", type(approver).__name__)
        self.ask, self.ask_async = approver.ask, approver.ask_async
        self._noted = getattr(approver, "noted", lambda request, answer: answer)

    def request(self, facts: Mapping[str, Any]) -> Request:
        """Return the request of a call.

        Raises:
            HookError: where an argument has no canonical JSON.
        """
        hook, asks, of = facts["hook"], facts["asks"], facts["of"]
        receiver = ", ".join(name for name, _ in asks)
        arguments = canonical(covered(hook, facts["arguments"]), "arguments")
        sender = f"{_home(of.__module__)}.{of.__qualname__}"
        details = {name: ask.details for name, ask in asks if ask.details}
        return Request(
            id=secrets.token_hex(8),
            hook=hook,
            sender=facts["sender"],
            receiver=receiver,
            question="\n".join(str(ask.question) for _, ask in asks),
            code=next((ask.code for _, ask in asks if ask.code), None),
            details=asks[0][1].details if len(asks) == 1 else details or None,
            arguments=json.loads(arguments),
            digest=digest_of(self.key, hook, sender, receiver, arguments),
            surrounding=dict(facts["surrounding"]),
            deadline=None if self.timeout is None else time.time() + self.timeout,
        )

    def verdict(self, request: Request, answer: Any) -> Block | tuple[str, Any]:
        """Return the no, or who said yes and the arguments as they edited them.

        Raises:
            HookError: for an answer that is none.
        """
        answer = self._noted(request, answer)
        if isinstance(answer, Parked):
            waiting = answer.id or request.id
            reason = f"{request.question}: waits for a yes, as request {waiting}; try again later"
            return Pending(reason, code="pending", id=waiting)
        check_answer(answer, request)
        if isinstance(answer, Approved):
            return answer.by, answer.arguments
        who = f" by {answer.by}" if answer.by else ""
        return Block(f"{request.question}: denied{who}: {answer.reason}", code="denied")
