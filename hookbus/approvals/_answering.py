"""Adapts the approver of a bus, which is a function, an inbox or a store, and reads its answers."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from .. import Block, HookError
from .._approval.approval import Approval
from .._approval.people import folded
from .._external.platform import account_name
from .._ground.errors import unapproved
from .._ground.plain import plain
from ._digest import canonical, covered, digest_of, library
from ._identity import identity_of
from ._inner import facts_as_approved
from ._memory import Memory, check_answer, check_seconds
from ._redacted import hidden, restored, without
from ._required import name_mark, needs_people, required_by
from ._standing import Exact, patterned
from ._words import Approved, HandedOn, Kept, Parked, Pending, Request

REDACTING_SECONDS: Final = 1.0
"""The time limit for redacting one request. Values that are not redacted by then are not shown."""


def answering(approver: Any, timeout: float | None = None) -> Answering:
    """Create the object that a bus calls from the argument of `bus.approver`.

    Raises:
        HookError: if the approver has the wrong type, or a required package is not installed.
    """
    library()
    if isinstance(approver, type):
        raise HookError(f"pass an instance, {approver.__name__}(...), not the class itself")
    if timeout is not None:
        check_seconds("timeout", timeout)
    if hasattr(approver, "ask") and hasattr(approver, "ask_async") and hasattr(approver, "key"):
        return Answering(approver, timeout)
    if not callable(approver):
        instead = "pass a function, an Inbox or a Store"
        raise HookError(f"{approver!r:.60} is not an approver: {instead}")
    return Answering(_Function(approver), timeout)


class _Function:
    """An approver that is a function of the request, sync or async."""

    def __init__(self, function: Callable[[Request], Any]) -> None:
        self.name = getattr(function, "__qualname__", type(function).__qualname__)
        self.function, self._memory = function, Memory()
        self.key = self._memory.key
        self.ask_async = self.ask

    def ask(self, request: Request) -> Any:
        waiting = attrs.evolve(request, id=self._memory.waiting(request))
        return self._memory.known(request) or self.function(waiting)

    def noted(self, request: Request, answer: Any) -> Any:
        """Update the remembered approvals and pending requests, and return the answer to report."""
        if isinstance(answer, Parked):
            return Parked(answer.id or self._memory.parked(request))
        check_answer(answer, request)
        self._memory.answered(request)
        self._memory.note(request, answer)
        return answer


class Answering:
    """Wraps an approver for the bus: creates its requests and reads its answers."""

    def __init__(self, approver: Any, timeout: float | None) -> None:
        self.timeout, self.key = timeout, approver.key
        self.function = getattr(approver, "function", type(approver))
        self.name: str = getattr(approver, "name", type(approver).__name__)
        self.ask, self.ask_async = approver.ask, approver.ask_async
        self._program: str | None = getattr(approver, "program", None)
        self._bind: tuple[str, ...] | None = getattr(approver, "bind", None)
        self._is_lasting: bool = getattr(approver, "is_lasting", False)
        self._counts_people: bool = getattr(approver, "people", None) is not None
        self._keeps_rules = hasattr(approver, "people")
        self._noted = getattr(approver, "noted", lambda request, answer: answer)

    def approval(self, call: Any) -> Approval:
        """Return the approval of one attempt of a call."""
        return Approval(call)

    def digest(self, facts: Mapping[str, Any]) -> str:
        """Return the digest of a call. The digest covers the unredacted values.

        Raises:
            HookError: if an argument or a bound value cannot be serialized to canonical JSON, or if
                the sender has no identity that lasts as long as the approval.
        """
        hook = facts["hook"]
        asks = [
            [name, str(ask.question), ask.code and str(ask.code), *_people_of(ask)]
            for name, ask in facts["asks"]
        ]
        asker = self._asker(facts)
        arguments = canonical(covered(hook, facts["arguments"]), "arguments")
        try:
            bound = canonical(self._bound(facts), "baggage")
        except HookError as error:
            raise HookError(
                f"{error}; or bind the approval to named baggage, as in Ask(bind=('user',))"
            ) from None
        whose = self._identity(facts)
        named = [hook, self._program, whose, asks, *([asker] if asker else [])]
        return digest_of(self.key, named, bound, arguments)

    def _asker(self, facts: Mapping[str, Any]) -> str:
        """Return the keyed hash of the user who makes a call, or "" if that user may approve it.

        Without a `user` in the baggage, it is the account of this process.

        Raises:
            HookError: if a name is required, but the user has none.
        """
        if not required_by(facts["asks"]):
            return ""
        name = facts["baggage"].get("user", account_name())
        if type(name) is not str or not folded(name):
            raise HookError(
                f"it requires roles or several approvals, and the user {name!r:.40} is not a name: "
                "wrap it in with baggage(user=...), so that this user cannot approve it"
            )
        return name_mark(self.key, name)

    def _identity(self, facts: Mapping[str, Any]) -> list[str]:
        return identity_of(
            facts["of"], facts["hook"], facts["identity"], is_lasting=self._is_lasting,
            program=self._program,
        )  # fmt: skip

    def _scope(self, facts: Mapping[str, Any]) -> str:
        """Return the digest that a standing approval covers. It contains everything that an
        approval covers, except the question and the values of the arguments. The user is always
        included.
        """
        hook = facts["hook"]
        asks = [[name, ask.code and str(ask.code)] for name, ask in facts["asks"]]
        arguments = covered(hook, facts["arguments"])
        rest: dict[str, Any] = {"arguments": sorted(arguments)}
        if hook == "tool_call":
            rest = {name: value for name, value in arguments.items() if name != "arguments"}
        whose = self._identity(facts)
        bound = {"bound": self._bound(facts), "user": facts["baggage"].get("user")}
        try:
            return digest_of(
                self.key, ["rule", hook, self._program, whose, asks],
                canonical(bound, "baggage"), canonical(rest, "arguments"),
            )  # fmt: skip
        except HookError:
            return ""

    def is_inner(self, outer: Any, facts: Mapping[str, Any]) -> bool:
        """Return whether a nested call is the approved call, which another layer has passed on.

        Raises:
            HookError: as in `digest`.
        """
        same = facts_as_approved(outer, facts)
        return same is not None and self.digest(same) == outer.digest

    def request(self, facts: Mapping[str, Any]) -> Request:
        """Return the request of a call, redacted for the approver.

        Raises:
            HookError: as in `digest`; or if the call needs several approvals or a role, but the
                approver cannot distinguish people.
        """
        digest, asks = self.digest(facts), facts["asks"]
        required = required_by(asks)
        if required and not self._counts_people:
            raise HookError(
                f"{required[0].receiver} requires roles or several approvals, which {self.name} "
                "does not support: set bus.approver(approvals.Store(path, people='people.toml'))"
            )
        details = {name: ask.details for name, ask in asks if ask.details}
        sender = facts["sender"]
        if facts["identity"] is not None:
            sender = f"{sender}, with identity {facts['identity'](facts['of'])!r}"
        shown = _shown(facts["redact"], _exactly(facts), {
            "sender": sender,
            "question": "\n".join(str(ask.question) for _, ask in asks),
            "code": next((ask.code for _, ask in asks if ask.code), None),
            "details": asks[0][1].details if len(asks) == 1 else details or None,
            "bound": self._bound(facts),
            "baggage": dict(facts["baggage"]),
        })  # fmt: skip
        made: type[Request] = Request
        if self._keeps_rules:
            made, shown["real"] = Exact, patterned(facts["hook"], _exactly(facts))
        return made(
            id=secrets.token_hex(8),
            hook=facts["hook"],
            receiver=", ".join(name for name, _ in asks),
            digest=digest,
            deadline=None if self.timeout is None else time.time() + self.timeout,
            required=required,
            asker=self._asker(facts),
            scope="" if required else self._scope(facts),
            **shown,
        )

    def _bound(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the baggage that the approval is bound to, for all guards that asked. For guards
        that name no baggage, an approver may choose the names.
        """
        asked = [ask.bind for _, ask in facts["asks"]]
        baggage, binds = facts["baggage"], [self._bind if each is None else each for each in asked]
        if any(bind is None for bind in binds):
            return dict(baggage)
        names = {name for bind in binds for name in bind or ()}
        return {name: baggage.get(name) for name in sorted(names)}

    def verdict(
        self, request: Request, answer: Any, facts: Mapping[str, Any]
    ) -> Block | tuple[str, dict[str, Any], bool, str]:
        """Return a `Block` if the call is denied. Otherwise, return the approver, the arguments
        that the approver edited, whether the call waited for the approval, and the answer for the
        event `Invoked`.

        Raises:
            HookError: if the answer is invalid.
        """
        answer = self._noted(request, answer)
        if isinstance(answer, Parked):
            waiting = answer.id or request.id
            why = f"approval pending (request {waiting}); retry after it is approved"
            reason = unapproved(request.question, why)
            details = {"id": waiting, "question": request.question, "bound": dict(request.bound)}
            return Pending(reason, code="pending", id=waiting, details=details)
        check_answer(answer, request)
        if request.required and isinstance(answer, Approved) and not isinstance(answer, Kept):
            raise HookError("only approvals.Store counts approvals by people with roles")
        if not isinstance(answer, Approved):
            why = f"denied by {answer.by}: {answer.reason}"
            return Block(unapproved(request.question, why), code="denied")
        earlier = answer if isinstance(answer, Kept) else None
        edited: dict[str, Any] = {}
        if answer.arguments is not None:
            shown = request.arguments if earlier is None else earlier.shown
            written = json.loads(canonical(dict(answer.arguments), "arguments"))
            edited = restored(written, shown, _exactly(facts))
        name = "handed on" if isinstance(answer, HandedOn) else "approved"
        return answer.by, edited, earlier is None or earlier.is_waited_for, name


def _people_of(ask: Any) -> list[Any]:
    """Return the requirements of an `Ask` for the digest, or [] if one approval by any person is
    enough."""
    return [[*ask.roles], ask.approvals] if needs_people(ask) else []


def _exactly(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the arguments to approve, in JSON types."""
    arguments = canonical(covered(facts["hook"], facts["arguments"]), "arguments")
    made: dict[str, Any] = json.loads(arguments)
    return made


def _shown(
    redact: Callable[..., dict[str, Any]] | None, arguments: dict[str, Any], more: dict[str, Any]
) -> dict[str, Any]:
    """Return the fields of a request, redacted for the approver.

    A value that is redacted in the arguments is redacted in every other field that quotes it.
    """
    if redact is None:
        return {**more, "arguments": arguments}
    session = more["baggage"].get("session")
    redacted = redact(arguments, session, REDACTING_SECONDS)
    pairs = hidden(arguments, redacted)
    rest = redact({name: plain(value) for name, value in more.items()}, session, REDACTING_SECONDS)
    rest = {name: value if value is None else without(value, pairs) for name, value in rest.items()}
    return {**rest, "arguments": redacted, "question": str(rest["question"])}
