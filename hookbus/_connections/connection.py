"""The handle on one connection."""

from __future__ import annotations

from .receiver import Connected


class Connection:
    """A handle on one connection; as a `with` block it disconnects at the end."""

    def __init__(self, receiver: Connected) -> None:
        self._receiver, self._signal = receiver, receiver.signal

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
        self._signal._home._changed(self._signal, self._receiver.owner)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()
