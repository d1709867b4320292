"""A guard that asks: who asks for a yes, the person's answer, and what it was given for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn, Protocol

import attrs

from .._baggage import current_baggage
from .._connections.wanted import is_awaitable, not_awaited, unwaited
from ..events import Invoked
from ..exceptions import HookError
from .contents import plain_copy
from .context import Call
from .deadline import timed, timed_async, within
from .inner import OWN_CALL, enclosing_attempt, run_inside
from .loop import elsewhere
from .meaning import patched, ruled
from .outcome import block, failed, tell_block
from .plan import Seat, seat_of_guard
from .telling import tell
from .verdicts import Ask, Block

__tracebackhide__: Final = True

class Approver(Protocol):
    """Who answers for a bus, as `hookbus.approvals` makes it of what `bus.approver` is given.

    Attributes:
        name: what events call it.
        function: what was given, for its place.
        timeout: how many seconds the person has; None is no deadline.
        ask: asks in a plain call; `ask_async` in one that is awaited.
    """

    name: str
    function: Any
    timeout: float | None
    ask: Callable[[Any], Any]
    ask_async: Callable[[Any], Any]

    def digest(self, facts: Mapping[str, Any]) -> str:
        """Return what an approval of a call is for; raise HookError for what has none."""
        ...

    def is_inner(self, outer: Approval, facts: Mapping[str, Any]) -> bool:
        """Tell whether a call inside the body of an approved one is that call, handed on."""
        ...

    def request(self, facts: Mapping[str, Any]) -> Any:
        """Return the request of a call, with its `digest`; likewise."""
        ...

    def verdict(
        self, request: Any, answer: Any, facts: Mapping[str, Any]
    ) -> Block | tuple[str, dict[str, Any], bool]:
        """Return the denial; or who approved, the arguments that this person changed, and whether
        the call has waited for it.
        """
        ...


GuardsNow = Callable[[Call, set[Any]], Callable[[tuple[Any, ...]], Any]]
"""Makes what calls the guards that are connected now, but some receivers, and returns the
`Approval` of those that ask; its answer is awaited where the hook is.
"""


def weighed(call: Call, seat: Seat, answer: Any, asking: Approval | None) -> Approval | None:
    """Return what is asked for once this guard has answered; any other answer is ruled on."""
    if not issubclass(type(answer), Ask):
        ruled(call, seat, answer)
    elif seat.receiver.options.shadow:  # in shadow nobody is asked
        tell_block(call, seat, Block(answer.question, code=answer.code, details=answer.details))
    elif _has_question(call, seat, answer.question):
        call.said = "asked"
        asking = asking or Approval(call)
        asking.asks.append((seat, answer))
    return asking


def _has_question(call: Call, seat: Seat, question: Any) -> bool:
    """Tell that an `Ask` says what is to be approved; one that does not is its guard's failure."""
    try:
        if not issubclass(type(question), str) or not question.strip():
            said = "returned an Ask without a question: write in words what is to be approved"
            raise HookError(f"{seat.receiver.name} {said}")
    except Exception as error:  # also of the question itself, which is a stranger's
        failed(call, seat, error)
    return True


class Approval:
    """An approval of one attempt: which guards ask, and for which arguments it was given.

    Attributes:
        asks: the guards that ask, and what; of this round, where the person edits the arguments.
        values: the arguments as the person edited them, until the guards have judged them.
        by: the person who approved.
        facts: what the approver was told of the call, with the arguments that were approved.
        digest: the digest of these facts.
        outer: the approval of the call around this one, where it is for this one, too.
    """

    values: tuple[Any, ...] | None = None
    approver: Approver
    digest = by = ""
    facts: Mapping[str, Any] = MappingProxyType({})
    outer: Approval | None = None

    def __init__(self, call: Call) -> None:
        self.call = call
        self.asks: list[tuple[Seat, Ask]] = []
        self._approved: list[tuple[Seat, Ask]] = []
        self._inner: dict[str, Approval] = {}

    def approve(self, values: tuple[Any, ...], guards_now: GuardsNow) -> None:
        """Ask for an approval of these arguments in a plain call, or block it."""
        unwaited(self.approve_async(values, guards_now))

    async def approve_async(self, values: tuple[Any, ...], guards_now: GuardsNow) -> None:
        """Ask in a call that is awaited; likewise. Of a plain one nothing in it waits.

        While a person thinks the world moves on. So the guards that did not ask are called once
        more, with those that are new; where the person has edited the arguments, the next round
        calls all there were, and this the new ones.
        """
        if self._has_outer(values):
            return
        if self._is_given(values):
            judged = {seat.receiver for seat in self.call.plan.phases["pre"].guard}
        else:
            is_waited_for = await self._ask(values)
            if self.values is not None or not is_waited_for:
                return
            judged = {seat.receiver for seat, _ in self._approved}
        late = guards_now(self.call, judged)(values)
        if self.call.plan.hook.is_async:
            late = await late
        if late is not None:
            seat, ask = late.asks[0]
            reason = f"{ask.question}: not approved, as it came up after the approval of the call"
            block(self.call, seat, Block(reason, code="drift"))

    async def _ask(self, values: tuple[Any, ...]) -> bool:
        """Ask the person; tell whether the call has waited for the approval."""
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
            failed(self.call, seat, error)
            raise  # not reached: who answers for a bus closes

    def check(self, values: tuple[Any, ...]) -> None:
        """Block the call where it is not, right before the method, what was approved."""
        if not self._is_of(values):
            reason = "its arguments, or whose call it is, changed after it was approved"
            block(self.call, self._approved[0][0], Block(reason, code="drift"))

    def cover(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """Return what calls the body, inside which the same call, handed on, is approved."""
        hook = self.call.plan.hook
        return run_inside(self, body, is_async=hook.is_async, is_stream=hook.is_stream)

    @property
    def questions(self) -> list[tuple[str, Ask]]:
        """What was approved: the names of the guards, and what each asked."""
        return _questions([*self._approved, *self.asks])

    def _has_outer(self, values: tuple[Any, ...]) -> bool:
        """Tell whether this is the call that was approved already, handed on by the body that it is
        made in. There is one for each attempt of that body.
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
            return False  # it is refused when it asks
        if not is_inner or outer._inner.setdefault("first", self) is not self:
            return False
        self.approver, self.outer, self.digest = approver, outer, digest
        self._approved, self.asks = self.asks, []
        self._emit_approved(outer.by, began)
        return True

    def _is_given(self, values: tuple[Any, ...]) -> bool:
        """Tell whether all who ask have the person's yes, to the arguments as they edited them."""
        seats = {seat for seat, _ in self._approved}
        is_given = all(seat in seats for seat, _ in self.asks) and self._is_of(values)
        self.values = None
        return is_given

    def _requesting(self, values: tuple[Any, ...]) -> tuple[Seat, Any, dict[str, Any]]:
        """Return the seat of who answers, the request, and the facts it was made of."""
        approver = self.call.plan.hook.bus._approver
        if approver is None:
            seat, ask = self.asks[0]
            nobody = Block(f"{ask.question}: nobody is there to say yes", code=ask.code)
            block(self.call, seat, nobody)
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
        """Return what a call with these arguments is, for whoever answers."""
        call, hook = self.call, self.call.plan.hook
        # What an adapter makes the call with, behind the words of the vocabulary, is none of them.
        not_asked = hook.given.sender, *getattr(hook.body, "__hookbus_carriers__", ())
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
            "redact": events.redacted_values if events.redactors else None,
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
        """Take an approval, edited or not; a denial ends the call. Tell whether it was waited for.
        """
        call, (asking, ask) = self.call, self._approved[0]
        if isinstance(verdict, Block):
            block(call, asking, attrs.evolve(verdict, code=verdict.code or ask.code))
        by, edited, is_waited_for = verdict
        if edited:
            self.check(values)  # what is left as it was is as it was shown
            self.values = patched(call, seat, values, edited)
            self.digest = self._digest(self.values)
        self._emit_approved(by, self._began)
        return bool(is_waited_for)

    def _emit_approved(self, by: str, began: float) -> None:
        self.by, seconds = by, time.perf_counter() - began
        for seat, _ in self._approved:
            tell(
                self.call, Invoked, receiver=seat.receiver.name, role="guard", phase="pre",
                seconds=seconds, answer="approved", by=by,
            )  # fmt: skip

    def _on_own_loop(self, seat: Seat, answer: Any) -> Any:
        if not self.call.plan.hook.given.async_receivers:
            said = "it is async, and the hook is a plain def: write a plain def approver"
            not_awaited(answer, said)
        return elsewhere(seat, lambda: answer)


def _questions(asks: list[tuple[Seat, Ask]]) -> list[tuple[str, Ask]]:
    return [(seat.receiver.name, ask) for seat, ask in asks]


def _seat_of(call: Call, approver: Approver) -> Seat:
    """Return the seat of who answers: it fails as a guard does."""
    signal = call.plan.hook.bus.signal(f"pre_{call.plan.hook.name}")
    options = {"name": approver.name, "timeout": approver.timeout}
    seat = seat_of_guard(signal, approver.ask_async, approver.function, **options)
    seat.receiver.has_fired = True
    return seat
