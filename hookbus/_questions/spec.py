"""A hookspec: its arguments, its mode, and its receivers in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Final, NamedTuple, NoReturn

import attrs

from .._calls.plan import Plan, Seat, build_plan, seats_of
from .._connections.phases import ANSWER
from .._connections.signal import HookSignal
from .._hooks.hook import Hook
from .._hooks.identity import NO_SENDER
from .._hooks.placement import site_as
from .._merging.merging import name_of
from ..exceptions import HookError
from ..modes import Receiver as Token
from .writer import QuestionWriter


class Rules(NamedTuple):
    """The rules that combine the answers to a question into one result.

    Attributes:
        mode: the mode that was passed to `hookspec`.
        steps: the same mode as a generator function.
        is_historic: whether to record calls for receivers that are connected later.
    """

    mode: Callable[..., Any]
    steps: Callable[..., Any]
    is_historic: bool

    @property
    def mode_name(self) -> str:
        return name_of(self.mode)


_PANEL: Final = "panel"

Seats = tuple[tuple[Token[Any], Seat], ...]
"""The receivers of a question in order. Each pair contains the object that the mode sees, and the
seat.
"""


class Past(NamedTuple):
    """A past call of a question: the values of its parameters, and the receivers that were called.
    """

    values: tuple[Any, ...]
    asked: dict[int, Any]


class Spec(Hook):
    """The hook of a hookspec. Its body calls the receivers of its signal.

    Attributes:
        rules: the rules that combine the answers into one result.
        signal: the signal with the same name, which holds the receivers.
        open_scopes: the open `scope()` blocks in all tasks and threads.
        history: the past calls of a historic hookspec.
    """

    is_question = True

    def __init__(self, name: str, bus: Any, body: Callable[..., Any], rules: Rules) -> None:
        super().__init__(name, bus, body)
        self.rules = rules
        bus._declare(self)
        self._join()

    def _join(self) -> None:
        # A question has no sender; its first argument is an ordinary argument.
        self.method_signature = self.function_signature
        self.open_scopes: dict[int, object] = {}
        self.history: list[Past] = []
        self.signal: HookSignal = self.bus.signal(self.name)
        _become_question(self.signal)
        self.bus._switchboard.route(self)
        self.bus._switchboard.discard_plans(self)

    def __reduce__(self) -> tuple[Any, ...]:
        make, _, state = super().__reduce__()
        return make, (Spec,), {**state, "rules": self.rules}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._join()

    # -- how calls find their plan -------------------------------------------------------------

    def find(self, values: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the function that asks the question. After connections have changed, the function
        is compiled again.
        """
        if not self.is_looked_at:
            self.bus._checks.report_misplaced(self)
        table = self.table
        run = table[NO_SENDER] = self.panel().compiled.run
        return run

    def panel(self) -> Panel:
        """Return the receivers and arounds. After connections have changed, both are looked up
        again.
        """
        table = self.table
        table.mark_used()  # before reading anything, for `discard_plans`
        panel: Panel = table.get(_PANEL) or table.setdefault(_PANEL, Panel(self))
        return panel

    def remember(self, values: tuple[Any, ...], seats: Seats) -> Past:
        """Record a call of the question for receivers that are connected later."""
        past = Past(values, dict.fromkeys(seat.receiver.sequence for _, seat in seats))
        self.history.append(past)
        return past


class Panel:
    """The current receivers and arounds of a question, and the functions that call them.

    Attributes:
        seats: the receivers in order. Each is a pair: the object that the mode sees, and the seat.
        compiled: the function that asks the question.
    """

    def __init__(self, spec: Spec) -> None:
        matching: Any = () if spec.is_retired else spec.signal._matching(None)
        found = [(0.0, receiver) for _, receiver in matching]
        answers = seats_of(spec, spec.signal, found, spec.served(as_method=False))
        self.seats: Seats = tuple((_token(seat), seat) for seat in answers)
        plan = build_plan(spec, site_as(spec, None), spec.shell)
        self.plan: Plan = attrs.evolve(plan, answers=answers)
        self.compiled = QuestionWriter(self.plan, self.seats).compile()

    @cached_property
    def run_round(self) -> Callable[..., Any]:
        """The function that asks the question. Its first argument is the `Asking`."""
        run: Any = QuestionWriter(self.plan, self.seats, has_round=True).compile().run
        shell = self.plan.hook.shell
        run.__defaults__, run.__kwdefaults__ = shell.__defaults__, shell.__kwdefaults__
        run.__qualname__ = f"{self.plan.hook.name}.ask"
        return run  # type: ignore[no-any-return]

    def newcomers(self, past: Past) -> Seats:
        """Return the receivers that were not called in this past call, and mark them as called."""
        mine = object()  # `setdefault` decides atomically which thread calls a receiver
        return tuple(
            pair for pair in self.seats
            if past.asked.setdefault(pair[1].receiver.sequence, mine) is mine
        )  # fmt: skip


def _token(seat: Seat) -> Token[Any]:
    receiver = seat.receiver
    return Token(receiver.name, receiver.where, receiver.options.priority)


def _become_question(signal: HookSignal) -> None:
    """Make all receivers of a signal answer the question, including receivers that were connected
    before the hookspec was declared.
    """
    signal.phase, signal.hook = ANSWER, signal.name
    refuse = partial(_refuse_send, signal)
    signal.__dict__.update(send=refuse, send_async=refuse)
    for receiver in signal._registry.everything():
        receiver.become_answer()


def _refuse_send(signal: HookSignal, *_: Any, **__: Any) -> NoReturn:
    raise HookError(
        f"{signal.name} is a hookspec and takes no sender: call the hookspec itself, or "
        "its ask()"
    )
