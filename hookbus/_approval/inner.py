"""Recognize an approved call that its body passes on. A mounted server passes a call on to the
server inside it. A client passes a call on to a server in the same process. In both cases, the call
stays the same, so its guards need no second approval.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

__tracebackhide__: Final = True

OWN_CALL: Final = object()
"""A key in `ctx.state`. A guard that tracks passed-on calls itself sets the key to mark a call as
separate.
"""

_BOUNDARIES: Final = "_./:-"
"""The separators between a prefix that a layer adds and the name of a tool."""


def run_inside(
    attempt: Any, body: Callable[..., Any], *, is_async: bool, is_stream: bool
) -> Callable[..., Any]:
    """Wrap a body so that `enclosing_attempt` returns this attempt while the body runs."""
    enter = partial(_Running, attempt)

    def call_body(*args: Any, **kwargs: Any) -> Any:
        with enter():
            return body(*args, **kwargs)

    async def await_body(*args: Any, **kwargs: Any) -> Any:
        with enter():
            return await body(*args, **kwargs)

    def open_stream(*args: Any, **kwargs: Any) -> Any:
        return stream_inside(enter, call_body(*args, **kwargs), is_async=is_async)

    if is_stream:
        return open_stream
    return await_body if is_async else call_body


def stream_inside(enter: Callable[[], Any], items: Any, *, is_async: bool) -> Any:
    """Return a generator that produces each item of another generator inside a context manager. The
    context manager is not active while the consumer runs.
    """
    return (_AsyncStream if is_async else _Stream)(enter, items)


def enclosing_attempt() -> Any:
    """Return the innermost approved attempt whose body contains the running code, or None."""
    running = _RUNNING.get()
    return None if running is None else running.attempt


def is_behind(outer: Any, name: Any) -> bool:
    """Return whether the outer tool name is the inner name, or the inner name with a prefix that
    another layer added.
    """
    if not isinstance(outer, str) or not isinstance(name, str) or not name:
        return False
    before = outer.removesuffix(name)
    return outer == name or (len(before) < len(outer) and before[-1:] in tuple(_BOUNDARIES))


def question_in_layer(ask: Any, outer: str, name: str) -> tuple[Any, ...]:
    """Return the question and requirements of an `Ask`, with the tool name of the inner layer.

    Args:
        ask: the `Ask` from either layer.
        outer: the name of the tool in the outer layer.
        name: the name of the tool in the inner layer.
    """
    question = str(ask.question).replace(outer, name)
    people = ask.roles, ask.approvals
    return question, ask.code and str(ask.code), ask.bind, people


class _Running:
    """A running body. In a stream, the body runs only while it produces an item. A task that
    outlives the body has a copy of the context, but this copy no longer contains the attempt.
    """

    __slots__ = ("_above", "attempt")

    def __init__(self, attempt: Any) -> None:
        self.attempt = attempt

    def __enter__(self) -> None:
        self._above = _RUNNING.get()
        _RUNNING.set(self)

    def __exit__(self, *_: object) -> None:
        self.attempt = None
        # No token is used, because a coroutine may be closed in another context than it ran in.
        if _RUNNING.get() is self:
            _RUNNING.set(self._above)
        self._above = None  # a copy of the context may exist for a long time


_RUNNING: Final[ContextVar[_Running | None]] = ContextVar("hookbus_approved_body", default=None)


class _Stream:
    def __init__(self, enter: Callable[[], Any], items: Any) -> None:
        self._enter, self._items = enter, items

    def send(self, value: Any) -> Any:
        with self._enter():
            return self._items.send(value)

    def throw(self, error: BaseException) -> Any:
        with self._enter():
            return self._items.throw(error)

    def close(self) -> Any:
        with self._enter():
            return self._items.close()


class _AsyncStream:
    def __init__(self, enter: Callable[[], Any], items: Any) -> None:
        self._enter, self._items = enter, items

    async def asend(self, value: Any) -> Any:
        with self._enter():
            return await self._items.asend(value)

    async def athrow(self, error: BaseException) -> Any:
        with self._enter():
            return await self._items.athrow(error)

    async def aclose(self) -> Any:
        with self._enter():
            return await self._items.aclose()
