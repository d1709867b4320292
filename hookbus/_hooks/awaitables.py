"""Plain functions that return something to await or to enter: hookable as coroutines are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Final

from .._connections.wanted import is_awaitable
from ..exceptions import HookError

_entering: Final[ContextVar[Later | None]] = ContextVar("hookbus_entering", default=None)
"""What is being entered; None where it is awaited."""


class Later:
    """What a call returns at once: the hooked call begins when it is awaited or entered.

    Where it is entered, `pre` comes before the body's context manager is, the result is what that
    gives, and leaving goes to it alone.
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
            if token is not None:  # an interrupt may have come before that
                _entering.reset(token)

    async def enter(self, manager: Any) -> Any:
        """Enter what the body returned; it is left with this."""
        return await self._stack.enter_async_context(manager)


def awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a coroutine function that awaits or enters what a function returns."""

    @functools.wraps(function)
    async def body(*args: Any, **kwargs: Any) -> Any:
        value, later = function(*args, **kwargs), _entering.get()
        if later is not None and hasattr(type(value), "__aenter__"):
            return await later.enter(value)
        if is_awaitable(value):
            return await value
        what = "to enter" if later is not None else "to await"
        raise HookError(
            f"{function.__qualname__} returned a {type(value).__name__}, nothing {what}: leave "
            "colour='async' out where it is hooked"
        )

    return body


def deferred(hooked: Callable[..., Any]) -> Callable[..., Any]:
    """Return the plain function that stands in front: it gives a `Later` of the hooked call."""

    @functools.wraps(hooked)
    def call(*args: Any, **kwargs: Any) -> Later:
        return Later(functools.partial(hooked, *args, **kwargs))

    return call
