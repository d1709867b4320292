"""One call under way: its arguments, what became of it, and what is told of it."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from functools import partial
from typing import Any, Literal, NoReturn

import attrs

from .._connections.callables import is_running
from .._connections.senders import describe
from .._connections.wanted import Asks, Connectable
from .._hooks.hook import Hook, Site
from ..events import HIDDEN, Blocked, Event, Failed, Finished, Mutated, Started
from ..exceptions import HookBlocked, HookError, ReceiverError, chain, late_call_next
from .cancels import is_cancelled_error
from .context import NOTHING, Block, Frame, HookContext, ReadOnly, enclosing_call, end_frame, live_frames, next_call_id
from .plan import Plan, Seat
from .turns import Answer, Turn
from .workers import Deadline, Pair

Action = Literal["isolated", "blocked", "raised"]
Answered = set[tuple[int, ...]]
"""The keys of the receivers that have answered in one round of asking, where one sits in several seats."""


class Over(Exception):
    """The way to `finally`: the call is blocked, or an exception goes out that no receiver may keep. Never leaves the walk."""


class GivenUp(Exception):
    """The way out of an attempt that ends without ending the call: the arounds see the error. Never leaves the walk."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


@attrs.define(eq=False)
class Call:
    """One call of one hookable.

    Attributes:
        kwargs: the arguments as they stand. Never changed in place: who holds an older dict keeps what it saw.
        result: what the method or a receiver gave; None while there is nothing, and where it is withheld.
        error: the exception of the method or an around, while it may still be rescued or goes out.
        outcome: how the call ends, once that is known.
        way_out: the exception the caller gets, if any.
        noted: the exception that the failures of receivers are attached to, as notes.
        verdict: the block, if the call was blocked.
        parting: what the caller of a blocked call gets instead of an exception, or NOTHING.
        sources: the generators a stream is pulled through, outermost first.
        reached: what came out of the method already, where the walk takes over after it; else None.
        has_left: whether the arounds have ended. What one of them has left running, in a task or a thread, does nothing more.
    """

    hook: Hook
    site: Site
    plan: Plan
    sender: Any
    values: tuple[Any, ...]
    kwargs: dict[str, Any] = attrs.field(init=False)
    result: Any = None
    error: BaseException | None = None
    outcome: str | None = None
    way_out: BaseException | None = None
    noted: BaseException | None = None
    verdict: HookBlocked | None = None
    parting: Any = NOTHING
    state: dict[str, Any] = attrs.field(factory=dict)
    reached: Any = None
    sources: list[Any] = attrs.field(factory=list)
    call_id: int = attrs.field(factory=next_call_id)
    began: float = attrs.field(factory=time.perf_counter)
    is_observed: bool = attrs.field(init=False)
    own_frame: Frame | None = None
    receiver_frame: Frame | None = None
    parent_id: int | None = None
    has_left: bool = False

    def __attrs_post_init__(self) -> None:
        is_method = self.site.attribute is not None
        signature = self.hook.function_signature
        self.kwargs = self.signature.bind(signature.after_first(self.values) if is_method else self.values)
        self.is_observed = self.hook.bus.is_observed

    @property
    def signature(self) -> Any:
        return self.hook.function_signature if self.site.attribute is None else self.hook.method_signature

    def body(self, kwargs: Mapping[str, Any]) -> partial[Any]:
        """Return the bare function with these arguments, ready to call."""
        args, keywords = self.signature.spread(kwargs)
        first = self.hook.function_signature.first_of(self.values) if self.site.attribute is not None else ()
        return partial(self.hook.body, *first, *args, **keywords)

    def inside(self, kwargs: dict[str, Any]) -> Generator[Any, Any, Answer]:
        """Do what the arounds are around, with these arguments: run the method."""
        settles = self.plan.awaits
        answer: Answer = yield Turn(self.body(kwargs), "body", frame=self.own_frame, is_receiver=False, settles=settles)
        return answer

    # -- begin and end --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.began = time.perf_counter()
        parent = next(live_frames(), None)
        if self.is_observed:
            self.parent_id = enclosing_call()
            self.receiver_frame = [None, None, parent, self.call_id]
        if self.is_observed or self.site.is_shared:
            call_id = self.call_id if self.is_observed else None
            self.own_frame = [self.sender, self.hook.family(self.site), parent, call_id]
        self.tell(Started, arguments=tuple(self.kwargs), values=self.shown(dict(self.kwargs)))

    def finish(self) -> Pair:
        """Tell the end, and return what the caller gets."""
        for frame in (self.own_frame, self.receiver_frame):
            if frame is not None:
                end_frame(frame)
        value = self.result if self.parting is NOTHING else self.parting
        pair = (None, self.way_out) if self.way_out is not None else (value, None)
        error = self.way_out if self.outcome in ("raised", "cancelled") else None
        seconds = time.perf_counter() - self.began
        self.tell(Finished, outcome=self.outcome, seconds=seconds, error=error, result=self.shown(pair[0]))
        # An exception's traceback leads back here; do not make that a circle.
        self.error = self.way_out = self.verdict = self.noted = None
        return pair

    def leave(self, error: BaseException, outcome: str = "raised") -> NoReturn:
        """End the call with this exception; only `finally` follows."""
        self.result, self.verdict, self.parting = None, None, NOTHING
        self.outcome, self.way_out = outcome, error
        raise Over

    def block(self, seat: Seat, verdict: Block) -> NoReturn:
        """End the call by this verdict; only `finally` follows."""
        receiver = seat.receiver
        receiver.has_blocked = True
        self.tell(Blocked, receiver=receiver.name, reason=verdict.reason, phase=seat.phase)
        self.result, self.error, self.parting = None, None, verdict.result
        self.outcome = "blocked"
        self.verdict = HookBlocked(verdict.reason, receiver.name, self.hook.name)
        self.way_out = self.verdict if verdict.result is NOTHING else None
        raise Over

    @property
    def late(self) -> HookError | None:
        """What an attempt gets to see that goes on after the arounds have ended."""
        return late_call_next() if self.has_left else None

    @property
    def ending(self) -> BaseException | None:
        """What an around gets to see of a call that is over, or None."""
        return self.way_out or self.verdict

    # -- a receiver's turn ----------------------------------------------------------------------------------------------

    def asked(
        self, seat: Seat, answered: Answered, kwargs: Mapping[str, Any], offered: Mapping[str, Any]
    ) -> Connectable | None:
        """Return the receiver if it is its turn; a `when=` that fails raises, as its receiver's failure."""
        receiver = seat.receiver
        function = receiver.function
        if function is None or (receiver.role != "guard" and seat.signal.is_muted):
            return None
        if seat.is_twin and receiver.key in answered:
            return None
        if seat.problem is not None:
            raise HookError(seat.problem)
        if receiver.when is not None and not receiver.when.holds(*self._serve(receiver.when.asks, kwargs, offered)):
            return None
        if receiver.options.once:
            if not receiver.claim():
                return None
            seat.signal.drop(receiver)
        return function

    def turn(self, seat: Seat, function: Connectable, kwargs: Mapping[str, Any], offered: Mapping[str, Any]) -> Turn:
        """Return the call of one receiver. `kwargs` is what its context shows; it may be a draft to write in."""
        receiver = seat.receiver
        args, named = self._serve(receiver.asks, kwargs, offered)
        receiver.has_fired = True
        sender = (self.sender,) if receiver.takes_sender else ()
        return Turn(
            partial(function, *sender, *args, **named),
            deadline=Deadline(seat.timeout) if seat.timeout is not None else None,
            frame=self.receiver_frame, is_async=receiver.is_async, seat=seat,
        )  # fmt: skip

    def _serve(self, asks: Asks, kwargs: Mapping[str, Any], offered: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        extra = dict(offered)
        if "ctx" in asks.names:
            extra["ctx"] = HookContext(
                self.hook.name, self.sender, kwargs, offered.get("result"), offered.get("error"), self.outcome,
                self.call_id, self.state,
            )  # fmt: skip
        return asks.serve(kwargs, extra)

    def read(self, seat: Seat, answer: Answer, view: Mapping[str, Any]) -> Any:
        """Return what a receiver answered; raise if it wrote where it may only read."""
        if isinstance(view, ReadOnly) and view.tampered:
            raise HookError(f"{seat.receiver.label} wrote to ctx.kwargs, which only a modifier of `pre` may do")
        return answer.value

    # -- failure is an event --------------------------------------------------------------------------------------------

    def failed(self, seat: Seat, error: BaseException, *, is_cancel: bool = False) -> None:
        """Do what a receiver's failure does: nothing more, or end the call by raising Over."""
        receiver = seat.receiver
        if is_cancel:
            self._leave_from_error(error, "cancelled")
        is_fatal = not isinstance(error, Exception) and not is_cancelled_error(error)
        if is_fatal:
            self.tell_failed(seat, error, "raised")
            self._leave_from_error(error, "cancelled" if isinstance(error, GeneratorExit) else "raised")
        if seat.phase in ("error", "finally") or receiver.on_error == "isolate":
            self.tell_failed(seat, error, "isolated")
            self._note(seat, error)
        elif receiver.on_error == "block":
            self.tell_failed(seat, error, "blocked")
            self.block(seat, Block(f"{receiver.role} failed: {type(error).__name__}"))
        else:
            self.tell_failed(seat, error, "raised")
            raised = ReceiverError(receiver.name, self.hook.name, seat.phase)
            raised.__cause__ = error
            self.leave(raised)

    def _note(self, seat: Seat, error: BaseException) -> None:
        """Attach a failure to the exception on its way out; never to a verdict, and never the text: a model may read both."""
        noted = self.noted or self.way_out
        if noted is not None and noted is not self.verdict:
            where = f"{seat.receiver.label} failed in {seat.phase}_{self.hook.name}"
            noted.add_note(f"hookbus: {where}: {type(error).__name__}")

    def _leave_from_error(self, error: BaseException, outcome: str) -> NoReturn:
        if self.error is not None:
            chain(error, self.error)
        self.leave(error, outcome)

    # -- events ---------------------------------------------------------------------------------------------------------

    def tell(self, kind: type[Event], **facts: Any) -> None:
        if self.is_observed:
            self.hook.bus.events.tell(self.hook.bus, kind(
                call_id=self.call_id, parent_id=self.parent_id, hook=self.hook.name, sender=describe(self.sender),
                at=time.time(), **facts,
            ))  # fmt: skip

    def tell_failed(self, seat: Seat, error: BaseException, action: Action) -> None:
        if isinstance(error, RecursionError) and seat.phase != "around" and is_running(seat.receiver.function):
            error = _endless(seat, error)
        seat.receiver.count_failure(error, is_open=action == "isolated")
        self.tell(Failed, receiver=seat.receiver.name, role=seat.receiver.role, phase=seat.phase, exception=error, action=action)

    def tell_changes(self, seat: Seat, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        for name, value in after.items():
            if value is not before[name]:
                self.tell_change(seat, name, before[name], value)

    def tell_change(self, seat: Seat, name: str, before: Any, after: Any) -> None:
        self.tell(Mutated, receiver=seat.receiver.name, name=name, before=self.shown(before), after=self.shown(after))

    def shown(self, value: Any) -> Any:
        return value if self.hook.bus.values else HIDDEN


def _endless(seat: Seat, error: RecursionError) -> HookError:
    """Return what the failure really is of a receiver whose turn made the call that asked it again, and so on."""
    receiver, hook = seat.receiver, seat.signal.hook
    endless = HookError(f"{receiver.label} calls {hook} in its own turn, which asks it again, without end; end it by a condition")
    endless.__cause__ = error
    return endless.with_traceback(error.__traceback__)
