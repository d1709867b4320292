"""Checks recorded calls with the current guards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from .. import Bus, HookError
from .._ground.keywords import named_options
from .._views.html import Pictured, titled
from .._views.tables import columns, html_table, text_table
from ._journal import Journal
from ._judges import Asked, CannotJudge, Judge, Past, guards
from ._senders import kind_of
from ._words import Record

SHOWN = 50
"""The maximum number of rows in the printed table. `differences` contains all differences."""


@attrs.frozen(kw_only=True)
class VerdictChange:
    """A call for which the current guards return a different verdict.

    Attributes:
        call_id: the number of the call in its run.
        run: the id of the run.
        hook: the name of the hook.
        then: the recorded verdict: `"allowed"`, `"blocked"` or `"asked"` (the call required
            approval).
        now: the verdict of the current guards for the same values.
        receiver: the guard that decides the call now, or the guard that decided the recorded call.
        reason: the reason for the guard's verdict.
        arguments: the recorded values of the arguments.
    """

    call_id: int
    run: str
    hook: str
    then: str
    now: str
    receiver: str
    reason: str | None
    arguments: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class NotJudged:
    """A guard that could not be called for some calls, with the reason and the number of these
    calls.
    """

    hook: str
    receiver: str
    why: str
    calls: int


@attrs.frozen
class Replay(Pictured):
    """The verdicts of the current guards for the calls of a journal.

    Attributes:
        calls: the number of calls that were checked.
        differences: the calls with a different verdict.
        not_judged: the guards that could not be called for some calls.
        in_shadow: the calls that the policies with `@shadow` of a `guards.policy` would block, or
            for which they would require an approval. These policies decide nothing.
        judged: the number of calls for which at least one guard could be called.
    """

    calls: int
    differences: tuple[VerdictChange, ...]
    not_judged: tuple[NotJudged, ...]
    in_shadow: tuple[VerdictChange, ...] = ()
    judged: int = 0

    def __str__(self) -> str:
        parts = [self._sum()]
        parts += [text_table(table) for _, table in self._tables()]
        return "\n\n".join(parts)

    def _html_parts(self) -> list[str]:
        tables = [titled(title, html_table(table)) for title, table in self._tables()]
        return [f"<p>{self._sum()}</p>", *tables]

    def _sum(self) -> str:
        ways = Counter(f"{each.then} then, {each.now} now" for each in self.differences)
        result = [f"{many} {way}" for way, many in ways.most_common()]
        return f"{self.calls} calls: " + ("; ".join(result) or "no difference")

    def _tables(self) -> Iterator[tuple[str, dict[str, list[str]]]]:
        for title, several, now in (
            ("Differences", self.differences, "now"),
            ("Only with the policies in shadow", self.in_shadow, "would be"),
        ):
            shown = [
                {"call": each.call_id, "hook": each.hook, "then": each.then, now: each.now,
                 "receiver": each.receiver, "reason": each.reason,
                 "arguments": each.arguments or None} for each in several[:SHOWN]
            ]  # fmt: skip
            if shown:
                more = f", the first {SHOWN}" if len(several) > SHOWN else ""
                yield f"{title}{more}", columns(shown)
        if self.not_judged:
            yield "Not judged", columns([attrs.asdict(each) for each in self.not_judged])


@named_options
def replay(journal: Journal, bus: Bus) -> Replay:
    """Call the guards of a bus, including those in shadow mode, for the calls of a journal. Methods
    and other receivers do not run. Each guard gets the final arguments of the call, a placeholder
    for the sender, and the baggage.

    A guard that counts calls, such as `guards.rate_limit`, also counts these calls. Use a separate
    bus for the guards that you want to test.

    Args:
        journal: the journal. It contains the values of arguments only if its bus was created with
            `values=True`.
        bus: the bus whose `pre` guards are called.

    Raises:
        HookError: if the journal cannot be read, or `bus` is not a bus.
    """
    if not isinstance(journal, Journal) or not isinstance(bus, Bus):
        raise HookError("replay(journal, bus) needs a Journal and a Bus")
    court = _Court(bus)
    for call in past_calls(journal):
        court.judge(call)
    return court.result()


def past_calls(journal: Journal) -> Iterator[PastCall]:
    """Yield the calls of a journal in the order in which they ended, and then all calls that have
    not ended."""
    under_way = dict[tuple[str, int], PastCall]()
    for record in journal.records():
        key = record.run, record.data.get("call_id", 0)
        kind = record.type.removeprefix("hookbus.")
        if kind == "started":
            under_way[key] = PastCall(record)
        elif key in under_way:
            under_way[key].add(kind, record.data)
            if kind == "finished":
                yield under_way.pop(key)
    yield from under_way.values()


class PastCall:
    """A call that was rebuilt from its records.

    Attributes:
        then: the recorded verdict, with the guard and the reason.
    """

    def __init__(self, started: Record) -> None:
        data = started.data
        self.run, self.id, self.hook = started.run, data["call_id"], data["hook"]
        self.names, self.sender = tuple(data["arguments"]), kind_of(data["sender"])
        self.baggage = started.baggage
        values = data.get("values")
        self.values = dict(values) if isinstance(values, dict) else None
        self.then: tuple[str, str, str | None] = "allowed", "", None

    def add(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "mutated" and data["name"] in self.names and self.values is not None:
            self.values[data["name"]] = data.get("after")
        elif kind == "invoked" and data["answer"] == "asked":
            self.then = "asked", data["receiver"], None
        elif kind == "blocked" and data["phase"] == "pre" and data["enforced"]:
            was_asked = self.then[0] == "asked"
            result = "asked" if was_asked else "blocked"
            self.then = result, data["receiver"], data["reason"]

    @property
    def past(self) -> Past:
        return Past(self.names, self.values, self.baggage)


class _Court:
    """Calls the guards and collects their verdicts."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._judges: dict[tuple[str, str], list[tuple[Judge, Asked]]] = {}
        self._by_connection: dict[int, Judge] = {}
        self._calls = self._judged = 0
        self._differences: list[VerdictChange] = []
        self._in_shadow: list[VerdictChange] = []
        self._unjudged = Counter[tuple[str, str, str]]()

    def judge(self, call: PastCall) -> None:
        """Call the guards for a call until a guard does not allow the call."""
        self._calls += 1
        past, is_open, is_judged = call.past, False, False
        for judge, asked in self._of(call.hook, call.sender):
            try:
                if asked.why_not is not None:
                    raise CannotJudge(asked.why_not)
                now, reason = judge.verdict(past, asked.sender)
            except CannotJudge as error:
                self._unjudged[call.hook, judge.name, str(error)] += 1
                is_open = is_open or not judge.only_reports
                continue
            if judge.only_reports:
                if now != "allowed":
                    self._in_shadow.append(_change(call, now, judge.name, reason))
                continue
            self._judged += not is_judged
            is_judged = True
            if now != "allowed":
                self._compare(call, now, judge.name, reason)
                return
        if not is_open:
            self._compare(call, "allowed", *call.then[1:])

    def result(self) -> Replay:
        unjudged = [
            NotJudged(hook=hook, receiver=receiver, why=why, calls=calls)
            for (hook, receiver, why), calls in self._unjudged.items()
        ]
        changes, in_shadow = tuple(self._differences), tuple(self._in_shadow)
        return Replay(self._calls, changes, tuple(unjudged), in_shadow, self._judged)

    def _compare(self, call: PastCall, now: str, receiver: str, reason: str | None) -> None:
        then, who, _ = call.then
        if then == now:
            return
        if now == "allowed" and who in self._others(call.hook):
            why = "it blocked the call but is not a guard, and replay calls only guards"
            self._unjudged[call.hook, who, why] += 1
            return
        self._differences.append(_change(call, now, receiver, reason))

    def _others(self, hook: str) -> set[str]:
        """Return the names of `pre` receivers that are not guards but may block."""
        connections = self._bus.signal(f"pre_{hook}").connections()
        return {each.name for each in connections if each.role == "modify"}

    def _of(self, hook: str, sender: str) -> list[tuple[Judge, Asked]]:
        found = self._judges.get((hook, sender))
        if found is None:
            found = self._judges[hook, sender] = [
                (self._judge(hook, asked.guard), asked)
                for asked in guards(self._bus, hook, sender)
            ]
        return found

    def _judge(self, hook: str, connected: Any) -> Judge:
        judge = self._by_connection.get(id(connected))
        if judge is None:
            judge = self._by_connection[id(connected)] = Judge(self._bus, hook, connected)
        return judge


def _change(call: PastCall, now: str, receiver: str, reason: str | None) -> VerdictChange:
    return VerdictChange(
        call_id=call.id, run=call.run, hook=call.hook, then=call.then[0], now=now,
        receiver=receiver, reason=reason, arguments=call.values or {},
    )  # fmt: skip
