"""What happens, as it happens: server-sent events of new records and of who waits for a yes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final

from .. import HookError
from ._asked import Waiting
from ._reading import Reading
from ._rows import row

AT_ONCE: Final = 2_000
"""So many records are sent in one event."""
BACKLOG: Final = 20_000
"""So many records a browser is behind at most: at the start, and when it is too slow."""
PAUSE_SECONDS: Final = 0.25
_QUIET_SECONDS: Final = 15.0


async def happening(reading: Reading, approvals: Any, since: int | None) -> AsyncIterator[str]:
    """Yield server-sent events without end.

    `calls` has rows, and the number of the last as its id, which a browser that comes back names;
    `skipped` says how many records it is not shown; `approvals` has all that wait, whenever they
    have changed; `trouble` is a sentence about a file that cannot be read, and "" once it can.

    Args:
        reading: the journal.
        approvals: where requests wait, or None.
        since: the last record that this browser has seen, or None.
    """
    seq, quiet = since, 0.0
    waiting = None if approvals is None else Waiting(approvals)
    last = {"trouble": '""'}
    while True:
        told: list[str] = []
        now, trouble = {}, []
        try:
            seq, told = await asyncio.to_thread(_new, reading, seq)
        except HookError as error:
            trouble.append(str(error))
        try:
            if waiting is not None:
                now["approvals"] = json.dumps(await asyncio.to_thread(waiting.shown))
        except HookError as error:
            trouble.append(str(error))
        now["trouble"] = json.dumps("; ".join(trouble))
        told += [event(name, data) for name, data in now.items() if last.get(name) != data]
        last |= now
        for each in told:
            yield each
        quiet = 0.0 if told else quiet + PAUSE_SECONDS
        if quiet >= _QUIET_SECONDS:  # so that a browser that has gone is noticed
            quiet = 0.0
            yield ": nothing new\n\n"
        await asyncio.sleep(PAUSE_SECONDS)


def event(name: str, data: str, id: int | None = None) -> str:
    """Return one server-sent event; JSON on one line has no line of its own to break out with."""
    numbered = "" if id is None else f"id: {id}\n"
    return f"event: {name}\n{numbered}data: {data}\n\n"


def _new(reading: Reading, since: int | None) -> tuple[int, list[str]]:
    """Return the number of the last record, and the events about those since."""
    last, told = reading.last(), []
    seq = max(last - BACKLOG, 0) if since is None else min(since, last)
    if last - seq > BACKLOG:
        told.append(event("skipped", str(last - BACKLOG - seq)))
        seq = last - BACKLOG
    while seq < last and (records := reading.after(seq, AT_ONCE)):
        seq = records[-1].seq
        told.append(event("calls", json.dumps([row(each) for each in records]), seq))
    return seq, told
