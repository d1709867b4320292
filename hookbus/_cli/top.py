"""`hookbus top`: what happens right now, by hook and by receiver."""

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
"""How far back the figures look."""

KEPT: Final = 20_000
"""Of so many calls of a hook at most the seconds are kept."""


class Window:
    """What happened in the last seconds."""

    def __init__(self) -> None:
        self._began, self._now = time.time(), time.time()
        self._ended: deque[tuple[float, str, str, float]] = deque()
        self._did: deque[tuple[float, str, str, str]] = deque()

    def add(self, type: str, data: dict[str, Any]) -> None:
        """Take in a record."""
        kind = type.removeprefix("hookbus.")
        if kind == "finished":
            self._ended.append((data["at"], data["hook"], data["outcome"], data["seconds"]))
        elif "receiver" in data and data.get("call_id"):
            self._did.append((data["at"], data["receiver"], data["hook"], kind))

    def forget(self, now: float) -> None:
        """Let go of what is too long ago."""
        self._now = now
        for kept in (self._ended, self._did):
            while kept and kept[0][0] < now - WINDOW_SECONDS:
                kept.popleft()

    def hooks(self) -> list[dict[str, Any]]:
        """Return a row for each hook, the busiest first."""
        outcomes: dict[str, Counter[str]] = defaultdict(Counter)
        seconds: dict[str, list[float]] = defaultdict(list)
        for _, hook, outcome, each in self._ended:
            outcomes[hook][outcome] += 1
            if len(seconds[hook]) < KEPT:
                seconds[hook].append(each)
        failed = Counter(hook for _, _, hook, kind in self._did if kind == "failed")
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
        """Return a row for each receiver that did something, the busiest first."""
        did: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for _, receiver, hook, kind in self._did:
            did[receiver, hook][kind] += 1
        return [
            {"receiver": receiver, "hook": hook, "blocked": kinds["blocked"],
             "failed": kinds["failed"], "changed": kinds["mutated"]}
            for (receiver, hook), kinds in sorted(did.items(), key=lambda each: -each[1].total())
        ]  # fmt: skip


def top(
    *, every: float = 1.0, times: int | None = None, read: Read = ANY_FILE, shown: Shown = TABLES
) -> None:
    """Show what happens right now, of the last ten seconds, until Ctrl-C: calls a second, blocked,
    raised, failed, and how long they take; and what receivers did.

    Args:
        every: so many seconds between two looks.
        times: look so often, then end.
    """
    if not 0.1 <= every <= 3600 or (times is not None and times < 1):
        raise HookError("--every takes 0.1 to 3600 seconds, and --times a number from 1")
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
        parts.append(table_of(receivers, "receivers"))
    return Group(*parts)
