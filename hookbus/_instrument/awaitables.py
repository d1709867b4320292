"""Make plain functions that return an awaitable or an async context manager hookable."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Final

from .._callables.parameters import is_awaitable
from ..exceptions import HookError

_entering: Final[ContextVar[Later | None]] = ContextVar("hookbus_entering", default=None)
"""The object whose call is being entered as a context manager, or None if the call is awaited."""


class Later:
    """The return value of a function hooked with `kind="async"`. The hooked call begins when the
    caller awaits or enters this object. When the caller enters the object, `pre` receivers run
    before the body's context manager is entered. The value of that context manager is the result of
    the call. Only the body's context manager handles the exit.
    """

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call, self._stack = call, AsyncExitStack()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._run(None).__await__()

    async def __aenter__(self) -> Any:
        try:
            return await self._run(self)
        except BaseException:
            await self._stack.aclose()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:  # fmt: skip
        return await self._stack.__aexit__(kind, error, trace)

    async def _run(self, entering: Later | None) -> Any:
        token = None
        try:
            token = _entering.set(entering)
            return await self._call()
        finally:
            if token is not None:  # an interrupt may have arrived before this
                _entering.reset(token)

    async def enter(self, manager: Any) -> Any:
        """Enter the context manager that the body returned. It is exited together with this object.
        """
        return await self._stack.enter_async_context(manager)


def awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a coroutine function that awaits or enters the result of a function."""

    @functools.wraps(function)
    async def body(*args: Any, **kwargs: Any) -> Any:
        value, later = function(*args, **kwargs), _entering.get()
        if later is not None and hasattr(type(value), "__aenter__"):
            return await later.enter(value)
        if is_awaitable(value):
            return await value
        what = "entered" if later is not None else "awaited"
        raise HookError(
            f"{function.__qualname__} returned a {type(value).__name__}, which cannot be {what}: "
            "leave out kind='async' where it is hooked"
        )

    return body


def deferred(hooked: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plain function that returns a `Later` for a hooked function."""

    @functools.wraps(hooked)
    def call(*args: Any, **kwargs: Any) -> Later:
        return Later(functools.partial(hooked, *args, **kwargs))

    return call
