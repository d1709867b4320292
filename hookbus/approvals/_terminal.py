"""The terminal, at which the user of this program answers requests."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

from .. import HookError
from .._external.platform import user_name
from .._ground.locks import Lock
from .._views.tables import printable
from ._memory import Memory
from ._shown import lines_of
from ._words import Approved, Denied, Request

if TYPE_CHECKING:
    from ._inbox import Inbox
    from ._store import Store


class Terminal:
    """Asks on stdout and reads the answer from stdin, one request at a time. Any answer except yes
    is a denial. In a notebook, the question appears below the running cell.
    """

    name = "terminal"

    def __init__(self) -> None:
        self.key = Memory().key
        self._lock = Lock()
        self._last: dict[tuple[str, str], Request] = {}

    def ask(self, request: Request) -> Any:
        """Ask and wait for the answer. The end of the input counts as a denial."""
        return self._answer(request) or Denied("the terminal", "the input has ended")

    def answer_pending(self, inbox: Inbox | Store) -> None:
        """Ask about each pending request of an inbox or a store, and record the answers.

        A request that has been answered elsewhere in the meantime is skipped. If the input
        ends, the remaining requests stay pending.
        """
        for request in inbox.pending():
            answer = self._answer(request)
            if answer is None:
                return
            try:
                inbox.answer(request.id, answer)
            except HookError as error:
                _show(printable(str(error)))

    def _answer(self, request: Request) -> Approved | Denied | None:
        """Return the person's answer, or None at the end of the input."""
        with self._lock:
            last = self._last.get((request.hook, request.receiver))
            _show("\n".join(lines_of(request, last)))
            self._last[request.hook, request.receiver] = request
            try:
                reply = input("yes or no? ")
            except EOFError:
                return None
        if reply.strip().lower() in ("y", "yes"):
            return Approved(user_name())
        return Denied(user_name(), "answered no at the terminal")

    async def ask_async(self, request: Request) -> Any:
        """Ask in a separate thread, so that other tasks keep running."""
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(self.ask(request))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name="hookbus: terminal", daemon=True).start()
        return await asyncio.wrap_future(future)


def _show(text: str) -> None:
    """Print a request in full, and escape characters that the terminal cannot show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


terminal: Final = Terminal()
"""An approver that asks the person at the keyboard: `bus.approver(terminal)`. To answer the pending
requests of an inbox or a store, call `terminal.answer_pending(inbox)`.
"""
