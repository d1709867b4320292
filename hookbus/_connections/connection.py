"""The handle on one connection."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from blinker import ANY

from .receiver import Connected
from .senders import is_shared

if TYPE_CHECKING:
    from .signal import HookSignal


class Connection:
    """A handle on one connection; as a `with` block it disconnects at the end."""

    def __init__(self, signal: HookSignal, receiver: Connected, sender: Any) -> None:
        self._signal, self._receiver = signal, receiver
        # The handle must not keep alive what the connection itself holds only weakly.
        # Whose change concerns many calls may be made anew, and they are no less concerned.
        self._sender: Callable[[], Any] = (
            (lambda: ANY) if is_shared(sender) else weakref.ref(sender)
        )

    def __repr__(self) -> str:
        return f"<connection of {self._receiver.label} to {self._signal.name}>"

    def disconnect(self) -> None:
        """Take back this connection, and only this one; what it stood in front of is there again.
        Twice is once.
        """
        self._signal.drop(self._receiver)

    def disable(self) -> None:
        """Keep the connection but do not call its receiver, from the next call on."""
        self._switch(False)

    def enable(self) -> None:
        """Undo `disable()`."""
        self._switch(True)

    def _switch(self, on: bool) -> None:
        self._receiver.is_enabled = on
        self._signal._home._changed(self._signal, self._sender())

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()
