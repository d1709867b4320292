"""Part of the story: the arounds, outermost first, and the method inside them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import attrs

from ..exceptions import HookError, chain, late_call_next
from .asking import guard, wrong_return
from .call import Answered, Call, GivenUp, Over
from .cancels import Cancels, is_cancelled_error
from .context import Block, Drop, ReadOnly, Replace
from .drive import DRIVERS, Parts, Step, Story
from .plan import Seat
from .turns import Answer, Turn
from .workers import Deadline


@attrs.frozen
class Reached:
    """What came out of the method, or of an around: a value or an exception, and the outcome that makes of the call."""

    value: Any = None
    error: BaseException | None = None
    outcome: str = "returned"

    @classmethod
    def of_body(cls, answer: Answer) -> Reached:
        if answer.error is None:
            return cls(answer.value)
        is_cancelled = is_cancelled_error(answer.error) or isinstance(answer.error, GeneratorExit)
        return cls(error=answer.error, outcome="cancelled" if is_cancelled else "raised")


@attrs.define(eq=False)
class Onion:
    """What one around has inside: `call_next` starts it, any number of times.

    Attributes:
        depth: which around this is, counted from the outermost.
        kwargs: the arguments it got.
        must_recheck: whether an around further out has patched or repeats.
        answered: this around and those further out.
        inside: the part of the story that goes in further.
        cancels: how often its task was cancelled when it began; where it swallows one more, no body starts.
        view: the arguments as the around sees them.
        last: what the last `call_next` brought.
        streams: the generators that `call_next` gave out.
        times: how often `call_next` was used.
        is_open: whether it still may be.
    """

    call: Call
    seat: Seat
    depth: int
    kwargs: dict[str, Any]
    must_recheck: bool
    answered: Answered
    inside: Callable[..., Generator[Step, Any, Reached]]
    cancels: Cancels = attrs.field(factory=Cancels)
    deadline: Deadline | None = None
    view: ReadOnly = attrs.field(init=False)
    last: Reached | None = None
    streams: list[Any] = attrs.field(factory=list)
    times: int = 0
    is_open: bool = True

    def __attrs_post_init__(self) -> None:
        self.view = ReadOnly(self.kwargs)

    def call_next(self, **patch: Any) -> Any:
        """Run what is inside, with these arguments changed."""
        call = self.call
        self._refuse_if_over()
        kwargs = {**self.kwargs, **patch}
        call.signature.check(kwargs)
        self.times += 1
        call.tell_changes(self.seat, self.kwargs, kwargs)
        inner = self._inside(kwargs, self.must_recheck or bool(patch) or self.times > 1)
        started = DRIVERS[call.hook.colour](Story(inner, _nothing_left), self.deadline)
        if call.hook.is_stream:
            self.streams.append(started)
        return started

    async def call_next_async(self, **patch: Any) -> Any:
        """Do the same, all of it once it is awaited."""
        return await self.call_next(**patch)

    def _refuse_if_over(self) -> None:
        if not self.is_open:
            raise late_call_next()
        if self.call.late is not None:
            raise self.call.late
        if self.call.ending is not None:
            raise self.call.ending
        if self.call.hook.is_async:
            self.cancels.raise_if_came()

    def _inside(self, kwargs: dict[str, Any], must_recheck: bool) -> Parts:
        try:
            self._refuse_if_over()  # a stream may be pulled long after it was made
        except BaseException as error:
            return None, error
        try:
            self.last = yield from self.inside(self.call, self.depth + 1, kwargs, must_recheck, self.answered)
        except Over:
            self.last = Reached(error=self.call.ending)
        return self.last.value, self.last.error

    @property
    def is_inner(self) -> bool:
        """Tell whether an around further out was asked."""
        return len(self.answered) > 1

    def settle(self, answer: Answer) -> Reached:
        """Say what the around's answer makes of the call; a block further in stands, whatever the around did with it."""
        self.is_open = False
        call, last = self.call, self.last
        is_passing = answer.is_cancel and call.hook.is_async and self.is_inner
        if call.ending is not None:
            if not is_passing and not call.has_left:
                self.let_out(answer)
            raise Over
        if call.has_left:
            return Reached(answer.value, answer.error)
        if answer.is_cancel and answer.error is not None:
            if is_passing:  # an around further out may have cancelled its attempt, as `asyncio.timeout` does
                return Reached(error=answer.error, outcome="cancelled")
            call.failed(self.seat, answer.error, is_cancel=True)
        if answer.error is None and isinstance(answer.value, Drop):
            answer = refused(self.seat, answer.value, "the result; Drop is for items")
        if answer.error is None and self.view.tampered:
            answer = Answer(error=HookError(f"{self.seat.receiver.label} wrote to ctx.kwargs; write call_next(name=value)"))
        if answer.error is not None:
            return self._failed(answer.error)
        if isinstance(answer.value, Block):
            call.block(self.seat, answer.value)
        value = answer.value.result if isinstance(answer.value, Replace) else answer.value
        ran = last is not None and last.error is None
        if not ran or (last is not None and value is not last.value):
            call.tell_change(self.seat, "result", last.value if last is not None else None, value)
        return Reached(value, outcome=last.outcome if ran and last is not None else "replaced")

    def let_out(self, answer: Answer) -> None:
        """Let an interrupt or a cancellation out of a call that is blocked; it is this around's failure unless it came by."""
        error = answer.error
        if error is None or error is self.call.ending or not answer.must_go_out:
            return
        if self.last is None or error is not self.last.error:
            self.call.failed(self.seat, error, is_cancel=answer.is_cancel)
        self.call.leave(error, "cancelled" if answer.is_cancel else "raised")

    def _failed(self, error: BaseException) -> Reached:
        inner = self.last.error if self.last is not None else None
        if self.last is not None and (error is inner or _stands_for(error, inner)):
            return self.last
        if inner is not None:
            chain(error, inner)
        self.call.tell_failed(self.seat, error, "raised")
        return Reached(error=error, outcome="cancelled" if isinstance(error, GeneratorExit) else "raised")


def _stands_for(error: BaseException, inner: BaseException | None) -> bool:
    """Tell whether Python itself made an exception of a StopIteration, which no coroutine or generator lets out."""
    return isinstance(error, RuntimeError) and isinstance(inner, (StopIteration, StopAsyncIteration)) and error.__cause__ is inner


def _nothing_left() -> Parts:
    """Of a part that was cut off: the call it belongs to sees to the end."""
    return None, None
    yield


def refused(seat: Seat, value: Any, allowed: str) -> Answer:
    try:
        wrong_return(seat, value, allowed)
    except HookError as error:
        return Answer(error=error)


def begin(
    call: Call, depth: int, kwargs: dict[str, Any], must_recheck: bool, answered: Answered, inside: Callable[..., Any]
) -> tuple[Onion, Turn] | Reached | None:
    """Prepare the turn of around number `depth`: None where it is not asked, `Reached` where it fails at once."""
    seat = call.plan.around[depth]
    onion = Onion(call, seat, depth, kwargs, must_recheck, answered | {seat.receiver.key}, inside)
    offered = {"call_next": onion.call_next_async if call.hook.colour == "async" else onion.call_next}
    try:
        function = call.asked(seat, answered, onion.view, offered)
        if function is None:
            return None
        turn = call.turn(seat, function, onion.view, offered)
    except BaseException as error:  # by the receiver's role, like every failure
        return onion.settle(Answer(error=error))
    onion.deadline = turn.deadline
    return onion, turn


def enter(call: Call, kwargs: dict[str, Any], must_recheck: bool) -> Generator[Step, Any, Reached | None]:
    """Have the guards judge what an around has changed or repeats; return what there is instead where the method may not run."""
    if must_recheck:
        try:
            yield from guard(call, call.plan.pre.guard, kwargs)
        except GivenUp as end:
            return Reached(error=end.error, outcome="cancelled")
    if call.ending is not None:
        raise Over
    if call.late is not None:
        return Reached(error=call.late, outcome="raised")
    call.kwargs = kwargs
    return None


def attempt(
    call: Call, depth: int, kwargs: dict[str, Any], must_recheck: bool, answered: Answered
) -> Generator[Step, Any, Reached]:
    """Go in from around number `depth`: return what came out."""
    if depth == len(call.plan.around):
        instead = yield from enter(call, kwargs, must_recheck)
        return instead or Reached.of_body((yield from call.inside(kwargs)))
    begun = begin(call, depth, kwargs, must_recheck, answered, attempt)
    if begun is None:
        return (yield from attempt(call, depth + 1, kwargs, must_recheck, answered))
    if isinstance(begun, Reached):
        return begun
    onion, turn = begun
    return onion.settle((yield turn))
