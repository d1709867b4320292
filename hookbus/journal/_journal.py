"""The journal, which records the events of buses in a file."""

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
from .._ground.keywords import named_options
from ..events import KINDS, Event, Invoked
from ._checkpoint import Checkpoint
from ._cursor import Cursor
from ._durable import Durable
from ._file import made, there
from ._reading import Wanted, head, records, unfinished
from ._retain import Retained, retain
from ._verify import Verification, verified
from ._words import Record
from ._writer import Writer

_TOLD: Final = ("asked", "approved", "handed on", "answered")
"""The answers for which `Invoked` events are always recorded: a person approved a call or answered
a question.
"""


@named_options
class Journal:
    """Records the events of buses in an SQLite file. The hash chain of the file shows whether
    records were changed.

    Several processes can write to one file while others read it. Use a journal in a `with`
    statement, or call `close`. Queued records are also written when the program exits.

    Args:
        path: the file. A missing file is created.
        durability: with `"normal"`, an acknowledged record survives a crash of the process; with
            `"full"`, it also survives a power failure.

    Raises:
        HookError: if the file cannot be used, is not a journal, or has a newer version.
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
        """Open an existing journal for reading only.

        Raises:
            HookError: if the file does not exist, is not a journal, or has a newer version.
        """
        journal = cls.__new__(cls)
        journal._path, journal._writer, journal._attached = there(path), None, {}
        return journal

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._path

    @property
    def lost(self) -> int:
        """The number of records that were lost, because too many were queued or because the file
        could not be written. Records of durable hooks are never lost.
        """
        return 0 if self._writer is None else self._writer.lost

    def attach(self, bus: Bus, *, turns: bool = False) -> Callable[[], None]:
        """Record the events of a bus from now on. Return a function that stops the recording.

        Args:
            bus: the bus. If the bus is already attached, nothing changes.
            turns: whether to also record each call to a receiver, with the receiver's answer and
                duration. This adds one record for each such call.

        Raises:
            HookError: if the journal is closed, or open for reading only.
        """
        self._writing()
        if not isinstance(bus, Bus):
            raise HookError(f"attach({bus!r:.40}): pass a bus, such as hookbus.default_bus")
        if bus not in self._attached:
            hear = self._hear_turns if turns else self._hear
            connection = bus.events.connected_to(hear, kinds=KINDS, name="journal")
            self._attached[bus] = connection
        return partial(self._detach, bus)

    def durable(self, *hooks: str, bus: Bus = default_bus) -> Callable[[], None]:
        """Make hooks durable: a method starts only after its intent is on disk, and its outcome is
        recorded. Return a function that makes the hooks not durable again.

        If the intent cannot be written, the call is blocked. If only the outcome cannot be written,
        the caller gets a `HookError`, or the method's own exception with a note. The hooks may be
        declared later.

        Raises:
            HookError: for an invalid hook name, or if the journal is closed or read-only. In that
                case, none of the hooks becomes durable.
        """
        self._writing()
        if not isinstance(bus, Bus):
            raise HookError(f"durable(..., bus={bus!r:.40}): bus must be a Bus")
        if not hooks or not all(isinstance(hook, str) and hook.isidentifier() for hook in hooks):
            raise HookError(f"durable{hooks!r:.60}: pass names of hooks, such as 'pay'")
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
        """Return the intents without an outcome. Such a call is still running, or its process ended
        before the call did, so that the outcome is unknown.
        """
        self._settle()
        return unfinished(self._path)

    def flush(self) -> None:
        """Write all queued records. When this method returns, all earlier events are recorded.

        Raises:
            HookError: if the records cannot be written. They remain queued.
        """
        self._writing().flush()

    def close(self) -> None:
        """Write all queued records and close the journal. After that, calls of durable hooks are
        blocked.

        Raises:
            HookError: if the records cannot be written. Records in the spool remain for the next
                journal; records that were queued in memory are lost, and counted in `lost`.
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
        with suppress(HookError):  # log it; the exception of the `with` block propagates
            self.close()

    def records(
        self, hook: str | None = None, type: str | None = None, since: float | None = None, *,
        after: int = 0, call: tuple[str, int] | None = None,
    ) -> Iterator[Record]:  # fmt: skip
        """Yield all selected records in order.

        Args:
            hook: yield only records of this hook.
            type: yield only records of this type, with or without `"hookbus."`.
            since: yield only records since this time, in seconds since 1970.
            after: yield only records with a higher number.
            call: yield only records of one call, given as `(record.run, record.data["call_id"])`.

        Raises:
            HookError: if the file cannot be read, or the type is unknown.
        """
        self._settle()
        return records(self._path, Wanted.of(hook, type, since, call), after)

    def cursor(self, name: str) -> Cursor:
        """Return a cursor that continues after the last record that this named reader has
        committed.

        Raises:
            HookError: if the journal is closed, read-only, or cannot be written.
        """
        return Cursor(self._path, self._writing(), name)

    def retain(
        self, days: float | None = None, bytes: int | None = None, *,
        key: str | builtins.bytes | None = None,
    ) -> Retained:  # fmt: skip
        """Drop the oldest records, except those that a cursor has not committed. Records of type
        `hookbus.retained` note the dropped records, and the remaining records can still be
        verified. Return the number of dropped records and a checkpoint.

        Verify the journal first, because dropped records cannot be verified.

        Args:
            days: drop records that are older than this number of days.
            bytes: drop records until the file has about this size in bytes.
            key: a private Ed25519 key in PEM format to sign the checkpoint of the dropped records.

        Raises:
            HookError: for an invalid limit or key, or if the file cannot be written.
        """
        return retain(self._path, self._writing(), days, bytes, key)

    def checkpoint(self, key: str | builtins.bytes | None = None) -> Checkpoint:
        """Return the head of the chain. Store its string where no process that can write to the
        journal can modify it.

        Args:
            key: a private Ed25519 key in PEM format to sign the checkpoint.

        Raises:
            HookError: for an invalid key, or if queued records cannot be written.
        """
        if self._writer is not None and not self._writer.is_closed:
            self._writer.flush()
        made = head(self._path)
        return made if key is None else made.signed(key)

    def verify(
        self, *checkpoints: Checkpoint | str, key: str | builtins.bytes | None = None
    ) -> Verification:
        """Check whether any record was changed, removed, inserted or moved, and return the result.

        Without a checkpoint that is stored outside the journal, this method detects only accidental
        changes, because anyone with write access can rewrite the whole file.

        Args:
            checkpoints: heads of the chain, or their strings.
            key: the public Ed25519 key in PEM format whose private key must have signed all
                checkpoints.

        Raises:
            HookError: for an invalid checkpoint or key.
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
        if self._writer is not None:
            self._writer.record(event)

    def _writing(self) -> Writer:
        if self._writer is None:
            raise HookError(f"{self._path} is open for reading only: use Journal(path) to write")
        if self._writer.is_closed:
            raise HookError(f"the journal {self._path} is closed")
        return self._writer

    def _settle(self) -> None:
        """Write queued records before reading. If writing fails, the failure is logged and the
        records remain queued.
        """
        if self._writer is not None and not self._writer.is_closed:
            with suppress(HookError):
                self._writer.flush()
