"""What a blinker signal does by itself: it is muted, and broadcasts what is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from blinker import NamedSignal

from .._loops import running_task
from ..exceptions import HookError


class Broadcast(NamedSignal):
    """A named signal that is muted per task, and knows whether anything was sent."""

    def __init__(self, name: str, home: Any, doc: str | None = None) -> None:
        super().__init__(name, doc)
        self._home = home
        self._muted_by: dict[object, object] = {}
        self.was_sent: bool = False

    # -- muting ------------------------------------------------------------------------------------

    # Where blinker has a plain flag for everyone.
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
                f"is_muted would silence {self.name} for everyone; write `with signal.muted():`"
            )

    @contextmanager
    def muted(self) -> Generator[None, None, None]:
        """Silence this signal's receivers in the current task (or thread) while the block is open.
        Guards never.
        """
        block = object()
        self._muted_by[block] = _current_owner()
        self._home._muting(self)
        try:
            yield
        finally:
            self._muted_by.pop(block, None)
            self._home._muting(self)

    @property
    def is_muted_somewhere(self) -> bool:
        """Whether any task or thread is inside a `muted()` block of this signal."""
        return bool(self._muted_by)

    # -- direct broadcasts, as blinker does them; the call of a hookable never comes here ----------

    def send(self, sender: Any = None, /, **kwargs: Any) -> list[tuple[Callable[..., Any], Any]]:
        """Call every receiver for this sender as `receiver(sender, **kwargs)`, and return them with
        what they returned.

        As in blinker, what one raises goes out, and RuntimeError for one that is async; `kwargs`
        may hold blinker's `_async_wrapper`. Hookables never send.
        """
        self.was_sent = True
        return super().send(sender, **kwargs)

    async def send_async(
        self, sender: Any = None, /, **kwargs: Any
    ) -> list[tuple[Callable[..., Any], Any]]:
        """Await every receiver for this sender as `receiver(sender, **kwargs)`, in turn;
        RuntimeError if one is plain, unless `kwargs` hold blinker's `_sync_wrapper`.
        """
        self.was_sent = True
        return await super().send_async(sender, **kwargs)


def _current_owner() -> object:
    """Return the running task, or the thread where no task runs."""
    task = running_task()
    return task if task is not None else threading.get_ident()
