"""Where generated code stops, the walk takes over. What was done already is told to it, not done again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import attrs

from .._hooks.hook import Hook, Site
from ..exceptions import HookError
from .around import Reached
from .call import Call
from .cancels import Cancels, is_closing
from .context import HookContext, ReadOnly
from .detour import ENDED, AsItWent, Detour
from .drive import Parts, Step, Story
from .plan import Plan, Seat
from .tasks import begin, settle
from .turns import Answer, Turn, brought
from .walk import walk

NOWHERE: Final = -1
"""The place of a stop between two turns: everybody whose turn it was has answered."""

_LATER: Final = float("inf")


class Unusual(Exception):
    """How generated code gets to where the walk takes over. It never leaves it."""


@attrs.frozen(eq=False)
class Known:
    """What receivers have answered already; `last` is the caller's cancellation, if that came while they ran side by side."""

    answers: Mapping[Seat, Answer]
    last: tuple[Answer, ...] = ()


@attrs.frozen(eq=False)
class Stop:
    """How the turn went at which generated code stopped.

    Attributes:
        place: whose turn it was.
        went: how it went.
        view: the arguments that receiver was shown, if it asked for `ctx`.
        known: what others have answered, where the walk needs it: beside that one, or ahead of it in a question.
    """

    place: int
    went: AsItWent = attrs.field(factory=AsItWent)
    view: Any = None
    known: Known = Known({})

    @classmethod
    def of(cls, place: int, answer: Any, error: BaseException, view: Any, cancels: int = 0) -> Stop:
        """Return the stop of generated code that got here by this exception."""
        if not isinstance(error, Unusual):
            return cls(place, AsItWent(None, error, cancels), view)
        if isinstance(answer, Known):
            return cls(place, known=answer)
        return cls(place, AsItWent(answer, None, cancels), view)

    def again(self, turn: Turn) -> Turn:
        """Return the same turn, which goes as it went."""
        for shown in (*turn.call.args, *turn.call.keywords.values()):  # type: ignore[attr-defined]
            if isinstance(shown, HookContext) and type(shown.kwargs) is type(self.view):
                self._show(shown.kwargs)
        return attrs.evolve(turn, call=self.went.awaited if turn.is_async else self.went)

    @property
    def is_closing(self) -> bool:
        """Whether the coroutine is being closed, and may not wait any more."""
        return is_closing(self.went.error)

    def _show(self, view: Any) -> None:
        if isinstance(view, ReadOnly):
            view.tampered = self.view.tampered
        else:
            view.clear()
            view.update(self.view)


class Replay(Story):
    """A story that is told again up to the turn at which generated code stopped, and lived from there."""

    def __init__(self, places: Mapping[Seat, int], stop: Stop, parts: Parts, rest: Callable[[], Parts]) -> None:
        super().__init__(parts, rest)
        self._places, self._stop = places, stop
        self.may_wait = not stop.is_closing
        self._known: list[Answer | None] = []

    def send(self, answer: Any) -> Step:
        if self._known:
            lived = iter(answer)
            answer = [*(known or next(lived) for known in self._known), *lived]
            self._known = []
        while True:
            step = super().send(answer)
            group: list[Any] = step if isinstance(step, list) else [step]
            answers = [self._answer_of(turn) for turn in group]
            if None in answers:
                self._known = answers if isinstance(step, list) else []
                live = [self._live(turn) for turn, known in zip(group, answers, strict=True) if known is None]
                return live if isinstance(step, list) else live[0]
            if any(turn.seat in self._stop.known.answers for turn in group):
                answers += self._stop.known.last
            answer = answers if isinstance(step, list) else answers[0]

    def _place(self, turn: Any) -> float:
        return self._places.get(turn.seat, _LATER)

    def _answer_of(self, turn: Any) -> Answer | None:
        if self._place(turn) == self._stop.place and not self.may_wait:
            return Answer(error=GeneratorExit(), is_cancel=True)
        return self._stop.known.answers.get(turn.seat) or (Answer() if self._place(turn) < self._stop.place else None)

    def _live(self, turn: Any) -> Any:
        return self._stop.again(turn) if self._place(turn) == self._stop.place else turn


@attrs.frozen(eq=False)
class Resumption:
    """How the calls of one compiled plan go on where the generated code stopped.

    Attributes:
        places: whose turn is which, counted as the generated code counts.
        body: the place of the method.
    """

    hook: Hook
    site: Site
    plan: Plan
    places: Mapping[Seat, int]
    body: int

    def __call__(
        self, values: tuple[Any, ...], stop: Stop, result: Any = None, *,
        call_id: int | None = None, state: Any = None, ran: int = 0, detour: Detour | None = None,
    ) -> Any:  # fmt: skip
        """Walk the rest of a call.

        Args:
            values: its arguments as they stand.
            stop: where it stopped.
            result: the result as it stands, once the method has run.
            call_id: its number, where receivers were told one already.
            state: the dict its receivers share, likewise.
            ran: how far generated code is inside the outermost around; 0 where there is none.
            detour: the arounds, where they left generated code already.
        """
        call = detour.call if detour is not None else self.call(values, call_id, state)
        if stop.place > self.body:
            call.reached = Reached(result, outcome="returned" if ran in (0, ENDED + 2) else "replaced")
        elif detour is not None:
            return (self._end_async if self.hook.is_async else self._end)(detour, stop, ran)
        elif stop.place == self.body:
            call.reached = Reached.of_body(Answer(error=stop.went.error))
        return walk(call, partial(Replay, self.places, stop))

    def call(self, values: tuple[Any, ...], call_id: int | None = None, state: Any = None) -> Call:
        """Return a call that has come as far as generated code has."""
        sender = self.hook.shell if self.site.attribute is None else values[0]
        call = Call(self.hook, self.site, self.plan, sender, values)
        call.is_observed = False
        if call_id is not None:
            call.call_id, call.state = call_id, state
        return call

    def detour(
        self, values: tuple[Any, ...], has_left: bool, cancels: int, task: Any,
        call_id: int | None = None, state: Any = None,
    ) -> Detour:  # fmt: skip
        """Return what the arounds of a call need from here on."""
        call = self.call(values, call_id, state)
        call.has_left = has_left
        return Detour(call, cancels, task)

    def _end(self, detour: Detour, stop: Stop, ran: int) -> Any:
        detour.reach(0, ran, stop.view, stop.went.answer, stop.went.error)
        return walk(detour.call, partial(Replay, self.places, stop))

    async def _end_async(self, detour: Detour, stop: Stop, ran: int) -> Any:
        await detour.reach_async(0, ran, stop.view, stop.went.answer, stop.went.error)
        return await walk(detour.call, partial(Replay, self.places, stop))


async def beside(seats: tuple[Seat, ...], coroutines: Any) -> Known | None:
    """Await coroutines side by side, in tasks of their own; return None if all of them answered None."""
    import asyncio

    loop = asyncio._get_running_loop()
    if loop is None:  # under trio, for instance: there they are awaited one after the other
        return Known({seat: await _answered(coroutine) or Answer() for seat, coroutine in zip(seats, coroutines)})
    tasks = begin(loop.create_task, _answered, coroutines, _refused)
    cancel = await settle(tasks)
    if cancel is None and not any(task.cancelled() or task.result() or task.cancelling() for task in tasks):
        return None
    answers = brought(tasks, cancel)
    return Known(dict(zip(seats, answers)), tuple(answers[len(seats) :]))


async def _answered(coroutine: Any) -> Answer | None:
    try:
        value = await coroutine
    except BaseException as error:  # the story decides what becomes of it
        return Answer(error=error, is_cancel=Cancels().explain(error))
    return None if value is None else Answer(value)


async def _refused(coroutine: Any, error: HookError) -> Answer:
    coroutine.close()
    return Answer(error=error)
