"""Keeps the data of an approver in this process: its key, remembered approvals, and pending
requests."""

from __future__ import annotations

import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from threading import TIMEOUT_MAX
from typing import Any, Final

from .. import HookError
from .._ground.locks import Lock
from .._ground.numbers import is_number
from ._digest import canonical
from ._redacted import restored
from ._words import Approved, Denied, Kept, Request

MOST: Final = 10_000
"""The maximum number of remembered approvals, and of pending requests. The oldest entries are
dropped, so their calls need a new approval.
"""


class Memory:
    """Remembered approvals and the ids of pending requests, by digest."""

    def __init__(self) -> None:
        self.key = secrets.token_bytes(32)
        self._lock = Lock()
        self._yeses: OrderedDict[str, tuple[float, Approved]] = OrderedDict()
        self._parked: OrderedDict[str, str] = OrderedDict()

    def known(self, request: Request) -> Kept | None:
        """Return the valid remembered approval for a call with this digest, or None."""
        with self._lock:
            until, answer = self._yeses.get(request.digest, (0.0, None))
        if answer is None or until <= time.time():
            return None
        return Kept.of(answer, request.arguments)

    def note(self, request: Request, answer: Any) -> None:
        """Remember an approval for its `remember=` seconds. Using the approval does not extend this
        time."""
        if self.known(request) is not None:
            return
        if isinstance(answer, Approved) and answer.remember is not None:
            with self._lock:
                self._yeses[request.digest] = time.time() + answer.remember, answer
                while len(self._yeses) > MOST:
                    self._yeses.popitem(last=False)

    def parked(self, request: Request) -> str:
        """Return the id of the pending request for this digest. If no request is pending, store
        `request`.
        """
        with self._lock:
            while len(self._parked) >= MOST:
                self._parked.popitem(last=False)
            return self._parked.setdefault(request.digest, request.id)

    def waiting(self, request: Request) -> str:
        """Return the id of the pending request for this digest, or the id of `request` if no
        request is pending."""
        return self._parked.get(request.digest, request.id)

    def answered(self, request: Request) -> None:
        """Forget the pending request for this digest."""
        with self._lock:
            self._parked.pop(request.digest, None)


def check_answer(answer: Any, request: Request) -> None:
    """Check that an object is a valid answer to a request.

    Raises:
        HookError: if the answer is not valid; the message states what to pass instead.
    """
    if isinstance(answer, type) or not isinstance(answer, (Approved, Denied)):
        kind = answer.__name__ if isinstance(answer, type) else type(answer).__name__
        raise HookError(f"{kind} is not a valid answer: pass Approved(by) or Denied(by, reason)")
    if not isinstance(answer.by, str) or not answer.by.strip():
        kind = type(answer).__name__
        raise HookError(f"{kind}(by={answer.by!r:.40}): by= must be the name of the approver")
    if isinstance(answer, Denied):
        if not isinstance(answer.reason, str):
            raise HookError(f"Denied(reason={answer.reason!r:.40}): the reason must be a string")
        return
    if answer.rule is not None:
        raise HookError("rule= needs approvals.Store or a fleet, which count uses: leave it out")
    if answer.remember is not None:
        _check_remember(answer)
    if answer.arguments is not None:
        _check_edited(answer.arguments, request)


def describe_answer(answer: Approved | Denied) -> str:
    """Describe an answer in words."""
    return f"{'approved' if isinstance(answer, Approved) else 'denied'} by {answer.by}"


def check_seconds(name: str, seconds: Any) -> None:
    """Check that an argument is a valid number of seconds.

    Raises:
        HookError: if the argument is not a positive number of at most `TIMEOUT_MAX`.
    """
    if not is_number(seconds) or not 0 < seconds <= TIMEOUT_MAX:
        raise HookError(f"{name}={seconds!r:.40} must be a number of seconds greater than 0")


def _check_remember(answer: Approved) -> None:
    check_seconds("remember", answer.remember)
    if answer.arguments is not None:
        raise HookError("remember= cannot be combined with arguments=: leave one of them out")


def _check_edited(edited: Any, request: Request) -> None:
    if not isinstance(edited, Mapping) or edited.keys() != request.arguments.keys():
        names = ", ".join(request.arguments)
        raise HookError(f"arguments= must contain every argument of the call: {names}")
    written = json.loads(canonical(dict(edited), "arguments"))
    restored(written, request.arguments, request.arguments)  # raises for a misplaced placeholder
