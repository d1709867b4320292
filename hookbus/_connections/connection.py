"""The handle of a connection."""

from __future__ import annotations

from .receiver import Connected


class Connection:
    """The handle of one connection. In a `with` statement, the connection ends with the block."""

    def __init__(self, receiver: Connected) -> None:
        self._receiver, self._signal = receiver, receiver.signal

    def __repr__(self) -> str:
        return f"<connection of {self._receiver.label} to {self._signal.name}>"

    def disconnect(self) -> None:
        """Remove only this connection. A second call does nothing."""
        self._signal._drop(self._receiver)

    def disable(self) -> None:
        """Keep the connection, but do not call its receiver from the next call on. This is
        independent of `bus.switch`, which operators use. Neither undoes the other.
        """
        self._switch(False)

    def enable(self) -> None:
        """Undo `disable()`."""
        self._switch(True)

    def _switch(self, on: bool) -> None:
        connected, signal = self._receiver, self._signal
        board = signal._bus._switchboard
        board.changing(signal, connected.owner)
        connected.is_on = on
        board.changed(signal, connected.owner)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()
