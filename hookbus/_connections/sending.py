"""Replace parts of a blinker signal: `muted`, `send` and `send_async`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from blinker import NamedSignal

from .._ground.running_loop import running_task
from ..exceptions import HookError
from .order import in_order
from .phases import ANSWER
from .receiver import Connected

Pairs = list[tuple[Callable[..., Any], Any]]


class Sending(NamedSignal):
    """A named signal that can be muted for one task, with `send` and `send_async` as in blinker.
    Calls of hookables do not use `send`.
    """

    _bus: Any
    _muted_by: dict[object, object]
    _was_asked: bool
    _matching: Callable[[Any], list[tuple[float, Connected]]]
    _drop: Callable[[Connected], None]

    # blinker has a plain attribute here, which applies to every task.
    @property
    def is_muted(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the running task is inside a `muted()` block of this signal. Outside of tasks,
        this applies to the running thread.
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
        """Mute the receivers of this signal in the current task or thread while the block is open.
        Guards are never muted.
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

    def send(
        self, sender: Any = None, /, *,
        _async_wrapper: Callable[[Callable[..., Coroutine[Any, Any, Any]]], Callable[..., Any]]
        | None = None,
        **kwargs: Any,
    ) -> Pairs:  # fmt: skip
        """Call the receivers of a sender in order, each as `receiver(sender, **kwargs)`. A receiver
        is skipped if its `when=` returns false. A receiver with `once=True` is called only once.

        Args:
            sender: the sender whose receivers are called, including receivers of its class and of
                `ANY`.
            _async_wrapper: converts a coroutine function to a plain callable.
            kwargs: the keyword arguments for the receivers.

        Returns:
            A list of pairs: each receiver that was called, and its return value.

        Raises:
            HookError: if a `when=` needs an argument that was not sent.
            RuntimeError: if a receiver is a coroutine function and `_async_wrapper` is missing.
        """
        callees = self._bus._dispatch.callees
        called = callees(self, sender, kwargs, _async_wrapper, is_async=False)
        return [(function, call(sender, **kwargs)) for function, call in called]

    async def send_async(
        self, sender: Any = None, /, *,
        _sync_wrapper: Callable[[Callable[..., Any]], Callable[..., Coroutine[Any, Any, Any]]]
        | None = None,
        **kwargs: Any,
    ) -> Pairs:  # fmt: skip
        """Await the receivers of a sender, one after the other. `sender` and `kwargs` are the same
        as in `send`.

        `_sync_wrapper` converts a plain callable to a coroutine function. Without it, `send_async`
        raises RuntimeError if a connected receiver is a plain callable.
        """
        callees = self._bus._dispatch.callees
        called = callees(self, sender, kwargs, _sync_wrapper, is_async=True)
        return [(function, await call(sender, **kwargs)) for function, call in called]

    def _in_order(self, sender: Any) -> Iterator[tuple[Connected, Callable[..., Any]]]:
        """Yield the receivers that run for a sender in order, without muted receivers."""
        found = self._matching(sender)
        for role in ("around", ANSWER, "modify", "guard", "observe"):
            if role != "guard" and self.is_muted:
                continue
            for connected in in_order((d, r) for d, r in found if r.role == role):
                if (function := connected.function) is not None:
                    yield connected, function


def _current_owner() -> object:
    """Return the running task, or the id of the thread if no task is running."""
    task = running_task()
    return task if task is not None else threading.get_ident()
