"""The parts of a blinker signal that hookbus replaces: muting and broadcasting."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from blinker import NamedSignal

from .._ground.running_loop import running_task
from ..exceptions import HookError


class Broadcast(NamedSignal):
    """A named signal that can be muted per task. `send` works as in blinker; calls of hookables do
    not use `send`.
    """

    def __init__(self, name: str, bus: Any, doc: str | None = None) -> None:
        super().__init__(name, doc)
        self._bus = bus
        self._muted_by: dict[object, object] = {}

    # blinker has a plain attribute here, which applies to every task.
    @property
    def is_muted(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the running task (or thread, outside of tasks) is inside a `muted()` block of
        this signal.
        """
        return bool(self._muted_by) and _current_owner() in list(self._muted_by.values())

    @is_muted.setter
    def is_muted(self, value: bool) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        if value:
            raise HookError(
                f"is_muted would mute {self.name} in every task; write `with signal.muted():`"
            )

    @contextmanager
    def muted(self) -> Generator[None, None, None]:
        """Mute the receivers of this signal in the current task (or thread) while the block is
        open. Guards are never muted.
        """
        block = object()
        try:
            try:
                self._muted_by[block] = _current_owner()
                self._bus._switchboard.muting(self)
                yield
            finally:
                self._muted_by.pop(block, None)
        finally:  # an interrupt may have arrived before the change
            self._muted_by.pop(block, None)
            self._bus._switchboard.muting(self)

    @property
    def _is_muted_somewhere(self) -> bool:
        """Whether any task or thread is inside a `muted()` block of this signal."""
        return bool(self._muted_by)


def _current_owner() -> object:
    """Return the running task, or the thread if no task is running."""
    task = running_task()
    return task if task is not None else threading.get_ident()
