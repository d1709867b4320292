"""`with spec.scope():` providers that answer with a context manager are entered once and closed in reverse."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from .._calls.context import Call
from .._calls.deadline import timed, timed_async, within
from .._calls.meaning import cancelling, is_cancelled_error, note, tell_failed
from .._calls.plan import Seat
from ..exceptions import HookError, ReceiverError

_OPEN: ContextVar[tuple[Scope, ...]] = ContextVar("hookbus_scopes", default=())


_TOO_LATE = "it was entered after its scope had ended, and closed at once"


def is_manager(value: Any, *, is_async: bool) -> bool:
    """Tell whether a value is a context manager that this colour of question can enter."""
    return hasattr(type(value), "__enter__") or (is_async and hasattr(type(value), "__aenter__"))


class Scope:
    """The context managers that a question was answered with while a `with` block is open."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self._entered: dict[tuple[int, ...], Any] = {}
        self._managers: list[tuple[Seat, Any]] = []
        self._is_open = False
        self._lock = threading.Lock()
        # For each receiver: one that hangs as it is entered, and was left at its deadline, holds up nobody else.
        self._entering: dict[tuple[int, ...], Any] = {}
        self._async_entering: dict[tuple[int, ...], Any] = {}
        self._tasks: dict[tuple[int, ...], Any] = {}
        self._providers: list[Any] = []  # held, as they are known by their ids

    @staticmethod
    def around(spec: Any) -> Scope | None:
        """Return the innermost open scope of a hookspec that the running code is in."""
        if not spec.open_scopes:
            return None
        return next((scope for scope in reversed(_OPEN.get()) if scope.spec is spec and scope._is_open), None)

    def has(self, seat: Seat) -> bool:
        """Tell whether this receiver has provided already."""
        return seat.receiver.key in self._entered

    def provided(self, seat: Seat) -> Any:
        return self._entered[seat.receiver.key]

    # -- entering -------------------------------------------------------------------------------------------------------

    def entered(self, seat: Seat, value: Any) -> Any:
        """Enter a context manager that was answered, once, and return what it provides; any other answer as it is."""
        if not is_manager(value, is_async=False):
            return value
        return timed(seat, self._enter, seat, value) if seat.timeout is not None else self._enter(seat, value)

    async def entered_async(self, seat: Seat, value: Any) -> Any:
        """Do the same on an event loop."""
        if not is_manager(value, is_async=True):
            return value
        if hasattr(type(value), "__aenter__"):
            entering = self._enter_async(seat, value)
            return await (within(seat, entering) if seat.timeout is not None else entering)
        return await timed_async(seat, self._enter, seat, value) if seat.timeout is not None else self._enter(seat, value)

    def _enter(self, seat: Seat, manager: Any) -> Any:
        with self._entering.setdefault(seat.receiver.key, threading.RLock()):
            if not self.has(seat):
                value = type(manager).__enter__(manager)
                if not self._keep(seat, manager, value):
                    type(manager).__exit__(manager, None, None, None)
                    raise HookError(_TOO_LATE)
            return self.provided(seat)

    async def _enter_async(self, seat: Seat, manager: Any) -> Any:
        import asyncio

        key = seat.receiver.key
        if self._tasks.get(key, self) is asyncio.current_task():
            raise HookError(f"{seat.receiver.label} asks {self.spec.name} while it is being entered for it")
        async with self._async_entering.setdefault(key, asyncio.Lock()):
            self._tasks[key] = asyncio.current_task()
            try:
                if not self.has(seat):
                    value = await type(manager).__aenter__(manager)
                    if not self._keep(seat, manager, value):
                        await type(manager).__aexit__(manager, None, None, None)
                        raise HookError(_TOO_LATE)
            finally:
                del self._tasks[key]
            return self.provided(seat)

    def _keep(self, seat: Seat, manager: Any, value: Any) -> bool:
        """Keep what was entered; False if the block has ended meanwhile."""
        with self._lock:
            if self._is_open:
                self._managers.append((seat, manager))
                self._providers.append(seat.receiver.function)
                self._entered[seat.receiver.key] = value
            return self._is_open

    # -- the block ------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._is_open or self._managers:
            raise HookError(f"a scope of {self.spec.name} is one with block; write {self.spec.name}.scope() again")
        self._is_open = True
        self.spec.open_scopes[id(self)] = self
        self.spec.forget()
        _OPEN.set((*_OPEN.get(), self))

    def _end(self) -> list[tuple[Seat, Any]]:
        with self._lock:
            self._is_open = False
        self.spec.open_scopes.pop(id(self), None)
        self.spec.forget()
        # Not by a token: a block may be left in another context than it was entered in, as fixtures do.
        _OPEN.set(tuple(scope for scope in _OPEN.get() if scope is not self))
        self._entered.clear()
        return self._managers[::-1]

    def _left(self, seat: Seat, failure: BaseException, error: BaseException | None) -> BaseException | None:
        """Tell what a manager did that failed to close; return what is to be raised once all are closed."""
        if failure is error:
            return None
        if not isinstance(failure, Exception) and not (is_cancelled_error(failure) and not cancelling()):
            return failure
        receiver, call = seat.receiver, Call(self.spec.plan_of_calls(), self.spec.shell)
        tell_failed(call, seat, failure, "raised" if receiver.closes else "isolated")
        if error is not None:
            note(error, f"hookbus: {receiver.label} failed to close in {self.spec.name}: {type(failure).__name__}")
        if not receiver.closes:
            return None
        raised = ReceiverError(receiver.name, self.spec.name, seat.phase)
        raised.__cause__ = failure
        return raised


def _raise_worst(errors: list[BaseException | None], error: BaseException | None) -> None:
    """Raise what goes out: an exit of the interpreter or a cancellation first; the block's own exception wins over failures."""
    told = [each for each in errors if each is not None]
    fatal = next((each for each in told if not isinstance(each, Exception)), None)
    worst = fatal or (None if error is not None or not told else told[0])
    if worst is not None:
        raise worst


class SyncScope(Scope):
    """The `with` block of a `def` question."""

    def __enter__(self) -> None:
        self._begin()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        errors = []
        for seat, manager in self._end():
            leave = type(manager).__exit__
            try:
                if seat.timeout is None:
                    leave(manager, kind, error, trace)
                else:
                    timed(seat, leave, manager, kind, error, trace)
            except BaseException as failure:
                errors.append(self._left(seat, failure, error))
        _raise_worst(errors, error)


class AsyncScope(Scope):
    """The `async with` block of an `async def` question."""

    async def __aenter__(self) -> None:
        self._begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        errors = []
        for seat, manager in self._end():
            is_async, is_timed = hasattr(type(manager), "__aexit__"), seat.timeout is not None
            leave = type(manager).__aexit__ if is_async else type(manager).__exit__
            try:
                if is_async:
                    leaving = leave(manager, kind, error, trace)
                    await (within(seat, leaving) if is_timed else leaving)
                elif is_timed:
                    await timed_async(seat, leave, manager, kind, error, trace)
                else:
                    leave(manager, kind, error, trace)
            except BaseException as failure:
                errors.append(self._left(seat, failure, error))
        _raise_worst(errors, error)
