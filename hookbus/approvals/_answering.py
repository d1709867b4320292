"""Who answers for a bus: a function, an inbox or a store, and how its answers are read."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from .. import Block, HookError
from .._plain import plain
from ._digest import canonical, covered, digest_of, library
from ._identity import identity_of
from ._inner import facts_as_approved
from ._memory import Memory, check_answer, check_seconds
from ._redacted import hidden, restored, without
from ._words import Approved, Kept, Parked, Pending, Request

REDACTING_SECONDS: Final = 1.0
"""For so long redactors may look through a request; what they have not got to is not shown."""


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
        raise HookError(f"{approver!r:.60} cannot be asked: give a function, a Inbox or a Store")
    return Answering(_Function(approver), timeout)


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
        self._program: str | None = getattr(approver, "program", None)
        self._is_lasting: bool = getattr(approver, "is_lasting", False)
        self._noted = getattr(approver, "noted", lambda request, answer: answer)

    def digest(self, facts: Mapping[str, Any]) -> str:
        """Return the digest of a call, of its real values.

        Raises:
            HookError: where an argument or what the approval is bound to has no canonical JSON, or
                the sender is not known by anything that lasts as long as the approval.
        """
        hook = facts["hook"]
        asks = [
            [name, str(ask.question), ask.code and str(ask.code)] for name, ask in facts["asks"]
        ]  # fmt: skip
        arguments = canonical(covered(hook, facts["arguments"]), "arguments")
        try:
            bound = canonical(_bound(facts), "baggage")
        except HookError as error:
            raise HookError(
                f"{error}; or name what the approval is for, as Ask(bind=('user',)) does"
            ) from None
        whose = identity_of(
            facts["of"], hook, facts["identity"], is_lasting=self._is_lasting
        )  # fmt: skip
        return digest_of(self.key, [hook, self._program, whose, asks], bound, arguments)

    def is_inner(self, outer: Any, facts: Mapping[str, Any]) -> bool:
        """Tell whether a call inside the body of an approved one is that call, handed on.

        Raises:
            HookError: as `digest`.
        """
        same = facts_as_approved(outer, facts)
        return same is not None and self.digest(same) == outer.digest

    def request(self, facts: Mapping[str, Any]) -> Request:
        """Return the request of a call, as a person may see it.

        Raises:
            HookError: as `digest`.
        """
        digest, asks = self.digest(facts), facts["asks"]
        details = {name: ask.details for name, ask in asks if ask.details}
        sender = facts["sender"]
        if facts["identity"] is not None:
            sender = f"{sender}, which is {facts['identity'](facts['of'])!r}"
        shown = _shown(facts["redact"], _exactly(facts), {
            "sender": sender,
            "question": "\n".join(str(ask.question) for _, ask in asks),
            "code": next((ask.code for _, ask in asks if ask.code), None),
            "details": asks[0][1].details if len(asks) == 1 else details or None,
            "bound": _bound(facts),
            "baggage": dict(facts["baggage"]),
        })  # fmt: skip
        return Request(
            id=secrets.token_hex(8),
            hook=facts["hook"],
            receiver=", ".join(name for name, _ in asks),
            digest=digest,
            deadline=None if self.timeout is None else time.time() + self.timeout,
            **shown,
        )

    def verdict(
        self, request: Request, answer: Any, facts: Mapping[str, Any]
    ) -> Block | tuple[str, dict[str, Any], bool]:
        """Return the denial; or who approved, the arguments that this person changed, and whether
        the call has waited for it.

        Raises:
            HookError: for an answer that is none.
        """
        answer = self._noted(request, answer)
        if isinstance(answer, Parked):
            waiting = answer.id or request.id
            reason = f"{request.question}: waits for a yes, as request {waiting}; try again later"
            told = {"id": waiting, "question": request.question, "bound": dict(request.bound)}
            return Pending(reason, code="pending", id=waiting, details=told)
        check_answer(answer, request)
        if not isinstance(answer, Approved):
            reason = f"{request.question}: denied by {answer.by}: {answer.reason}"
            return Block(reason, code="denied")
        kept = answer if isinstance(answer, Kept) else None
        edited: dict[str, Any] = {}
        if answer.arguments is not None:
            shown = request.arguments if kept is None else kept.shown
            written = json.loads(canonical(dict(answer.arguments), "arguments"))
            edited = restored(written, shown, _exactly(facts))
        return answer.by, edited, kept is None or kept.is_waited_for


def _exactly(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the arguments that are approved, in JSON types."""
    arguments = canonical(covered(facts["hook"], facts["arguments"]), "arguments")
    made: dict[str, Any] = json.loads(arguments)
    return made


def _bound(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the baggage that an approval is for: what any of those who ask binds it to."""
    baggage, binds = facts["baggage"], [ask.bind for _, ask in facts["asks"]]
    if any(bind is None for bind in binds):
        return dict(baggage)
    return {name: baggage.get(name) for name in sorted({name for bind in binds for name in bind})}


def _shown(
    redact: Callable[..., dict[str, Any]] | None, arguments: dict[str, Any], more: dict[str, Any]
) -> dict[str, Any]:
    """Return the fields of a request as a person may see them: what is taken out of the arguments
    is taken out of whatever quotes them, too.
    """
    if redact is None:
        return {**more, "arguments": arguments}
    session = more["baggage"].get("session")
    told = redact(arguments, session, REDACTING_SECONDS)
    pairs = hidden(arguments, told)
    rest = redact({name: plain(value) for name, value in more.items()}, session, REDACTING_SECONDS)
    rest = {name: value if value is None else without(value, pairs) for name, value in rest.items()}
    return {**rest, "arguments": told, "question": str(rest["question"])}
