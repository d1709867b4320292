"""A journal: what happened on a bus, kept in a file."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import Final, Literal, Self

from .. import Bus, Connection, HookError, default_bus
from .._keywords import named_options
from ..events import KINDS, Event, Invoked
from ._chain import row_of
from ._checkpoint import Checkpoint
from ._cursor import Cursor
from ._durable import Durable
from ._file import made, there
from ._reading import Wanted, head, records, unfinished
from ._retain import Retained, retain
from ._verify import Verification, verified
from ._words import Record
from ._writer import Writer

_TOLD: Final = ("asked", "approved", "answered")
"""What is always kept of `Invoked`: that somebody was asked for a yes and gave it, who answered a
question.
"""


@named_options
class Journal:
    """Keeps the events of buses in a SQLite file, in a chain that shows if a record was changed.

    Several processes may write one file, and others read it. Use it in a `with` block, or `close`
    it; the end of the program writes what waits, too.

    Args:
        path: the file; it is made where there is none.
        durability: what an acknowledged record outlives: with `"normal"` that the process is
            killed, with `"full"` that the power fails, too.

    Raises:
        HookError: if the file cannot be used, is something else, or newer than this hookbus.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, durability: Literal["normal", "full"] = "normal"
    ) -> None:
        if durability not in ("normal", "full"):
            raise HookError(f"durability={durability!r:.40} must be 'normal' or 'full'")
        self._path = made(path)
        self._writer: Writer | None = Writer(self._path, is_full=durability == "full")
        self._attached: dict[Bus, Connection] = {}
        self._held: dict[tuple[Bus, str], tuple[int, Connection]] = {}

    @classmethod
    def reading(cls, path: str | os.PathLike[str]) -> Self:
        """Open a journal only to read it: one that others write, or that nobody may write.

        Raises:
            HookError: if it is not there, is something else, or newer than this hookbus.
        """
        journal = cls.__new__(cls)
        journal._path, journal._writer, journal._attached = there(path), None, {}
        return journal

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._path

    @property
    def lost(self) -> int:
        """How many records were not kept, since too many waited or the file could not be written
        until the end. Of durable hooks none ever is.
        """
        return 0 if self._writer is None else self._writer.queue.lost

    def attach(self, bus: Bus, *, turns: bool = False) -> Callable[[], None]:
        """Keep the events of a bus from now on; return what ends that.

        Args:
            bus: the bus; one that is attached already stays as it is.
            turns: keep every turn of every receiver, too, who agreed and how long each took: a
                record more for each.

        Raises:
            HookError: if the journal is closed, or opened only to be read.
        """
        self._writing()
        if not isinstance(bus, Bus):
            raise HookError(f"attach({bus!r:.40}): give it a bus, such as hookbus.default_bus")
        if bus not in self._attached:
            hear = self._hear_turns if turns else self._hear
            heard = bus.events.connected_to(hear, kinds=KINDS, name="journal")
            self._attached[bus] = heard
        return partial(self._detach, bus)

    def durable(self, *hooks: str, bus: Bus = default_bus) -> Callable[[], None]:
        """Have no body of these hooks start before its intent is on the disk, and keep how it
        ended; return what ends that.

        Where the intent cannot be written, the call is blocked. Where only the outcome cannot, the
        caller gets an error that says so. The hooks may be declared later.

        Raises:
            HookError: for what is no name of a hook, or if the journal is closed or only read; then
                none of them is durable.
        """
        self._writing()
        if not isinstance(bus, Bus):
            raise HookError(f"durable(..., bus={bus!r:.40}): give it a bus")
        if not hooks or not all(isinstance(hook, str) and hook.isidentifier() for hook in hooks):
            raise HookError(f"durable{hooks!r:.60}: give names of hooks, such as 'pay'")
        held: list[str] = []

        def undo() -> None:
            while held:
                self._let_go(bus, held.pop())

        try:
            for hook in dict.fromkeys(hooks):
                self._hold(bus, hook)
                held.append(hook)
        except BaseException:
            undo()
            raise
        return undo

    def unfinished(self) -> list[Record]:
        """Return the intents that have no outcome: of calls that are under way, or whose process
        ended meanwhile, so that nobody knows what became of them.
        """
        self._settle()
        return unfinished(self._path)

    def flush(self) -> None:
        """Write all that waits: what was told before is acknowledged when this returns.

        Raises:
            HookError: if it cannot be written; it waits on.
        """
        self._writing().flush()

    def close(self) -> None:
        """Write all that waits, and end; hooks that are durable by this journal are blocked then.

        Raises:
            HookError: if it cannot be written; that is lost then, and counted.
        """
        for bus in list(self._attached):
            self._detach(bus)
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, place: object) -> None:
        if error is None:
            self.close()
            return
        with suppress(HookError):  # which is logged; the block's own exception wins
            self.close()

    def records(
        self, hook: str | None = None, type: str | None = None, since: float | None = None, *,
        after: int = 0, call: tuple[str, int] | None = None,
    ) -> Iterator[Record]:  # fmt: skip
        """Yield the records, in their order, up to the last one there is.

        Args:
            hook: of this hook only.
            type: of this type only, with or without `"hookbus."`.
            since: not before this moment, in seconds since 1970.
            after: only those behind the one of this number.
            call: of one call only: its run and its number, `(record.run, record.data["call_id"])`.

        Raises:
            HookError: if the file cannot be read, or there is no such type of record.
        """
        self._settle()
        return records(self._path, Wanted.of(hook, type, since, call), after)

    def cursor(self, name: str) -> Cursor:
        """Return what reads on from where the reader of this name has committed.

        Raises:
            HookError: if the journal is closed, only read, or cannot be written.
        """
        return Cursor(self._path, self._writing(), name)

    def retain(
        self, days: float | None = None, bytes: int | None = None, *,
        key: str | builtins.bytes | None = None,
    ) -> Retained:  # fmt: skip
        """Drop the oldest records, but none that a cursor has not committed, and return what was
        dropped. Records of type `hookbus.retained` say so, and the chain can be verified as before.

        Verify the journal first: nobody can verify what was dropped.

        Args:
            days: drop what is older than so many days.
            bytes: drop what makes the file larger than about so many bytes.
            key: a private Ed25519 key in PEM, to sign the checkpoint of what was dropped.

        Raises:
            HookError: for limits or a key that are none, or if the file cannot be written.
        """
        return retain(self._path, self._writing(), days, bytes, key)

    def checkpoint(self, key: str | builtins.bytes | None = None) -> Checkpoint:
        """Return the head of the chain; keep `str(...)` of it where who can write the journal
        cannot.

        Args:
            key: a private Ed25519 key in PEM, to sign it.

        Raises:
            HookError: for another key, or if what waits cannot be written.
        """
        if self._writer is not None and not self._writer.is_closed:
            self._writer.flush()
        made = head(self._path)
        return made if key is None else made.signed(key)

    def verify(
        self, *checkpoints: Checkpoint | str, key: str | builtins.bytes | None = None
    ) -> Verification:
        """Look whether any record was changed, removed, put in or moved, and say which.

        Without a checkpoint that was kept elsewhere this shows accidents; who can write the file
        can write all of it anew.

        Args:
            checkpoints: heads of the chain, or what `str` made of them.
            key: the public Ed25519 key, in PEM, that all of them must be signed by.

        Raises:
            HookError: for what is no checkpoint or no key.
        """
        read = [each if isinstance(each, Checkpoint) else Checkpoint.read(each)
                for each in checkpoints]  # fmt: skip
        self._settle()
        return verified(self._path, read, key)

    def _hold(self, bus: Bus, hook: str) -> None:
        times, connection = self._held.get((bus, hook), (0, None))
        if connection is None:
            around = Durable(self._writing(), bus)
            connection = bus.signal(f"around_{hook}").connected_to(
                around, priority=-inf, name="durable journal"
            )
        self._held[bus, hook] = times + 1, connection

    def _let_go(self, bus: Bus, hook: str) -> None:
        times, connection = self._held.pop((bus, hook))
        if times > 1:
            self._held[bus, hook] = times - 1, connection
        else:
            connection.disconnect()

    def _detach(self, bus: Bus) -> None:
        connection = self._attached.pop(bus, None)
        if connection is not None:
            connection.disconnect()

    def _hear(self, bus: Bus, event: Event) -> None:
        if type(event) is not Invoked or event.answer in _TOLD:
            self._hear_turns(bus, event)

    def _hear_turns(self, _: Bus, event: Event) -> None:
        if self._writer:
            self._writer.offer(row_of(event.as_dict()))

    def _writing(self) -> Writer:
        if self._writer is None:
            raise HookError(f"{self._path} was opened only to be read: Journal(path) writes")
        if self._writer.is_closed:
            raise HookError(f"the journal {self._path} is closed")
        return self._writer

    def _settle(self) -> None:
        """Write what waits, so that it is read; what cannot be written waits on, which is logged.
        """
        if self._writer is not None and not self._writer.is_closed:
            with suppress(HookError):
                self._writer.flush()
