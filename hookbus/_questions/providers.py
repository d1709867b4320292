"""Enter each provider of a hookspec once in `with spec.scope():`, and close all providers in
reverse order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from .._callables.parameters import run_without_waiting
from .._calls.context import Call
from .._calls.emitting import emit_failed
from .._calls.outcome import cancelling, is_cancelled_error, more_urgent
from .._calls.plan import Seat
from .._connections.receiver import ReceiverKey
from .._ground.errors import is_a, name_of_class, note
from .._ground.locks import Lock
from .._waiting.deadline import timed, timed_async, within
from ..exceptions import HookError, ReceiverError

_OPEN: ContextVar[tuple[OpenScope, ...]] = ContextVar("hookbus_scopes", default=())

_TOO_LATE: Final = "it was entered after its scope had ended, so it was closed immediately"


class OpenScope:
    """The context managers that receivers provide while a `with` block is open."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self.provided: dict[ReceiverKey, Any] = {}  # keyed by receiver
        self._managers: list[tuple[Seat, Any]] = []
        self._is_open = False
        self._lock = Lock()
        # One lock per receiver, so that a provider that hangs past its deadline does not delay the
        # others.
        self._entering: dict[tuple[Any, ...], Any] = {}
        self._tasks: dict[ReceiverKey, Any] = {}
        self._providers: list[Any] = []  # kept alive, because their ids identify them

    @staticmethod
    def around(spec: Any) -> OpenScope | None:
        """Return the innermost open scope of a hookspec around the running code, or None."""
        if not spec.open_scopes:
            return None
        inner_first = reversed(_OPEN.get())
        return next((each for each in inner_first if each.spec is spec and each._is_open), None)

    # -- entering ------------------------------------------------------------------------------

    async def entered(self, seat: Seat, value: Any) -> Any:
        """Enter a context manager once and return its value. Return any other answer unchanged."""
        kind = type(value)
        if self.spec.is_async and hasattr(kind, "__aenter__"):
            entering = self._enter_async(seat, value)
            return await (entering if seat.timeout is None else within(seat, entering))
        is_manager = hasattr(kind, "__enter__")
        return await self._in_time(seat, self._enter, seat, value) if is_manager else value

    async def _in_time(self, seat: Seat, function: Callable[..., Any], *args: Any) -> Any:
        """Call a plain function within the deadline of a receiver."""
        if seat.timeout is None:
            return function(*args)
        if self.spec.is_async:
            return await timed_async(seat, function, *args)
        return timed(seat, function, *args)

    def _enter(self, seat: Seat, manager: Any) -> Any:
        key, kind = seat.receiver.key, type(manager)
        with self._entering.setdefault((False, key), Lock()):
            if key not in self.provided:
                value = kind.__enter__(manager)
                if not self._keep(seat, manager, value):
                    kind.__exit__(manager, None, None, None)
                    raise HookError(_TOO_LATE)
            return self.provided[key]

    async def _enter_async(self, seat: Seat, manager: Any) -> Any:
        import asyncio

        key, kind = seat.receiver.key, type(manager)
        if self._tasks.get(key, self) is asyncio.current_task():
            label = seat.receiver.label
            again = f"asks {self.spec.name} again while it is being entered for that question"
            raise HookError(f"{label} {again}")
        # One lock per process: in a forked child, the task that held a lock does not continue.
        async with self._entering.setdefault((True, key, os.getpid()), asyncio.Lock()):
            self._tasks[key] = asyncio.current_task()
            try:
                if key not in self.provided:
                    value = await kind.__aenter__(manager)
                    if not self._keep(seat, manager, value):
                        await kind.__aexit__(manager, None, None, None)
                        raise HookError(_TOO_LATE)
            finally:
                del self._tasks[key]
            return self.provided[key]

    def _keep(self, seat: Seat, manager: Any, value: Any) -> bool:
        """Record an entered context manager. Return False if the block has already ended."""
        with self._lock:
            if self._is_open:
                self._managers.append((seat, manager))
                self._providers.append(seat.receiver.function)
                self.provided[seat.receiver.key] = value
            return self._is_open

    # -- the block -----------------------------------------------------------------------------

    def _begin(self) -> None:
        name = self.spec.name
        if self._is_open or self._managers:
            again = f"write {name}.scope() again for another block"
            raise HookError(f"a scope of {name} can be used for only one with block: {again}")
        self._is_open = True
        self.spec.open_scopes[id(self)] = self
        self.spec.bus._switchboard.discard_plans(self.spec)
        _OPEN.set((*_OPEN.get(), self))

    def _end(self) -> list[tuple[Seat, Any]]:
        with self._lock:
            self._is_open = False
        self.spec.open_scopes.pop(id(self), None)
        self.spec.bus._switchboard.discard_plans(self.spec)
        # No token is used, because a block may be exited in another context, as with pytest
        # fixtures.
        _OPEN.set(tuple(scope for scope in _OPEN.get() if scope is not self))
        self.provided.clear()
        return self._managers[::-1]

    async def _close(self, details: tuple[Any, ...]) -> None:
        """Close all context managers. Then raise the most urgent failure, unless the block itself
        failed.
        """
        error, out = details[1], None
        for seat, manager in self._end():
            try:
                await self._leave(seat, manager, details)
            except BaseException as failure:
                left = self._left(seat, failure, error)
                if left is not None and (error is None or not is_a(left, Exception)):
                    out = more_urgent(out, left)
        if out is not None:
            raise out

    async def _leave(self, seat: Seat, manager: Any, details: tuple[Any, ...]) -> None:
        kind = type(manager)
        if self.spec.is_async and hasattr(kind, "__aexit__"):
            leaving = kind.__aexit__(manager, *details)
            await (leaving if seat.timeout is None else within(seat, leaving))
        else:
            await self._in_time(seat, kind.__exit__, manager, *details)

    def _left(
        self, seat: Seat, failure: BaseException, error: BaseException | None
    ) -> BaseException | None:
        """Emit the failure of a context manager to close. Return the exception to raise, or None.
        """
        if failure is error:
            return None
        is_own_cancel = is_cancelled_error(failure) and not cancelling()
        if not is_a(failure, Exception) and not is_own_cancel:
            return failure
        receiver, name = seat.receiver, self.spec.name
        call = Call(self.spec.panel().plan, self.spec.shell)
        emit_failed(call, seat, failure, "raised" if receiver.closes else "isolated")
        if error is not None:
            kind = name_of_class(type(failure))
            note(error, f"hookbus: {receiver.label} failed to close in {name}: {kind}")
        if not receiver.closes:
            return None
        raised = ReceiverError(receiver.name, name, seat.phase)
        raised.__cause__ = failure
        return raised


class SyncScope(OpenScope):
    """The scope of a `def` question, for a `with` statement."""

    def __enter__(self) -> None:
        self._begin()

    def __exit__(self, *details: Any) -> None:
        run_without_waiting(self._close(details))


class AsyncScope(OpenScope):
    """The scope of an `async def` question, for an `async with` statement."""

    async def __aenter__(self) -> None:
        self._begin()

    async def __aexit__(self, *details: Any) -> None:
        await self._close(details)
