"""Approvals by a framework's own means: if a guard requires approval, the framework pauses the run,
and later resumes the run with the answer.
"""

from __future__ import annotations

import asyncio
import hmac
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import attrs

from hookbus import Bus, HookError

from ._patches import Patches
from ._vocabulary import CALLED, INSIDE

if TYPE_CHECKING:
    from hookbus.approvals import Approved, Denied, Request, Store

class Pause(NamedTuple):
    """How a framework pauses and resumes a run.

    Attributes:
        whose: takes a `ToolCall`, and returns a unique id of the call, which is the same after the
            run is resumed.
        ask: takes the `ToolCall`, the request, and whether the request is new. If the run was
            resumed, the function returns the `Approved` or `Denied`, or an awaitable. It returns
            None if the call does not belong to a run, and otherwise raises the exception that
            pauses the run.
    """

    whose: Callable[[Any], str | None]
    ask: Callable[[Any, Request, bool], Any]


class Instead(Exception):
    """Raised if the framework pauses a run when a tool returns a certain result."""

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        self.result = result


class Pausing:
    """An approver that stores requests for approval, and pauses the run until the request is
    answered.

    Each request belongs to exactly one call, because its digest includes the framework's id of the
    call.
    """

    name = "Store, which pauses the run"
    is_lasting = True

    def __init__(self, store: Store) -> None:
        self.store, self.key, self.adapters = store, store.key, 0
        self.people = store.people

    def ask(self, request: Request) -> Any:
        """Return the answer if the request was already answered; otherwise, pause the run."""
        attempt, bound = self._bound(request)
        answer, said = self.store.ask(bound), None
        if _is_parked(answer) and attempt is not None:
            with _pausing(attempt, answer):
                said = attempt.pause.ask(*_asked(attempt, bound, answer))
        if said is None:
            return answer
        self._note(answer, said)
        return self.store.ask(bound)

    async def ask_async(self, request: Request) -> Any:
        """Like `ask`, but for an async call."""
        attempt, bound = self._bound(request)
        answer, said, is_waited_for = await self.store.ask_async(bound), None, False
        if _is_parked(answer) and attempt is not None:
            with _pausing(attempt, answer):
                found = attempt.pause.ask(*_asked(attempt, bound, answer))
                is_waited_for = inspect.isawaitable(found)
                said = await found if is_waited_for else found
        if said is None:
            return answer
        await asyncio.to_thread(self._note, answer, said)
        last: Any = await self.store.ask_async(bound)
        if is_waited_for and hasattr(last, "is_waited_for"):
            last = attrs.evolve(last, is_waited_for=True)  # guards run once more
        return last

    def _bound(self, request: Request) -> tuple[Any, Request]:
        """Return the attempt that requires approval if its run can be paused, or None, and the
        request for approval."""
        attempt = CALLED.get()
        is_its_own = request.hook == "tool_call" and attempt is not INSIDE.get()
        is_its_own = is_its_own and not request.required  # a framework does not prove names
        if not is_its_own or getattr(attempt, "pause", None) is None:
            return None, request
        found: Any = attempt
        whose = found.pause.whose(found.call)
        digest = hmac.digest(self.key, f"{request.digest} {whose}".encode(), "sha256").hex()
        baggage = {**request.baggage, "call_id": whose}
        return attempt, attrs.evolve(request, digest=digest, baggage=baggage)

    def _note(self, parked: Any, said: Approved | Denied) -> None:
        if self.store.get(parked.id).answer is None:  # the first answer is final
            self.store.answer(parked.id, said)


def _is_parked(answer: Any) -> bool:
    return isinstance(answer, import_module("hookbus.approvals").Parked)


def _asked(attempt: Any, bound: Request, parked: Any) -> tuple[Any, Request, bool]:
    request = attrs.evolve(bound, id=parked.id)
    return attempt.call, request, parked.id == bound.id


@contextmanager
def _pausing(attempt: Any, parked: Any) -> Iterator[None]:
    """Store the exception that pauses the run, so that it can be raised outside the hooked call."""
    try:
        yield
    except HookError:
        raise
    except Exception as paused:
        attempt.paused = parked.id, paused


def shown(request: Request) -> dict[str, Any]:
    """Return a request as JSON types, to show to a person. The answer must contain its `id`."""
    return {
        "id": request.id, "question": request.question, "receiver": request.receiver,
        "tool": request.arguments["name"], "arguments": request.arguments["arguments"],
    }  # fmt: skip


def answered(said: Any, request: Request, *, by: str) -> Approved | Denied | None:
    """Return an answer as `Approved` or `Denied`, or None if it is invalid or belongs to another
    request.

    Args:
        said: `{"id": ..., "approved": True}`, optionally with `by` and edited `arguments`; or
            `{"id": ..., "approved": False, "reason": ...}`.
        request: the request.
        by: the name of the approver if the answer does not contain `by`.
    """
    approvals = import_module("hookbus.approvals")
    if not isinstance(said, Mapping) or said.get("id") != request.id:
        return None
    who = said.get("by", by)
    if said.get("approved") is True:
        edited = said.get("arguments")
        whole = None if edited is None else {**request.arguments, "arguments": edited}
        found: Approved | Denied = approvals.Approved(who, arguments=whole)
    elif said.get("approved") is False:
        found = approvals.Denied(who, said.get("reason", "no"))
    else:
        return None
    return found


_ON: Final[WeakKeyDictionary[Bus, Pausing]] = WeakKeyDictionary()


def approve_by(patches: Patches, bus: Bus, store: Any) -> None:
    """Make a store the approver of a bus, until the last adapter that uses this store is
    uninstalled.

    Raises:
        HookError: if the object is not a store, or another adapter on the bus uses another store.
    """
    if not isinstance(store, import_module("hookbus.approvals").Store):
        raise HookError(f"approver= must be a hookbus.approvals.Store(path), not {store!r:.60}")
    pausing = _ON.get(bus)
    if pausing is None:
        pausing = bus.approver(Pausing(store))
        _ON[bus] = pausing
    elif pausing.store is not store:
        raise HookError("another adapter on this bus has another approver=: pass both one Store")
    pausing.adapters += 1

    def undo() -> None:
        pausing.adapters -= 1
        if not pausing.adapters:
            del _ON[bus]
            bus.approver(None)

    patches.on_restore(undo)
