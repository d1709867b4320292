"""Summarize a bus as text and HTML: its receivers, their failures, and receivers that never fired.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args, get_origin

import attrs

from .._bus import Bus, default_bus
from .._connections.options import odd_timeout
from .._connections.order import in_order
from .._connections.phases import ANSWER
from .._connections.receiver import Connected
from .._connections.signal import HookSignal
from .._ground.errors import did_you_mean
from .._ground.keywords import check_bus, named_options
from .._ground.signatures import signature_of
from .._hooks.hook import Hook
from .._hooks.statics import is_method, one_walk
from .._outgoing.exporting import unconnected
from .._questions.spec import Spec
from .._waiting.workers import workers
from . import findings
from .explain import noted, origin_of, scope_of
from .html import Pictured, titled
from .tables import brief, columns, escape, html_table, once, text_items, text_table


@attrs.frozen
class Report(Pictured):
    """A summary of a bus.

    Attributes:
        hooks: for each hook, its name, its kind (sync, async, generator or async generator), the
            location of its declaration, and the number of its receivers.
        receivers: for each connection, its signal, its options, its state, and the number of its
            failures.
        findings: sentences about possible problems.
        plugins: each plugin that was found, with its status (loaded, disabled, refused or unloaded)
            and the reason for the status.
    """

    hooks: tuple[dict[str, Any], ...]
    receivers: tuple[dict[str, Any], ...]
    findings: tuple[str, ...]
    plugins: tuple[dict[str, Any], ...] = ()

    def _tables(self) -> dict[str, dict[str, list[str]] | str]:
        """Return the tables by title. A string replaces an empty table."""
        receivers: Any = "no receivers are connected"
        if self.receivers:
            receivers = columns([_with_notes(row) for row in self.receivers])
            receivers["signal"] = once(receivers["signal"])
        hooks = columns(self.hooks) if self.hooks else "no hooks are declared"
        plugins = {"plugins": columns(self.plugins)} if self.plugins else {}
        return {"hooks": hooks, "receivers": receivers, **plugins}

    def _findings(self) -> list[str]:
        """Return the findings as text, without locations that the tables already show."""
        places: dict[str, set[str]] = {}
        for row in self.receivers:
            places.setdefault(row["receiver"], set()).add(row["where"])
        known = [f"{name} ({where})" for name, (where, *more) in places.items() if not more]
        return [brief(_without_places(finding, known)) for finding in self.findings]

    def __str__(self) -> str:
        parts = []
        for title, table in self._tables().items():
            shown = f"  {table}" if isinstance(table, str) else text_table(table)
            parts += [title, shown, ""]
        return "\n".join([*parts, "findings", text_items(self._findings()) or "  none"])

    def _html_parts(self) -> list[str]:
        parts = []
        for title, table in self._tables().items():
            shown = f"<p>{escape(table)}</p>" if isinstance(table, str) else html_table(table)
            parts.append(titled(title, shown))
        findings = "".join(f"<li>{escape(finding)}</li>" for finding in self._findings())
        return [*parts, titled("findings", f"<ul>{findings or '<li>none</li>'}</ul>")]


def _with_notes(row: dict[str, Any]) -> dict[str, Any]:
    facts = dict(row)
    state, failures = facts.pop("state"), facts.pop("failures")
    opened, _ = facts.pop("failed open"), facts.pop("last failure")  # the findings contain it
    notes = [state] if state != "fired" else []
    for count, how in ((opened, "failed open"), (failures - opened, "failed")):
        notes += [f"{how} {_times(count)}"] if count else []
    return noted(facts, *notes)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _without_places(finding: str, known: list[str]) -> str:
    for label in known:
        finding = finding.replace(label, label.rpartition(" (")[0])
    return finding


@named_options
def report(bus: Bus = default_bus) -> Report:
    """Show the state of a bus: every hook, every receiver, and possible problems.

    The findings list receivers that never fired, that failed open, or that failed and stopped a
    call. They list signals that no hook emits, modifiers that block but fail open, hooks without a
    required guard, and observers that delay calls. They also list arounds that lose the result,
    conditions that can never match, receivers that one line of code connected several times,
    overrides that are not hooked, and threads that run past their deadline. Receivers can report
    their own problems.

    Args:
        bus: the bus to show.

    Returns:
        A report that `print` and notebooks show as tables.
    """
    check_bus(bus)
    with one_walk(bus._switchboard.hooks()):
        return _summarize(bus)


def _summarize(bus: Bus) -> Report:
    signals = [signal for signal in bus.signals() if signal.receivers]
    declared = [each for name in bus.hook_names() for each in bus._switchboard.declared(name)]
    rows = [_hook_row(bus, hook) for hook in declared]
    # A class that a cell has redefined exists until it is garbage collected.
    hooks = tuple(row for at, row in enumerate(rows) if row not in rows[:at])
    receivers = tuple(_receiver_row(signal, r) for signal in signals for r in _connections(signal))
    found = [finding for signal in signals for finding in _findings_of(bus, signal)]
    found += [each for hook in declared
              for each in (*findings.of_hook(hook), *findings.unguarded(bus, hook))]  # fmt: skip
    found += [each for signal in bus.signals()
              for each in (*findings.died(signal), *findings.orphaned(signal))]  # fmt: skip
    found += [f"Bus({odd})"] if (odd := odd_timeout(bus.timeout)) else []
    found += [f"not hooked: {override}" for override in bus._checks.uncovered()]
    found += unconnected()
    found += [f"no hook has a name that {glob!r} matches" for glob in bus._globs.unmet()]
    overdue = workers.overdue(bus)
    if overdue:
        found.append(
            f"{overdue} worker threads are past their receiver's deadline and have not "
            "returned"
        )
    background = vars(bus).get("_background")
    if background is not None and (dropped := background.dropped):
        found.append(
            f"{dropped} calls of background observers were dropped, because "
            f"{background.limit} were running already; Bus(max_background=) sets the limit"
        )
    found += [
        str(each) if each.level == "error" else findings.Note(each)
        for each in (bus.plugins.diagnostics if bus.plugins else ())
    ]
    plugins = tuple(attrs.asdict(row) for row in (bus.plugins.rows() if bus.plugins else ()))
    return Report(hooks, receivers, tuple(found), plugins)


def _connections(signal: HookSignal) -> list[Connected]:
    """Return the connections of a signal in the order in which they were made. For a question,
    return them in the order in which they are called.
    """
    connections = signal.connections()
    if signal.phase == ANSWER:
        return in_order((0.0, receiver) for receiver in connections)
    return connections


def _hook_row(bus: Bus, hook: Hook) -> dict[str, Any]:
    code = getattr(inspect.unwrap(hook.body), "__code__", None)
    where = f"{code.co_filename}:{code.co_firstlineno}" if code else hook.body.__module__
    signals = bus._switchboard.signals_of(hook.name)
    signals += [hook.signal] if isinstance(hook, Spec) else []
    return {
        "hook": hook.name, "function": hook.body.__qualname__, "kind": hook.kind,
        "mode": hook.rules.mode_name if isinstance(hook, Spec) else None,
        "receivers": sum(len(signal.connections()) for signal in signals), "where": where,
    }  # fmt: skip


def _receiver_row(signal: HookSignal, receiver: Connected) -> dict[str, Any]:
    options = receiver.options
    return {
        "signal": signal.name, "receiver": receiver.name, "role": receiver.role,
        "priority": options.priority, "scope": scope_of(receiver), "on_error": receiver.on_error,
        "timeout": options.timeout, "background": options.background or None,
        "locked": options.locked or None,
        "state": _state(receiver), "failures": receiver.failures,
        "failed open": receiver.fail_opens, "last failure": receiver.last_failure,
        "where": receiver.where, "plugin": origin_of(signal, receiver)[0],
    }  # fmt: skip


def _state(receiver: Connected) -> str:
    if not receiver.is_enabled:
        return "disabled"
    return "fired" if receiver.has_fired else "never fired"


def _findings_of(bus: Bus, signal: HookSignal) -> Iterator[str]:
    receivers = signal.connections()
    declared = bus._switchboard.declared(signal.hook) if signal.phase else []
    if not declared and not signal._was_asked:
        hint = findings.pending(bus, signal)
        first = receivers[0].label
        yield f"pending: nothing emits {signal.name}, but {first} is connected to it{hint}"
    for receiver in receivers:
        it = f"{receiver.label} on {signal.name}"
        for other in (*receiver.options.before, *receiver.options.after):
            if not any(other in r.names for r in receivers):
                hint = did_you_mean(other, [r.name for r in receivers if r is not receiver])
                where = f"{it} names {other!r} in before= or after="
                yield f"{where}, but no receiver has this name{hint}"
        if receiver.options.shadow:
            yield findings.Note(f"in shadow mode, so it blocks nothing: {it}")
        if not receiver.has_fired:
            why = findings.unreached(bus, receiver, declared)
            yield (str if why else findings.Note)(f"never fired: {it}{why}")
        if findings.opens(receiver):
            yield f"{it} blocks, but fails open: connect it with role='guard'"
        closed = receiver.failures - receiver.fail_opens
        for count, how in ((receiver.fail_opens, "open"), (closed, "and stopped the call")):
            if count:
                times = _times(count) + ", last" * (count > 1)
                yield f"{it} failed {how} {times}: {receiver.last_failure}"
        yield from _misfits(receiver, signal, declared)
        yield from findings.of_itself(receiver, it)
        yield from findings.of_seals(receiver, it)
        yield from findings.of_seconds(receiver, it)
        yield from findings.of_answers(receiver, it)
        yield from findings.of_timeout(receiver, it)
        if receiver.role == "around":
            yield from findings.of_around(receiver, it, declared)
        yield from findings.left_behind(bus, receiver, signal)
    yield from findings.repeated(signal, receivers)


def _misfits(receiver: Connected, signal: HookSignal, declared: list[Hook]) -> Iterator[str]:
    """Yield messages about parameters, conditions and defaults of a receiver that match no
    hookable.
    """
    problems = [receiver.problem_with(h.served(as_method=is_method(h))) for h in declared]
    yield from dict.fromkeys(problem for problem in problems if problem)
    names = {name for hook in declared for name in hook.function_signature.names}
    optional = {*receiver.parameters.names} - receiver.parameters.needed
    for name in sorted(optional - names) if declared else ():
        hint = did_you_mean(name, names)
        if "did you mean" in hint:
            yield f"{receiver.label} on {signal.name} always gets its default for {name!r}{hint}"
    if signal.phase == ANSWER and receiver.function is not None:
        yield from _unused_defaults(receiver, declared)
    when = receiver.options.when
    if declared and when is not None and not callable(when):
        for name, glob in when.items():
            if not any(_may_match(hook, name, glob) for hook in declared):
                it = f"{receiver.label} on {signal.name}"
                yield f"{it} can never match: when={{{name!r}: {glob!r}}}"


def _unused_defaults(receiver: Connected, declared: list[Hook]) -> Iterator[str]:
    """Yield a message for each default of a receiver that is never used, because the question
    always passes its own default.
    """
    theirs: Any = receiver.function
    for name, parameter in signature_of(theirs).parameters.items():
        asked = [signature_of(hook.body).parameters.get(name) for hook in declared]
        if parameter.default is not parameter.empty and all(
            own is not None
            and own.default is not own.empty
            and own.default is not parameter.default
            for own in asked
        ):
            question = f"the question {declared[0].name}"
            used = f"{question} has its own"
            yield f"{receiver.label} never gets its default for {name!r}, because {used}"


def _may_match(hook: Hook, name: str, glob: str) -> bool:
    """Return whether a glob can match an argument, by its name and a `Literal` annotation."""
    parameter = signature_of(hook.body).parameters.get(name)
    if parameter is None:
        return False
    if get_origin(parameter.annotation) is Literal:
        return any(fnmatchcase(str(value), glob) for value in get_args(parameter.annotation))
    return True
