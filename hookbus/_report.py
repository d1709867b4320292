"""A bus and a call as rows, in text and in HTML: who runs, in what order, what broke, and what will never fire."""

from __future__ import annotations

import html
import inspect
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args, get_origin, overload

import attrs

from ._bus import Bus, default_bus
from ._hook import ANSWER, FUNCTION_SITE, Hook, describe, hook_of
from ._order import in_order, is_named
from ._plan import Plan, Seat, build_plan
from ._receiver import Receiver
from ._runner import runner_for
from ._signal import HookSignal
from ._spec import Spec
from ._workers import workers
from .exceptions import HookError, did_you_mean


@attrs.frozen
class Row:
    """One receiver as a call asks it.

    Attributes:
        position: its place in its phase, from 1.
        scope: what it is connected to.
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
class Explanation(Sequence[Row]):
    """Who runs around one hookable for one sender, or answers one question, in the order they run."""

    title: str
    rows: tuple[Row, ...]
    when_empty: str = "nobody listens: the method runs directly"

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

    def __str__(self) -> str:
        if not self.rows:
            return f"{self.title}\n  {self.when_empty}"
        return f"{self.title}\n{_text_table(_columns(self.rows))}"

    def _repr_html_(self) -> str:
        body = _html_table(_columns(self.rows)) if self.rows else f"<p>{html.escape(self.when_empty)}</p>"
        return f"<h4>{html.escape(self.title)}</h4>{body}"


@attrs.frozen
class Report:
    """A bus at a glance.

    Attributes:
        hooks: name, colour, where it is declared and how many receivers there are, for every hook.
        receivers: every connection: its signal, options, whether it fired, how often it failed and failed open.
        findings: what deserves a look, in sentences.
        plugins: every plugin that was found: loaded, disabled, refused or unloaded, and why.
    """

    hooks: tuple[dict[str, Any], ...]
    receivers: tuple[dict[str, Any], ...]
    findings: tuple[str, ...]
    plugins: tuple[dict[str, Any], ...] = ()

    def __str__(self) -> str:
        parts = ["hooks", _text_table(_transpose(self.hooks)) if self.hooks else "  none are declared"]
        parts += ["", "receivers", _text_table(_transpose(self.receivers)) if self.receivers else "  none are connected"]
        parts += ["", "plugins", _text_table(_transpose(self.plugins))] if self.plugins else []
        parts += ["", "findings", *([f"  - {finding}" for finding in self.findings] or ["  none"])]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        findings = "".join(f"<li>{html.escape(finding)}</li>" for finding in self.findings) or "<li>none</li>"
        hooks = _html_table(_transpose(self.hooks)) if self.hooks else "<p>none are declared</p>"
        receivers = _html_table(_transpose(self.receivers)) if self.receivers else "<p>none are connected</p>"
        plugins = f"<h4>plugins</h4>{_html_table(_transpose(self.plugins))}" if self.plugins else ""
        return f"<h4>hooks</h4>{hooks}<h4>receivers</h4>{receivers}{plugins}<h4>findings</h4><ul>{findings}</ul>"


def explain(hookable: Any) -> Explanation:
    """Say who runs around a hookable, in order: `explain(agent.reply)`, `explain(Agent.reply)`, `explain(function)`.

    For a hookspec it says who answers, too: `explain(resolve_session)`. It reads the very plan that the call runs.

    Raises:
        HookError: if it is not hookable.
    """
    hook = hook_of(hookable)
    if hook is None:
        raise HookError(f"{hookable!r:.80} is not hookable: decorate it with @hookable, or call instrument(cls, 'method')")
    if isinstance(hook, Spec):
        title = f"{hook.name}, a question ({hook.colour}, {hook.rules.mode_name})"
        return Explanation(title, tuple(_rows(hook.panel().plan, hook)), "nobody answers")
    owner = getattr(hookable, "__self__", None)
    if owner is not None:
        site = hook.site_of(owner)
        plan, who = runner_for(hook, site, owner).plan, describe(owner)
    else:
        cls = hook.bus.class_of(hook)
        if cls is None:
            plan, who = runner_for(hook, FUNCTION_SITE, hook.shell).plan, describe(hook.shell)
        else:
            plan, who = build_plan(hook, hook.site_of_class(cls), cls), f"any {cls.__qualname__}"
    return Explanation(f"{hook.name} of {who} ({hook.colour})", tuple(_rows(plan)))


def _rows(plan: Plan, spec: Spec | None = None) -> Iterator[Row]:
    phases = list(plan.phases())
    if spec is not None:
        phases.insert(2, (ANSWER, tuple(seat for _, seat in spec.panel().seats)))  # inside the arounds
    for phase, seats in (*phases, *((s.phase, (s,)) for s in plan.unaskable)):
        for position, seat in enumerate(seats, 1):
            yield _row(phase, position, seat)


def _row(phase: str, position: int, seat: Seat) -> Row:
    receiver = seat.receiver
    return Row(
        phase, position, receiver.name, receiver.role, receiver.options.priority, _scope(receiver), receiver.on_error,
        seat.timeout, receiver.where, seat.problem, *_origin(seat.signal, receiver),
    )  # fmt: skip


def _origin(signal: HookSignal, receiver: Receiver) -> tuple[str | None, str | None]:
    """Return the plugin that connected a receiver, and what the operator says of it."""
    plugins = signal._home.plugins
    origin: tuple[str, str | None] | None = plugins.origin_of(receiver) if plugins else None
    return origin or (None, None)


def _scope(receiver: Receiver) -> str:
    sender = receiver.sender() if receiver.sender is not None else None
    return "ANY" if sender is None else describe(sender)


def report(bus: Bus = default_bus) -> Report:
    """Say what a bus holds: every hook, who listens, and what deserves a look.

    That is receivers that never fired or failed, names nobody emits, modifiers that block but fail open, matchers that can
    never match, overrides that are not hooked, and workers past their deadline.
    """
    signals = [signal for signal in bus.signals() if signal.receivers]
    hooks = tuple(_hook_row(bus, hook) for name in bus.hook_names() for hook in bus._declared(name))
    receivers = tuple(_receiver_row(signal, r) for signal in signals for r in _connections(signal))
    findings = [finding for signal in signals for finding in _findings_of(bus, signal)]
    findings += [f"not hooked: {override}" for override in bus.uncovered()]
    if workers.overdue:
        findings.append(f"{workers.overdue} worker threads are past their receiver's deadline and have not returned")
    findings += [str(diagnostic) for diagnostic in (bus.plugins.diagnostics if bus.plugins else ())]
    plugins = tuple(attrs.asdict(row) for row in (bus.plugins.rows() if bus.plugins else ()))
    return Report(hooks, receivers, tuple(findings), plugins)


def _connections(signal: HookSignal) -> list[Receiver]:
    """Return the connections of a question in the order they are asked, others in the order they were made."""
    connections = signal.connections()
    return in_order((0.0, receiver) for receiver in connections) if signal.phase == ANSWER else connections


def _hook_row(bus: Bus, hook: Hook) -> dict[str, Any]:
    code = getattr(inspect.unwrap(hook.body), "__code__", None)
    where = f"{code.co_filename}:{code.co_firstlineno}" if code else hook.body.__module__
    signals = bus._signals_of(hook.name) + ([hook.signal] if isinstance(hook, Spec) else [])
    return {
        "hook": hook.name, "function": hook.body.__qualname__, "colour": hook.colour,
        "mode": hook.rules.mode_name if isinstance(hook, Spec) else None,
        "receivers": sum(len(signal.connections()) for signal in signals), "where": where,
    }  # fmt: skip


def _receiver_row(signal: HookSignal, receiver: Receiver) -> dict[str, Any]:
    options = receiver.options
    return {
        "signal": signal.name, "receiver": receiver.name, "role": receiver.role, "priority": options.priority,
        "scope": _scope(receiver), "on_error": receiver.on_error, "timeout": options.timeout,
        "state": "disabled" if not receiver.is_enabled else "fired" if receiver.has_fired else "never fired",
        "failures": receiver.failures, "failed open": receiver.fail_opens, "last failure": receiver.last_failure,
        "where": receiver.where, "plugin": _origin(signal, receiver)[0],
    }  # fmt: skip


def _findings_of(bus: Bus, signal: HookSignal) -> Iterator[str]:
    receivers = signal.connections()
    declared = bus._declared(signal.hook) if signal.phase else []
    if not declared and not signal.was_sent:
        questions = [name for name in bus.hook_names() if bus._declared(name)[0].is_question]
        known = [f"{signal.phase or 'pre'}_{name}" for name in bus.hook_names()] if signal.phase or not questions else questions
        yield f"pending: nobody emits {signal.name}, which {receivers[0].label} waits for{did_you_mean(signal.name, known)}"
    for receiver in receivers:
        for other in (*receiver.options.before, *receiver.options.after):
            if not any(is_named(r, other) for r in receivers):
                hint = did_you_mean(other, [r.name for r in receivers if r is not receiver])
                yield f"{receiver.label} on {signal.name} names {other!r} in before= or after=, which nobody has{hint}"
        if not receiver.has_fired:
            yield f"never fired: {receiver.label} on {signal.name}"
        if receiver.role == "modify" and receiver.has_blocked and not receiver.closes:
            yield f"{receiver.label} on {signal.name} blocks, but fails open: make it a guard"
        if receiver.fail_opens:
            yield f"{receiver.label} on {signal.name} failed open {receiver.fail_opens} times, last with {receiver.last_failure}"
        yield from _misfits(receiver, signal, declared)


def _misfits(receiver: Receiver, signal: HookSignal, declared: list[Hook]) -> Iterator[str]:
    """Name what a receiver wants of the hookables there are and none of them has."""
    problems = [receiver.problem_with(h.name, h.colour, h.function_signature.names) for h in declared]
    yield from dict.fromkeys(problem for problem in problems if problem)
    names = {name for hook in declared for name in hook.function_signature.names}
    for name in sorted(receiver.asks.optional - names) if declared else ():
        hint = did_you_mean(name, names)
        if "did you mean" in hint:
            yield f"{receiver.label} on {signal.name} always gets its default for {name!r}{hint}"
    if signal.phase == ANSWER and receiver.function is not None:
        yield from _unused_defaults(receiver, declared)
    when = receiver.options.when
    if declared and when is not None and not callable(when):
        for name, glob in when.items():
            if not any(_may_match(hook, name, glob) for hook in declared):
                yield f"{receiver.label} on {signal.name} can never match: when={{{name!r}: {glob!r}}}"


def _unused_defaults(receiver: Receiver, declared: list[Hook]) -> Iterator[str]:
    """Name the defaults that a question's own always stand in front of."""
    theirs: Any = receiver.function
    for name, parameter in inspect.signature(theirs).parameters.items():
        asked = [inspect.signature(hook.body).parameters.get(name) for hook in declared]
        if parameter.default is not parameter.empty and all(
            own is not None and own.default is not own.empty and own.default is not parameter.default for own in asked
        ):
            yield f"{receiver.label} never gets its own default for {name!r}: the question {declared[0].name} has one"


def _may_match(hook: Hook, name: str, glob: str) -> bool:
    """Tell whether a glob can match an argument, as far as its name and a `Literal` annotation say."""
    parameter = inspect.signature(hook.body).parameters.get(name)
    if parameter is None:
        return False
    if get_origin(parameter.annotation) is Literal:
        return any(fnmatchcase(str(value), glob) for value in get_args(parameter.annotation))
    return True


# -- tables ----------------------------------------------------------------------------------------------------------------


def _columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    return _transpose(tuple(attrs.asdict(row) for row in rows))


def _transpose(rows: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Return columns of text; one that says nothing is left out."""
    columns = {name: ["" if row[name] is None else str(row[name]) for row in rows] for name in rows[0]}
    return {name: cells for name, cells in columns.items() if any(cells)}


def _text_table(columns: dict[str, list[str]]) -> str:
    widths = {name: max(len(name), *map(len, cells)) for name, cells in columns.items()}
    lines = [list(columns), *zip(*columns.values())]
    return "\n".join("  " + "  ".join(c.ljust(w) for c, w in zip(line, widths.values())).rstrip() for line in lines)


def _html_table(columns: dict[str, list[str]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    lines = ("".join(f"<td>{html.escape(cell)}</td>" for cell in line) for line in zip(*columns.values()))
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
