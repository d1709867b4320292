"""Live updates: server-sent events for new records and pending approvals."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from .. import HookError
from ._asked import Waiting
from ._reading import Reading
from ._rows import row

AT_ONCE: Final = 2_000
"""The maximum number of records in one event."""
BACKLOG: Final = 20_000
"""The maximum number of records sent to a browser that connects or falls behind."""
PAUSE_SECONDS: Final = 0.25
_QUIET_SECONDS: Final = 15.0


async def happening(
    reading: Reading, approvals: Any, since: int | None, is_signed_in: Callable[[], bool]
) -> AsyncIterator[str]:
    """Yield server-sent events until the session ends.

    `calls` contains rows; its id is the number of the last record, which a reconnecting browser
    sends back. `skipped` contains the number of records that are not shown. `approvals` contains
    all pending requests, and `rules` the standing approvals; both are sent whenever they change.
    `trouble` describes a file that cannot be read, or that a guard could not reload, and is empty
    if there is no such file.

    Args:
        reading: the journal.
        approvals: the store or inbox, or None.
        since: the number of the last record that this browser has received, or None.
        is_signed_in: returns whether the session of the browser is still valid.
    """
    seq, quiet = since, 0.0
    waiting = None if approvals is None else Waiting(approvals)
    last = {"trouble": '""', "rules": "[]"}
    problems: dict[str, str | None] | None = None
    while True:
        messages: list[str] = []
        now, trouble = {}, []
        try:
            if problems is None:
                problems = await asyncio.to_thread(reading.problems)
            seq, messages = await asyncio.to_thread(_new, reading, seq, problems)
            trouble += [f"{who}: {said}" for who, said in problems.items() if said]
        except HookError as error:
            trouble.append(str(error))
        try:
            if waiting is not None:
                now["approvals"] = json.dumps(await asyncio.to_thread(waiting.shown))
                now["rules"] = json.dumps(await asyncio.to_thread(waiting.rules))
        except HookError as error:
            trouble.append(str(error))
        now["trouble"] = json.dumps("; ".join(trouble))
        messages += [event(name, data) for name, data in now.items() if last.get(name) != data]
        last |= now
        quiet = 0.0 if messages else quiet + PAUSE_SECONDS
        if quiet >= _QUIET_SECONDS:  # to detect a closed browser
            quiet = 0.0
            messages = [": nothing new\n\n"]
        for each in messages:
            if not await asyncio.to_thread(is_signed_in):
                return
            yield each
        await asyncio.sleep(PAUSE_SECONDS)


def event(name: str, data: str, id: int | None = None) -> str:
    """Return one server-sent event. JSON on one line cannot contain a line break."""
    numbered = "" if id is None else f"id: {id}\n"
    return f"event: {name}\n{numbered}data: {data}\n\n"


def _new(
    reading: Reading, since: int | None, problems: dict[str, str | None]
) -> tuple[int, list[str]]:
    """Return the number of the last record, and the events after the given record. Store the latest
    problem of each guard that reloaded its files.
    """
    last, messages = reading.last(), []
    seq = max(last - BACKLOG, 0) if since is None else min(since, last)
    if last - seq > BACKLOG:
        messages.append(event("skipped", str(last - BACKLOG - seq)))
        seq = last - BACKLOG
    while seq < last and (records := reading.after(seq, AT_ONCE)):
        seq = records[-1].seq
        problems |= {
            each.data["receiver"]: each.data["problem"] for each in records
            if each.type == "hookbus.reloaded"
        }  # fmt: skip
        messages.append(event("calls", json.dumps([row(each) for each in records]), seq))
    return seq, messages
