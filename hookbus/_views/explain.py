"""Explain a call: list its receivers in order, with their locations and, if requested, the
generated code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final, overload

import attrs

from .._bus import Bus, default_bus
from .._callables.callables import layers, name_of, place_of, written
from .._calls.plan import Plan, Seat
from .._calls.writer import CompiledPlan, compile_plan
from .._connections.phases import ANSWER
from .._connections.receiver import Connected
from .._connections.senders import describe
from .._connections.signal import HookSignal
from .._ground.errors import did_you_mean, undeclared
from .._ground.keywords import named_options
from .._hooks.hook import Hook, hook_of
from .._hooks.placement import site_as, site_of, site_of_class
from .._questions.spec import Spec
from ..exceptions import HookError
from .html import Pictured, chip, titled
from .tables import brief, columns, escape, html_table, once, text_items, text_table


@attrs.frozen
class Row:
    """One receiver in an explanation.

    Attributes:
        phase: the phase in which the receiver is called. It is `"answer"` for a receiver that
            answers a question.
        position: the position in the phase, from 1.
        receiver: the name of the receiver.
        role: the role of the receiver.
        priority: the priority of the receiver. Receivers with a higher priority run first.
        scope: the sender that the receiver is connected to.
        on_error: the failure policy of the receiver.
        timeout: the deadline of the receiver in seconds, or None.
        where: the file and line of the receiver.
        problem: the reason why the receiver will fail at this hook, or None.
        plugin: the plugin that connected the receiver, or None.
        operator: the options that the operator's `overrides` change, or None.
        shadow: True for a guard in shadow mode, which cannot block, else None.
        background: True if the call does not wait for the receiver, else None.
        locked: True for a guard that an operator cannot switch off, else None.
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
    shadow: bool | None = None
    background: bool | None = None
    locked: bool | None = None


@attrs.frozen
class Explanation(Pictured, Sequence[Row]):
    """The receivers of one hookable for one sender, or of one question, in the order in which they
    run.

    Attributes:
        title: the name of the hookable or question.
        rows: one row for each receiver.
        when_empty: the text to show if no receivers are connected.
        source: the source of the generated function, if requested.
        body: the function that the receivers wrap, or None for a question.
    """

    title: str
    rows: tuple[Row, ...]
    when_empty: str = "no receivers are connected: the method runs directly"
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
        rows = []
        for row in self.rows:
            facts = {"phase": row.phase, "#": row.position, **attrs.asdict(row)}
            del facts["position"], facts["problem"]
            rows.append(noted(facts, *["will fail"] * (row.problem is not None)))
        found = columns(rows)
        return found | {"phase": once(found["phase"])}

    def _problems(self) -> list[str]:
        return [brief(row.problem) for row in self.rows if row.problem is not None]

    def __str__(self) -> str:
        parts = [brief(self.title)]
        parts += [text_table(self._columns()) if self.rows else f"  {self.when_empty}"]
        parts += [text_items(self._problems())] if self._problems() else []
        return "\n".join([*parts, *([self.source] if self.source else [])])

    def _html_parts(self) -> list[str]:
        table = html_table(self._columns()) if self.rows else f"<p>{escape(self.when_empty)}</p>"
        problems = "".join(f"<li>{escape(problem)}</li>" for problem in self._problems())
        table += f"<ul>{problems}</ul>" if problems else ""
        source = f"<pre>{escape(self.source)}</pre>" if self.source else ""
        return [titled(brief(self.title), self._drawn() + table), source]

    def _drawn(self) -> str:
        """Return the path of a call through the phases as HTML.

        Arounds are shown before the body that they wrap.
        """
        chips: dict[str, list[str]] = {}
        for row in self.rows:
            role = f" ({row.role})" if row.role != row.phase else ""
            chips.setdefault(row.phase, []).append(
                chip(f"{row.position} {brief(row.receiver)}{role}", row.role)
            )
        steps = [f"{escape(phase)} {' '.join(each)}" for phase, each in chips.items()]
        if chips and self.body is not None:
            steps.insert(len(chips.keys() & {"pre", "around"}), f"<b>{escape(self.body)}</b>")
        return f"<p>{' → '.join(steps)}</p>" if steps else ""


@named_options
def explain(
    hookable: Any, *, sender: Any = None, bus: Bus = default_bus, source: bool = False
) -> Explanation:
    """Show which receivers run around a hookable, in order.

    Call it as `explain(agent.reply)`, `explain(Agent.reply)` or `explain(function)`. For a
    question, it also shows the receivers that answer: `explain(resolve_session)`. For a tool of an
    adapted framework, write `explain("tool_call", sender=tool)`. `explain` reads the same plan that
    calls use.

    Args:
        hookable: a hookable function or method, a hookspec, or the name of a hook that has an
            argument for its sender.
        sender: the value of that argument. None means any sender.
        bus: the bus of the hook, if `hookable` is a name.
        source: whether to show the generated function that runs the call, and the values of its
            short names.

    Returns:
        One row for each receiver in the plan.

    Raises:
        HookError: if the function is not hookable, or if the hook does not exist.
    """
    hook = hook_for(hookable, bus)
    if isinstance(hook, Spec):
        return _of_question(hook, source)
    owner = getattr(hookable, "__self__", None) if sender is None else sender
    cls = None if owner is not None else hook.bus._checks.class_of(hook)
    if owner is not None:
        site, sender = site_of(hook, owner), owner
        by_argument = hook.settings.sender is not None
        who = describe(owner, is_named=by_argument).partition(" at 0x")[0]
    elif hook.settings.sender:
        site, sender, who = site_as(hook, None), None, f"any {hook.settings.sender}"
    elif cls is None:
        site, sender, who = site_as(hook, None), hook.shell, describe(hook.shell)
    else:  # a class represents its instances
        site, sender, who = site_of_class(hook, cls), cls, f"any {cls.__qualname__}"
    plan, made = compile_plan(hook, site, sender)
    title = f"{hook.name} of {who} ({hook.kind})"
    text = _source_of(made) if source else None
    return Explanation(title, tuple(_rows(plan)), source=text, body=f"{hook.name}()")


def hook_for(hookable: Any, bus: Bus = default_bus) -> Hook:
    """Return the hook that `explain` shows for its first argument.

    Raises:
        HookError: if the function is not hookable, or if the hook does not exist.
    """
    if isinstance(hookable, str):
        hooks = list(bus._switchboard.hooks())
        named = {hook.name: hook for hook in reversed(hooks) if hook.settings.sender}
        if hookable not in named:
            if hookable not in (known := bus.hook_names()):
                raise HookError(f"there is no hook {hookable!r}{undeclared(hookable, known)}")
            advice = did_you_mean(hookable, named) or ": pass the method, as explain(agent.reply)"
            raise HookError(f"no hook {hookable!r} has an argument for its sender{advice}")
        return named[hookable]
    found: list[Any] = [*layers(getattr(hookable, "__func__", hookable))]
    found += [getattr(function, "__hookable__", None) for function in found]  # a hook of an adapter
    hook = next((hook for hook in map(hook_of, found) if hook is not None), None)
    if hook is None:
        raise HookError(
            f"{hookable!r:.80} is not hookable: decorate it with @hookable, or call "
            "instrument(cls, 'method'); for a framework's tool, write "
            "explain('tool_call', sender=tool)"
        )
    return hook


def _of_question(spec: Spec, source: bool) -> Explanation:
    title = f"{spec.name}, a question ({spec.kind}, {spec.rules.mode_name})"
    asked = spec.panel()
    text = _source_of(asked.compiled) if source else None
    return Explanation(title, tuple(_rows(asked.plan)), "no receivers are connected", source=text)


def _source_of(made: CompiledPlan | None) -> str:
    if made is None:
        return "\nno receivers are connected: the method runs directly"
    lines = (brief(f"# {name}: {_named(value)}") for name, value in made.named.items())
    return "\n".join(["", *lines, "", made.source])


def _named(value: Any) -> str:
    if isinstance(value, Seat):
        return f"{value.receiver.name} on {value.receiver.signal.name}"
    if isinstance(value, list):
        return f"{len(value)} similar receivers, called in a loop"
    return f"{name_of(value)} ({written(place_of(value))})"


def _rows(plan: Plan) -> Iterator[Row]:
    phases = [(name, (*chain(*phase),)) for name, phase in plan.phases.items()]
    phases.insert(2, (ANSWER, plan.answers))  # these run inside the arounds
    for phase, seats in (*phases, *((s.phase, (s,)) for s in plan.unaskable)):
        for position, seat in enumerate(seats, 1):
            yield _row(phase, position, seat)


def _row(phase: str, position: int, seat: Seat) -> Row:
    receiver = seat.receiver
    return Row(
        phase, position, receiver.name, receiver.role, receiver.options.priority,
        scope_of(receiver), receiver.on_error,
        seat.timeout, receiver.where, seat.problem, *origin_of(seat.signal, receiver),
        shadow=receiver.options.shadow or None,
        background=receiver.options.background or None,
        locked=receiver.options.locked or None,
    )  # fmt: skip


def origin_of(signal: HookSignal, receiver: Connected) -> tuple[str | None, str | None]:
    """Return the plugin that connected a receiver, and the operator's overrides for it."""
    plugins = signal._bus.plugins
    origin: tuple[str, str | None] | None = plugins.origin_of(receiver) if plugins else None
    return origin or (None, None)


_USUAL: Final = {"guard": "block", "around": "raise"}
"""The default `on_error` of the roles for which it is not `isolate`."""


def noted(row: dict[str, Any], *more: str) -> dict[str, Any]:
    """Return a row about a receiver, with its unusual settings combined in one column."""
    rest = dict(row)
    priority, timeout, on_error, where = map(rest.pop, ("priority", "timeout", "on_error", "where"))
    notes = [f"priority {priority}"] if priority else []
    notes += [f"timeout {timeout:g} s"] if timeout is not None else []
    notes += [f"on_error {on_error}"] if on_error != _USUAL.get(row["role"], "isolate") else []
    return {**rest, "notes": ", ".join([*notes, *more]), "where": where}


def scope_of(receiver: Connected) -> str:
    if receiver.sender is None:
        return "ANY"
    sender = receiver.sender()
    return "gone" if sender is None else describe(sender)
