"""One hookspec: what it asks, how answers become one, and who answers, in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NoReturn

import attrs
from blinker import ANY

from .._calls.plan import Plan, Seat, build_plan
from .._connections.callables import is_async_callable
from .._connections.order import in_order
from .._connections.phases import ANSWER, split_signal_name
from .._connections.receiver import Receiver
from .._connections.signal import Connection, F, HookSignal
from .._connections.wanted import Asks, Connectable
from .._hooks.hook import FUNCTION_SITE, Hook
from ..exceptions import HookError, did_you_mean
from ..modes import Mode
from ..modes import Receiver as Token


@attrs.frozen(eq=False)
class Rules:
    """How the answers to a question become one.

    Attributes:
        steps: the mode.
        fallback: asked for the result where there is none, with the arguments it names.
        fallback_on: what counts as none: `"none"`, nobody has answered; `"falsy"`, the result is falsy.
        dedup: gives the key of an answer; of two with the same key the later one is left out.
        is_historic: whether what was asked is kept, for who is connected later.
    """

    steps: Mode
    fallback: Callable[..., Any] | None
    fallback_on: Literal["none", "falsy"]
    dedup: Callable[[Any], Any] | None
    is_historic: bool
    fallback_asks: Asks | None = attrs.field(
        init=False, default=attrs.Factory(lambda self: _asks_of(self.fallback), takes_self=True)
    )

    def __attrs_post_init__(self) -> None:
        for name, given in (("fallback", self.fallback), ("dedup", self.dedup)):
            if given is not None and not callable(given):
                raise HookError(f"{name}={given!r:.60} must be a function")
        if self.fallback_on not in ("none", "falsy"):
            hint = did_you_mean(str(self.fallback_on), ("none", "falsy"))
            raise HookError(f"fallback_on={self.fallback_on!r} is unknown{hint}")

    @property
    def mode_name(self) -> str:
        name: str = getattr(self.steps, "__qualname__", type(self.steps).__qualname__)
        return name

    def check(self, question: str, colour: str, arguments: tuple[str, ...]) -> None:
        """Raise HookError unless the fallback can serve a question of this colour and with these arguments."""
        lacking = self.fallback_asks.missing(arguments) if self.fallback_asks is not None else []
        if lacking:
            raise HookError(f"the fallback of {question} asks for {lacking[0]!r}{did_you_mean(lacking[0], arguments)}")
        if colour == "sync" and is_async_callable(self.fallback):
            raise HookError(f"the fallback of {question} is async, but {question} is a plain def and cannot await it")


Seats = tuple[tuple[Token[Any], Seat], ...]
"""Who answers a question, in order, each as the mode sees it and as the call does."""


@attrs.frozen(eq=False)
class Panel:
    """Who answers a question, and who runs around that."""

    plan: Plan
    seats: Seats


@attrs.frozen(eq=False)
class Past:
    """A question that was asked: the values of its parameters, and the connections that had their turn."""

    values: tuple[Any, ...]
    asked: set[int] = attrs.field(factory=set)


class Spec(Hook):
    """The hook of a hookspec: a hookable whose body asks the receivers of its signal.

    Attributes:
        rules: how the answers become one.
        signal: the signal its receivers are connected to; it has the name of the hookspec.
        has_own_ctx: whether an argument of its own is called `ctx`.
        open_scopes: how many `scope()` blocks are open anywhere.
        history: what was asked, of a historic question.
        calls: how many calls were walked since something has changed.
    """

    is_question = True

    def __init__(self, name: str, bus: Any, body: Callable[..., Any], ask: Callable[..., Any], rules: Rules) -> None:
        super().__init__(name, bus, body, ask)
        self.rules = rules
        bus._declare(self)
        self._join()

    def _join(self) -> None:
        # A question has no sender: its first argument is an argument.
        self.method_signature = self.function_signature
        self.has_own_ctx = "ctx" in self.function_signature.names
        self.open_scopes = 0
        self.history: list[Past] = []
        self.signal: HookSignal = self.bus.signal(self.name)
        _become_question(self.signal)
        self.bus._changed(self.signal, ANY)

    def __reduce__(self) -> tuple[Any, ...]:
        make, _, state = super().__reduce__()
        return make, (Spec,), {**state, "rules": self.rules}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._join()

    def _make_caches(self) -> None:
        super()._make_caches()
        self._panel: Panel | None = None

    # -- who answers ----------------------------------------------------------------------------------------------------

    def connect(self, receiver: F, weak: bool | None = None, **options: Any) -> F:
        return self.signal.connect(receiver, weak=weak, **options)

    def connect_via(self, weak: bool | None = None, **options: Any) -> Callable[[F], F]:
        if callable(weak):
            raise HookError(f"connect_via takes options: write @{self.name}.connect, or @{self.name}.connect_via(priority=1)")
        return self.signal.connect_via(weak=weak, **options)

    def connected_to(self, receiver: Connectable, weak: bool | None = None, **options: Any) -> Connection:
        return self.signal.connected_to(receiver, weak=weak, **options)

    # -- how calls find their way ---------------------------------------------------------------------------------------

    def route(self, is_on: bool) -> None:
        """Ask, always: behind the shell there is no method to run directly."""
        self._shell.go_to(self.enter)
        self.calls = 0

    def look_again(self) -> None:
        super().look_again()
        self.route(True)

    def go_to(self, run: Callable[..., Any], version: int) -> None:
        """Let calls go to `run`, which is called as the question is, unless something has changed since `version`."""
        with self.bus.lock:
            if version == self.version:
                self._shell.go_to(run)

    @property
    def run(self) -> Any:
        """What calls go to: generated code, or `enter`."""
        return self._shell.goes_to

    def enter(self, /, *args: Any, **kwargs: Any) -> Any:
        """Ask."""
        return self._choose(self, self.function_signature.gather(args, kwargs))

    def drop_plans(self, sender: object = None) -> None:
        self._panel = None  # first: who finds the old one shall not take it for that of the new version
        super().drop_plans()

    def panel(self) -> Panel:
        """Return who answers, and who runs around that; settled anew where something has changed."""
        panel = self._panel
        while panel is None:
            version = self.version
            receivers = in_order((0.0, receiver) for _, receiver in self.signal.matching(None))
            made = Panel(build_plan(self, FUNCTION_SITE, self.shell), tuple(self._seat(receiver) for receiver in receivers))
            with self.bus.lock:
                # A connection that came meanwhile has dropped the panel already and would not see this one.
                if version == self.version:
                    self._panel = panel = made
        return panel

    def newcomers(self, past: Past) -> Seats:
        """Return who was not there when this was asked, and count them as asked."""
        seats = self.panel().seats
        with self.bus.lock:
            new = tuple(pair for pair in seats if pair[1].receiver.sequence not in past.asked)
            past.asked.update(seat.receiver.sequence for _, seat in new)
        return new

    def _seat(self, receiver: Receiver) -> tuple[Token[Any], Seat]:
        problem = receiver.problem_with(self.name, self.colour, self.function_signature.names)
        seat = Seat(receiver, self.signal, ANSWER, receiver.options.timeout or self.bus.timeout, problem)
        return Token(receiver.name, receiver.where, receiver.options.priority), seat


def _become_question(signal: HookSignal) -> None:
    """Have the receivers of a signal answer from now on; those that were connected while it was only a name, too."""
    signal.phase, signal.hook = ANSWER, signal.name
    signal.__dict__.update(send=partial(_refuse_send, signal), send_async=partial(_refuse_send, signal))
    for receiver in signal._registry.layers():
        receiver.become_answer()


def _refuse_send(signal: HookSignal, *_: Any, **__: Any) -> NoReturn:
    raise HookError(f"{signal.name} is a question, which has no sender: call the hookspec itself, or its ask()")


def _asks_of(fallback: Any) -> Asks | None:
    return Asks.of(fallback, with_sender=False) if callable(fallback) else None


def check_name(name: str) -> None:
    """Raise HookError unless a hookspec can have this name."""
    split = split_signal_name(name)
    if split is not None:
        raise HookError(f"a hookspec cannot be named {name!r}, which is the signal {split[0]!r} of a hook {split[1]!r}")
