"""The arounds of a compiled call from the moment that something unusual happens: they end as they do in the walk."""

from __future__ import annotations

from typing import Any, Final

import attrs

from .around import Onion, Reached, attempt
from .call import Call, Over
from .cancels import Cancels, is_running
from .context import ReadOnly
from .turns import Answer, Turn, cancellation, do, do_async
from .workers import unpair

BEGUN: Final = 1
"""Where generated code is inside an around: `call_next` was used; 2, it came back; 3, with what replaces the method's result."""

ENDED: Final = 4
"""Added to that when the around has ended."""


@attrs.frozen(eq=False)
class AsItWent:
    """A turn that generated code took: called again, it goes as it went.

    Attributes:
        answer: what was answered, if anything was.
        error: what was raised instead, or None.
        cancels: how often the task had been cancelled before.
    """

    answer: Any = None
    error: BaseException | None = None
    cancels: int = 0

    def __call__(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.answer

    async def awaited(self) -> Any:
        """Go as an awaited turn went, which may have swallowed a cancellation."""
        if Cancels.since(self.cancels).came():
            raise await cancellation(self.error)
        return self()


class Detour:
    """What is needed of the walk to end arounds that generated code began.

    Args:
        call: the call they are part of; it is given up to the walk from here on.
        cancels: how often the task had been cancelled when they began.
        task: that task, or what counts for it; None where nobody is awaited.
    """

    def __init__(self, call: Call, cancels: int, task: Any) -> None:
        self.call = call
        call.start()
        self._kwargs, self._cancels, self._task = call.kwargs, cancels, task
        self._onions: dict[int, Onion] = {}
        self._inside: dict[int, Reached] = {}

    def again(self, depth: int, ran: int, view: Any, patch: dict[str, Any]) -> Any:
        """Do what `call_next(**patch)` of around number `depth` does."""
        return self._onion(depth, ran, view).call_next(**patch)

    def came_out(self, depth: int, value: Any, error: BaseException | None = None) -> None:
        """Note what the method inside around number `depth` gave, or raised; that is no failure of the arounds it passes."""
        self._note(depth + 1, Reached.of_body(Answer(value, error)))

    def settle(self, depth: int, ran: int, view: Any, answer: Any, error: BaseException | None) -> Any:
        """Return what an around's answer gives to the one around it, or raise what it raises."""
        reached = self.reach(depth, ran, view, answer, error)
        return unpair((reached.value, reached.error))

    async def settle_async(self, depth: int, ran: int, view: Any, answer: Any, error: BaseException | None) -> Any:
        """Do the same on an event loop."""
        reached = await self.reach_async(depth, ran, view, answer, error)
        return unpair((reached.value, reached.error))

    def reach(self, depth: int, ran: int, view: Any, answer: Any, error: BaseException | None) -> Reached:
        """Say what comes out of around number `depth` that gave this answer, or raised."""
        return self._reach(depth, ran, view, do(Turn(AsItWent(answer, error)), None))

    async def reach_async(self, depth: int, ran: int, view: Any, answer: Any, error: BaseException | None) -> Reached:
        """Say the same on an event loop, where an around may have swallowed a cancellation."""
        went = AsItWent(answer, error, self._cancels if is_running(self._task) else 0)
        return self._reach(depth, ran, view, await do_async(Turn(went.awaited, is_async=True), None))

    def _reach(self, depth: int, ran: int, view: Any, answer: Answer) -> Reached:
        try:
            reached = self._onion(depth, ran, view).settle(answer)
        except Over:
            reached = Reached(error=self.call.ending)
        self._note(depth, reached)
        return reached

    def _note(self, depth: int, reached: Reached) -> None:
        """Note what came out at this depth. Of several attempts of the around outside it, the last to end counts."""
        self._inside[depth] = self.call.reached = reached
        if depth - 1 in self._onions:
            self._onions[depth - 1].last = reached

    def _onion(self, depth: int, ran: int, view: Any) -> Onion:
        """Return around number `depth` as the walk sees it, caught up with what generated code did."""
        if depth not in self._onions:
            seats = self.call.plan.around[: depth + 1]
            onion = Onion(
                self.call, seats[-1], depth, self._kwargs, False, {seat.receiver.key for seat in seats}, attempt,
                Cancels.since(self._cancels, self._task),
            )
            onion.view = view if isinstance(view, ReadOnly) else onion.view
            onion.times, onion.is_open = min(ran % ENDED, BEGUN), ran < ENDED
            onion.last = self._inside.get(depth + 1)
            if onion.last is None and ran % ENDED > BEGUN:
                onion.last = Reached(outcome="returned" if ran % ENDED == 2 else "replaced")
            self._onions[depth] = onion
        return self._onions[depth]
