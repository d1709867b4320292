"""Keeps the sessions of the agents and the open calls. A call is open until its second event
arrives.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Any, Final

import attrs

from ..adapters._halves import LONGEST, Halves
from ._approver import HandOver
from ._events import Event

MOST: Final = 1_000
"""The maximum number of sessions to remember."""

NEW: Final = ("startup", "clear")
"""The reasons for the start of a session that has no earlier events."""

PLACED: Final = (*NEW, "resume")
"""The reasons for the start of a session in the user's current folder."""


@attrs.define(eq=False)
class OpenCall:
    """A call that has begun.

    Attributes:
        halves: the open calls of the same agent or sub-agent.
        key: the key of the call in `halves`.
        tool, sent, became: the name, the arguments as they were sent, and as receivers left them,
            as `comparable` strings.
        began: the time when the call began, in seconds.
        hand_over: the data for asking the agent's user, or None.
        begin: the first half of the call.
    """

    halves: Halves
    key: Hashable
    tool: str
    sent: str
    became: str
    began: float = attrs.field(factory=time.monotonic)
    hand_over: HandOver | None = None
    begin: asyncio.Future[Any] | None = None


@attrs.define(eq=False)
class Session:
    """One session of an agent.

    Attributes:
        folder: the folder in which the session began. It comes from the agent's environment
            variable, or from the event that began or resumed the session. It is None if this server
            has seen neither, because a model may have chosen the folder of a later event, or if the
            folder is not an absolute path.
        is_whole: whether this server has seen the beginning of the session.
        is_prompted: whether this server has allowed a prompt of the session.
        halves: the calls of the session, by sub-agent; None stands for the main agent.
        open: the open calls, by their key.
        barred: the reasons why no further call may run, by what the gate could not refuse: "prompt"
            or "result".
    """

    folder: str | None = None
    is_whole: bool = False
    is_prompted: bool = False
    halves: dict[str | None, Halves] = attrs.field(factory=dict)
    open: dict[Hashable, OpenCall] = attrs.field(factory=dict)
    barred: dict[str, str] = attrs.field(factory=dict)

    async def close(self, whose: Iterable[str | None]) -> None:
        """Cancel the open calls of some sub-agents."""
        for each in whose:
            halves = self.halves.pop(each, None)
            if halves is None:
                continue
            for key, call in [*self.open.items()]:
                if call.halves is halves:
                    del self.open[key]
                    if call.begin is not None:  # it may still wait for the agent's user
                        call.begin.cancel()
            await halves.close()


def _absolute(folder: str | None) -> str | None:
    """Return a folder, or None if it would be resolved from the folder of the server."""
    return folder if folder is not None and os.path.isabs(folder) else None


class Sessions:
    """The latest sessions of all agents."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Session] = OrderedDict()

    def find(self, name: Any) -> Session | None:
        """Return the session with this name in the baggage."""
        return self._kept.get(name)

    def get(self, event: Event) -> Session:
        """Return the session of an event."""
        found = self._kept.setdefault(event.session, Session())
        self._kept.move_to_end(event.session)
        if found.folder is None:
            found.folder = _absolute(event.variables.get(event.agent.folder or ""))
        if len(self._kept) > MOST:
            idle = (name for name, each in self._kept.items()
                    if name != event.session and not each.open and not each.barred)  # fmt: skip
            del self._kept[next(idle, next(iter(self._kept)))]
        return found

    def begin(self, event: Event) -> None:
        """Record that a session begins or is resumed."""
        session = self.get(event)
        if session.folder is None and event.given.get("source") in PLACED:
            session.folder = _absolute(event.given.get("cwd"))
        session.is_whole |= event.given.get("source") in NEW

    async def end(self, event: Event) -> None:
        """Cancel the open calls of a session."""
        session = self._kept.pop(event.session, None)
        if session is not None:
            await session.close([*session.halves])

    async def end_turn(self, event: Event) -> None:
        """Cancel the open calls of a turn, except calls of sub-agents."""
        session = self._kept.get(event.session)
        if session is not None and not event.given.get("agent_id"):
            await session.close([None])

    async def close(self) -> None:
        """Cancel all calls."""
        for session in [*self._kept.values()]:
            await session.close([*session.halves])

    def count_open(self) -> int:
        """Return the number of calls that are still open."""
        since = time.monotonic() - LONGEST
        return sum(each.began > since for session in self._kept.values()
                   for each in session.open.values())  # fmt: skip

    def find_call(self, event: Event) -> OpenCall | None:
        """Return the open call to which an event after a tool belongs, or None.

        If the events have no id, this is the oldest call to the same tool with the same arguments,
        as the agent sent them or as receivers changed them.
        """
        session, given = self._kept.get(event.session), event.given
        if session is None:
            return None
        if event.agent.has_ids:
            return session.open.get((given.get("agent_id"), given["tool_use_id"]))
        alike = [each for each in session.open.values() if each.tool == event.tool]
        fits = [each for each in alike if each.became == event.sent]
        fits += [each for each in alike if each.sent == event.sent]
        return fits[0] if fits else None

    def take_call(self, event: Event) -> OpenCall | None:
        """Remove and return the open call of an event, so that no other event gets the same
        call."""
        call = self.find_call(event)
        if call is not None:
            del self._kept[event.session].open[call.key]
        return call
