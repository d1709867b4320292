"""Types of signals and of the switchboard, for modules that cannot import these classes. Only type
checkers read this module.
"""

from __future__ import annotations

from typing import Any, Protocol


class Signal(Protocol):
    """A signal, as its connections, their checks and the switchboard use it."""

    name: str
    phase: str | None
    hook: str
    _bus: Any
    _was_asked: bool

    def connections(self) -> list[Any]: ...
    def _drop(self, connected: Any) -> None: ...


class Events(Signal, Protocol):
    """The signal of events, as the switchboard uses it."""

    @property
    def listened_kinds(self) -> frozenset[Any]: ...
    def forget(self) -> None: ...


class Board(Protocol):
    """The switchboard, as signals use it."""

    apply_switches: Any

    def note_name(self, name: str) -> None: ...
    def changing(self, signal: Signal, sender: Any) -> None: ...
    def changed(self, signal: Signal, sender: Any, *, is_more: bool = False) -> None: ...
