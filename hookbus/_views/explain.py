"""One call as rows: who runs, in what order, by whose word; and the code that runs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import attrs

from .._calls.plan import Plan, Seat
from .._calls.runner import written_for
from .._calls.written import Written
from .._connections.callables import layers, name_of, place_of, written
from .._connections.phases import ANSWER
from .._connections.receiver import Connected
from .._connections.senders import describe
from .._connections.signal import HookSignal
from .._hooks.hook import FUNCTION_SITE, hook_of
from .._questions.spec import Spec
from ..exceptions import HookError
from .html import Pictured, chip, titled
from .tables import columns, escaped, html_table, printable, text_table


@attrs.frozen
class Row:
    """One receiver as a call asks it.

    Attributes:
        phase: when it is asked; `"answer"` where it answers a question.
        position: its place in its phase, from 1.
        receiver: its name.
        role: what it may do.
        priority: the one it was connected with; higher runs first.
        scope: what it is connected to.
        on_error: what its failure does.
        timeout: its deadline in seconds, or None.
        where: the file and line of the receiver.
        problem: why it will fail at this hook, or None.
        plugin: the plugin that connected it, or None.
        operator: what the operator's `overrides` say over the plugin's word, or None.
    """

    phase: str
    position: int
    receiver: str
    role: str
    priority: float
    scope: str
    on_error: str
    timeout: float | None
    where: str
    problem: str | None = None
    plugin: str | None = None
    operator: str | None = None


@attrs.frozen
class Explanation(Pictured, Sequence[Row]):
    """Who runs around one hookable for one sender, or answers one question, in the order they run.

    Attributes:
        title: what is explained.
        rows: one for each receiver.
        when_empty: what happens where there is none.
        source: the function that runs the calls, if it was asked for.
        body: the function that the receivers stand around; None for a question, which they answer.
    """

    title: str
    rows: tuple[Row, ...]
    when_empty: str = "nobody listens: the method runs directly"
    source: str | None = None
    body: str | None = None

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, index: int | slice) -> Row | tuple[Row, ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def _columns(self) -> dict[str, list[str]]:
        return columns([attrs.asdict(row) for row in self.rows])

    def __str__(self) -> str:
        table = text_table(self._columns()) if self.rows else f"  {self.when_empty}"
        return "\n".join([printable(self.title), table, *([self.source] if self.source else [])])

    def _html_parts(self) -> list[str]:
        table = html_table(self._columns()) if self.rows else f"<p>{escaped(self.when_empty)}</p>"
        source = f"<pre>{escaped(self.source)}</pre>" if self.source else ""
        return [titled(self.title, self._drawn() + table), source]

    def _drawn(self) -> str:
        """Return the way of a call through the phases.

        Around stands before the body, which it is asked to run.
        """
        chips: dict[str, list[str]] = {}
        for row in self.rows:
            role = f" ({row.role})" if row.role != row.phase else ""
            chips.setdefault(row.phase, []).append(
                chip(f"{row.position} {row.receiver}{role}", row.role)
            )
        steps = [f"{escaped(phase)} {' '.join(each)}" for phase, each in chips.items()]
        if chips and self.body is not None:
            steps.insert(len(chips.keys() & {"pre", "around"}), f"<b>{escaped(self.body)}</b>")
        return f"<p>{' → '.join(steps)}</p>" if steps else ""


def explain(hookable: Any, *, source: bool = False) -> Explanation:
    """Say who runs around a hookable, in order.

    `explain(agent.reply)`, `explain(Agent.reply)`, `explain(function)`; for a hookspec it says who
    answers, too: `explain(resolve_session)`. It reads the very plan that the call runs.

    Args:
        hookable: a hookable function or method, or a hookspec.
        source: also print what runs: the function that was written, and what its short names stand
            for.

    Returns:
        The rows of the plan, one for each receiver.

    Raises:
        HookError: if it is not hookable.
    """
    held = layers(getattr(hookable, "__func__", hookable))
    hook = next((hook for hook in map(hook_of, held) if hook is not None), None)
    if hook is None:
        advice = "decorate it with @hookable, or call instrument(cls, 'method')"
        raise HookError(f"{hookable!r:.80} is not hookable: {advice}")
    if isinstance(hook, Spec):
        return _of_question(hook, source)
    owner = getattr(hookable, "__self__", None)
    cls = None if owner is not None else hook.bus.class_of(hook)
    if owner is not None:
        site, sender, who = hook.site_of(owner), owner, describe(owner)
    elif cls is None:
        site, sender, who = FUNCTION_SITE, hook.shell, describe(hook.shell)
    else:  # a class stands for its instances
        site, sender, who = hook.site_of_class(cls), cls, f"any {cls.__qualname__}"
    plan, made = written_for(hook, site, sender)
    title = f"{hook.name} of {who} ({hook.colour})"
    text = _source_of(made) if source else None
    return Explanation(title, tuple(_rows(plan)), source=text, body=f"{hook.name}()")


def _of_question(spec: Spec, source: bool) -> Explanation:
    title = f"{spec.name}, a question ({spec.colour}, {spec.rules.mode_name})"
    asked = spec.panel()
    text = _source_of(asked.written) if source else None
    return Explanation(title, tuple(_rows(asked.plan)), "nobody answers", source=text)


def _source_of(made: Written | None) -> str:
    if made is None:
        return "\nnobody is connected: the method itself runs"
    named = {name: value for name, value in made.named.items() if not isinstance(value, Seat)}
    said = (f"# {name}: {_named(value)}" for name, value in named.items())
    return "\n".join(["", *said, "", made.source])


def _named(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} receivers that are called alike"
    return f"{name_of(value)} ({written(place_of(value))})"


def _rows(plan: Plan) -> Iterator[Row]:
    phases = list(plan.phases())
    phases.insert(2, (ANSWER, plan.answers))  # inside the arounds
    for phase, seats in (*phases, *((s.phase, (s,)) for s in plan.unaskable)):
        for position, seat in enumerate(seats, 1):
            yield _row(phase, position, seat)


def _row(phase: str, position: int, seat: Seat) -> Row:
    receiver = seat.receiver
    return Row(
        phase, position, receiver.name, receiver.role, receiver.options.priority,
        scope_of(receiver), receiver.on_error,
        seat.timeout, receiver.where, seat.problem, *origin_of(seat.signal, receiver),
    )  # fmt: skip


def origin_of(signal: HookSignal, receiver: Connected) -> tuple[str | None, str | None]:
    """Return the plugin that connected a receiver, and what the operator says of it."""
    plugins = signal._home.plugins
    origin: tuple[str, str | None] | None = plugins.origin_of(receiver) if plugins else None
    return origin or (None, None)


def scope_of(receiver: Connected) -> str:
    sender = receiver.sender() if receiver.sender is not None else None
    return "ANY" if sender is None else describe(sender)
