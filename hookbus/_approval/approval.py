"""Get approval for one call, and check that the call does not change after its approval."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn, Protocol

import attrs

from .._callables.parameters import is_awaitable, not_awaited, run_without_waiting
from .._calls.context import Call
from .._calls.emitting import emit
from .._calls.meaning import apply_patch
from .._calls.outcome import block, on_error
from .._calls.plan import Seat, seat_of_guard
from .._calls.ports import refuse
from .._connections.verdicts import Ask, Block
from .._contents.read_only import plain_copy
from .._ground.baggage import current_baggage
from .._ground.errors import unapproved
from .._waiting.deadline import timed, timed_async, within
from .._waiting.loop_thread import run_on_loop_thread
from ..events import Invoked
from ..exceptions import HookError
from .inner import OWN_CALL, enclosing_attempt, run_inside

__tracebackhide__: Final = True


_REQUIRED: Final = ("code", "bind", "roles", "approvals")
"""The attributes of an `Ask` that contain requirements, in contrast to its text."""


class Approver(Protocol):
    """The approver of a bus. `hookbus.approvals` creates it from the argument of `bus.approver`.

    Attributes:
        name: the name of the approver in events.
        function: the original argument, which shows its location.
        timeout: the time limit for the approver in seconds, or None for no limit.
        ask: requests an answer in a sync call. `ask_async` does the same in an async call.
    """

    name: str
    function: Any
    timeout: float | None
    ask: Callable[[Any], Any]
    ask_async: Callable[[Any], Any]

    def approval(self, call: Call) -> Approval:
        """Return the approval of one attempt of a call."""
        ...

    def digest(self, facts: Mapping[str, Any]) -> str:
        """Return the digest of the call to approve. Raise HookError if the call has no digest."""
        ...

    def is_inner(self, outer: Approval, facts: Mapping[str, Any]) -> bool:
        """Return whether a nested call is the approved call, passed on by that call's body."""
        ...

    def request(self, facts: Mapping[str, Any]) -> Any:
        """Return the request for a call, including its `digest`."""
        ...

    def verdict(
        self, request: Any, answer: Any, facts: Mapping[str, Any]
    ) -> Block | tuple[str, dict[str, Any], bool, str]:
        """Return a `Block` for a denial. For an approval, return the approver's name, the edited
        arguments, whether the call waited for the answer, and the `answer` of the event.
        """
        ...


GuardsNow = Callable[[Call, set[Any]], Callable[[tuple[Any, ...]], Any]]
"""Creates a function that calls the currently connected guards, except some receivers. It returns
the `Approval` of the guards that ask, as an awaitable if the hook is async.
"""


class Approval:
    """The approval of one attempt: the guards that require approval, and the approved arguments.

    Attributes:
        asks: the guards that require approval, with their questions. After the approver has edited
            the arguments, it contains only guards of the current round.
        values: the arguments that the approver edited, until the guards have checked them.
        by: the name of the approver.
        facts: the description of the approved call that the approver received.
        digest: the digest of `facts`.
        outer: the approval of the enclosing call, if it also covers this call.
    """

    approver: Approver
    digest = by = ""
    facts: Mapping[str, Any] = MappingProxyType({})
    outer: Approval | None = None
    values: tuple[Any, ...] | None = None

    def __init__(self, call: Call) -> None:
        self.call = call
        self.asks: list[tuple[Seat, Ask]] = []
        self._approved: list[tuple[Seat, Ask]] = []
        self._inner: dict[str, Approval] = {}

    def approve(self, values: tuple[Any, ...], guards_now: GuardsNow) -> None:
        """Get approval for the arguments of a sync call, or block the call."""
        run_without_waiting(self.approve_async(values, guards_now))

    async def approve_async(self, values: tuple[Any, ...], guards_now: GuardsNow) -> None:
        """Get approval for the arguments of a call, or block the call. In a sync call, this
        function never waits.

        Other code may connect guards while the approver decides. Therefore, new guards and guards
        that did not require approval are called afterwards. If the approver edited the arguments,
        this round calls only new guards. The next round calls all guards.
        """
        if self._has_outer(values):
            return
        if self._is_given(values):
            exclude = {seat.receiver for seat in self.call.plan.phases["pre"].guard}
        else:
            is_waited_for = await self._ask(values)
            if self.values is not None or not is_waited_for:
                return
            exclude = {seat.receiver for seat, _ in self._approved}
        late = guards_now(self.call, exclude)(values)
        if self.call.plan.hook.is_async:
            late = await late
        if late is not None:
            seat, ask = late.asks[0]
            why = "not approved, because the guard asked after the call had been approved"
            block(self.call, seat, Block(unapproved(ask.question, why), code="drift"))

    async def _ask(self, values: tuple[Any, ...]) -> bool:
        """Ask the approver. Return whether the call waited for the approval."""
        seat, request, facts = self._requesting(values)
        try:
            ask = self.approver.ask_async
            if not self.call.plan.hook.is_async:
                ask = self.approver.ask
                answer = ask(request) if seat.timeout is None else timed(seat, ask, request)
                if is_awaitable(answer):
                    answer = self._on_own_loop(seat, answer)
            elif seat.timeout is None:
                answer = ask(request)
                answer = await answer if is_awaitable(answer) else answer
            elif seat.receiver.is_async:
                answer = await within(seat, ask(request))
            else:
                answer = await timed_async(seat, ask, request)
            return self._accept(seat, values, self.approver.verdict(request, answer, facts))
        except BaseException as error:
            on_error(self.call, seat, error)
            raise  # not reached: the approver's seat fails closed

    def check(self, values: tuple[Any, ...]) -> None:
        """Block the call if it differs from the approved call. This check runs directly before the
        method.
        """
        if not self._is_of(values):
            reason = "the arguments or the identity of the call changed after it was approved"
            block(self.call, self._approved[0][0], Block(reason, code="drift"))

    def cover(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the body of the approved call. If the body passes the call on, the nested call also
        counts as approved.
        """
        hook = self.call.plan.hook
        return run_inside(self, body, is_async=hook.is_async, is_stream=hook.is_stream)

    @property
    def questions(self) -> list[tuple[str, Ask]]:
        """The approved questions with the names of their guards."""
        return _questions([*self._approved, *self.asks])

    def _has_outer(self, values: tuple[Any, ...]) -> bool:
        """Return whether this call is an approved call that the body of that call passes on. Each
        attempt of the body covers one such call.
        """
        outer, began = enclosing_attempt(), time.perf_counter()
        if outer is None or self._approved or OWN_CALL in self.call.state:
            return False
        approver: Approver = outer.approver
        if approver is not self.call.plan.hook.bus._approver:
            return False
        try:
            facts = {**self._facts(values), "asks": self.questions}
            digest, is_inner = approver.digest(facts), approver.is_inner(outer, facts)
        except HookError:
            return False  # `_ask` rejects the call for the same reason
        if not is_inner or outer._inner.setdefault("first", self) is not self:
            return False
        self.approver, self.outer, self.digest = approver, outer, digest
        self._approved, self.asks = self.asks, []
        self._emit_approved(outer.by, began)
        return True

    def _is_given(self, values: tuple[Any, ...]) -> bool:
        """Return whether the approval covers every guard that requires approval for the edited
        arguments, and all current requirements of each guard.
        """
        is_given = all(
            any(_is_covered(ask, approved) for before, approved in self._approved if before is seat)
            for seat, ask in self.asks
        ) and self._is_of(values)
        self.values = None
        return is_given

    def _requesting(self, values: tuple[Any, ...]) -> tuple[Seat, Any, dict[str, Any]]:
        """Return the approver's seat, the request, and the facts that the request is based on."""
        approver = self.call.plan.hook.bus._approver
        if approver is None:
            refuse(self.call, *self.asks[0])
        self.approver = approver
        self._approved, self.asks = self.asks, []
        try:
            facts = self._facts(values)
            request = self.approver.request(facts)
        except HookError as error:
            self._refuse(error)
        self.digest, self._began = request.digest, time.perf_counter()
        return _seat_of(self.call, approver), request, facts

    def _facts(self, values: tuple[Any, ...]) -> dict[str, Any]:
        """Return the facts about a call with these arguments, for the approver."""
        call, hook = self.call, self.call.plan.hook
        # The objects that an adapter uses to make the call are not arguments of the common hooks.
        not_asked = hook.settings.sender, *getattr(hook.body, "__hookbus_carriers__", ())
        given = zip(call.plan.signature.names, values)
        events = hook.bus.events
        return {
            "hook": hook.name,
            "sender": call.description,
            "of": call.sender,
            "identity": call.plan.site.identity,
            "asks": _questions(self._approved),
            "arguments": {
                name: plain_copy(value, name) for name, value in given if name not in not_asked
            },
            "baggage": current_baggage(),
            "redact": hook.bus._redaction.redacted_values if events.redactors else None,
        }

    def _refuse(self, error: HookError) -> NoReturn:
        """Block a call that cannot be approved."""
        block(self.call, self._approved[0][0], Block(f"this call cannot be approved: {error}"))

    def _digest(self, values: tuple[Any, ...]) -> str:
        self.facts = self._facts(values)
        try:
            return self.approver.digest(self.facts)
        except HookError as error:
            self._refuse(error)

    def _is_of(self, values: tuple[Any, ...]) -> bool:
        return self._digest(values) == self.digest

    def _accept(self, seat: Seat, values: tuple[Any, ...], verdict: Any) -> bool:
        """Apply an approval, or block the call. Return whether the call waited for the answer."""
        call, (asking, ask) = self.call, self._approved[0]
        if isinstance(verdict, Block):
            block(call, asking, attrs.evolve(verdict, code=verdict.code or ask.code))
        by, edited, is_waited_for, answer = verdict
        if edited:
            self.check(values)  # unedited arguments must equal those in the request
            self.values = apply_patch(call, seat, values, edited)
            self.digest = self._digest(self.values)
        self._emit_approved(by, self._began, answer)
        return bool(is_waited_for)

    def _emit_approved(self, by: str, began: float, answer: str = "approved") -> None:
        self.by, seconds = by, time.perf_counter() - began
        for seat, _ in self._approved:
            emit(
                self.call, Invoked, receiver=seat.receiver.name, role="guard", phase="pre",
                seconds=seconds, answer=answer, by=by,
            )  # fmt: skip

    def _on_own_loop(self, seat: Seat, answer: Any) -> Any:
        if not self.call.plan.hook.settings.async_receivers:
            said = "the approver is async, but the hook is a plain def: write a plain def approver"
            not_awaited(answer, said)
        return run_on_loop_thread(seat, lambda: answer)


def _questions(asks: list[tuple[Seat, Ask]]) -> list[tuple[str, Ask]]:
    return [(seat.receiver.name, ask) for seat, ask in asks]


def _is_covered(ask: Ask, approved: Ask) -> bool:
    """Return whether an approval also covers the question that the same guard asks about the edited
    arguments. The text of the question may differ, because it often contains the arguments.
    """
    return all(getattr(ask, name) == getattr(approved, name) for name in _REQUIRED)


def _seat_of(call: Call, approver: Approver) -> Seat:
    """Return the seat of the approver. hookbus handles its failures like failures of a guard."""
    signal = call.plan.hook.bus.signal(f"pre_{call.plan.hook.name}")
    options = {"name": approver.name, "timeout": approver.timeout}
    seat = seat_of_guard(signal, approver.ask_async, approver.function, **options)
    seat.receiver.has_fired = True
    return seat
