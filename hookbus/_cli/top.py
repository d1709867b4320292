"""`hookbus top`: watch the current calls, by hook and by receiver."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from contextlib import nullcontext
from statistics import quantiles
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from .. import HookError
from .following import records_from
from .reading import ANY_FILE, Read
from .screen import TABLES, Shown, console, lasted, print_json, table_of

WINDOW_SECONDS: Final = 10.0
"""The period that the figures cover, in seconds."""

KEPT: Final = 20_000
"""The maximum number of durations to keep for each hook."""


class Window:
    """The events of the last seconds, and the figures computed from them."""

    def __init__(self) -> None:
        self._began, self._now = time.time(), time.time()
        self._ended: deque[tuple[float, str, str, float]] = deque()
        self._did: deque[tuple[float, str, str, str, float | None]] = deque()

    def add(self, type: str, data: dict[str, Any]) -> None:
        """Add a record."""
        kind = type.removeprefix("hookbus.")
        if kind == "finished":
            self._ended.append((data["at"], data["hook"], data["outcome"], data["seconds"]))
        elif "receiver" in data and data.get("call_id"):
            is_of_person = data.get("answer") in ("approved", "handed on")
            took = None if is_of_person else data.get("seconds")
            self._did.append((data["at"], data["receiver"], data["hook"], kind, took))

    def forget(self, now: float) -> None:
        """Drop events that are older than the period."""
        self._now = now
        for events in (self._ended, self._did):
            while events and events[0][0] < now - WINDOW_SECONDS:
                events.popleft()

    def hooks(self) -> list[dict[str, Any]]:
        """Return a row for each hook, busiest first."""
        outcomes: dict[str, Counter[str]] = defaultdict(Counter)
        seconds: dict[str, list[float]] = defaultdict(list)
        for _, hook, outcome, each in self._ended:
            outcomes[hook][outcome] += 1
            if len(seconds[hook]) < KEPT:
                seconds[hook].append(each)
        failed = Counter(hook for _, _, hook, kind, _ in self._did if kind == "failed")
        rows, span = [], min(max(self._now - self._began, 0.1), WINDOW_SECONDS)
        for hook, ends in sorted(outcomes.items(), key=lambda each: -each[1].total()):
            cuts = quantiles(seconds[hook] * 2, n=100)
            rows.append({
                "hook": hook, "calls/s": round(ends.total() / span, 1),
                "blocked": ends["blocked"], "raised": ends["raised"], "failed": failed[hook],
                "p50": cuts[49], "p99": cuts[98], "slowest": max(seconds[hook]),
            })  # fmt: skip
        return rows

    def receivers(self) -> list[dict[str, Any]]:
        """Return a row for each receiver that acted, slowest first, then busiest.

        A journal contains the duration of a receiver only if the receiver waited for a person, or
        if `--turns` was used.
        """
        did: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        slowest: dict[tuple[str, str], float] = {}
        for _, receiver, hook, kind, took in self._did:
            did[receiver, hook][kind] += 1
            if kind == "invoked" and took is not None:
                slowest[receiver, hook] = max(took, slowest.get((receiver, hook), 0.0))
        by_weight = sorted(did, key=lambda each: (-slowest.get(each, 0.0), -did[each].total()))
        return [
            {"receiver": each[0], "hook": each[1], "blocked": did[each]["blocked"],
             "failed": did[each]["failed"], "changed": did[each]["mutated"],
             "slowest": slowest.get(each)}
            for each in by_weight
        ]  # fmt: skip


def top(
    *, every: float = 1.0, times: int | None = None, read: Read = ANY_FILE, shown: Shown = TABLES
) -> None:
    """Show the calls of the last ten seconds until Ctrl-C: calls per second, the numbers of
    blocked, raised and failed calls, their durations, and the actions of receivers.

    Args:
        every: the number of seconds between two updates.
        times: exit after this number of updates.
    """
    if not 0.1 <= every <= 3600 or (times is not None and times < 1):
        raise HookError("--every must be from 0.1 to 3600 seconds, and --times at least 1")
    journal, window = read.opened(), Window()
    screen = console()
    live = Live(console=screen, auto_refresh=False, screen=True) if screen.is_terminal else None
    with live or nullcontext():
        due, looks = time.monotonic() + every, 0
        for new in records_from(journal, journal.checkpoint().seq):
            for record in new:
                window.add(record.type, record.data)
            if time.monotonic() < due:
                continue
            due, looks = time.monotonic() + every, looks + 1
            window.forget(time.time())
            if shown.json:
                print_json({"hooks": window.hooks(), "receivers": window.receivers()})
            elif live is None:
                screen.print(_picture(window))
            else:
                live.update(_picture(window), refresh=True)
            if looks == times:
                return


def _picture(window: Window) -> RenderableType:
    spans = ("p50", "p99", "slowest")
    hooks = [{**row, **{span: lasted(row[span]) for span in spans}} for row in window.hooks()]
    if not hooks:
        return Text("no call has ended in the last ten seconds")
    parts: list[RenderableType] = [table_of(hooks, "hooks, the last ten seconds")]
    if receivers := window.receivers():
        rows = [{**row, "slowest": row["slowest"] and lasted(row["slowest"])} for row in receivers]
        parts.append(table_of(rows, "receivers, slowest first"))
    return Group(*parts)
