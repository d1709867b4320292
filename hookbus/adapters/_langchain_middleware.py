"""Keeps the middleware of LangChain's agents from repeating a blocked model call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hookbus import HookBlocked

from ._tools import Gate


class Refusal(BaseException):
    """A denial as a `BaseException`, so that code which handles `Exception` cannot retry the call
    or try another model.

    Attributes:
        blocked: the denial.
    """

    def __init__(self, blocked: HookBlocked) -> None:
        super().__init__(blocked)
        self.blocked = blocked


@contextmanager
def hiding_refusals() -> Iterator[None]:
    """Replace a `HookBlocked` that the `with` block raises with a `Refusal`."""
    try:
        yield
    except HookBlocked as blocked:
        raise Refusal(blocked) from None


@contextmanager
def showing_refusals() -> Iterator[None]:
    """Replace a `Refusal` that the `with` block raises with its `HookBlocked`."""
    try:
        yield
    except Refusal as refusal:
        raise refusal.blocked from None


def call_model_with(gate: Gate, stock: Any, middleware: Any, request: Any, handler: Any) -> Any:
    """Let a `HookBlocked` of a model call pass through middleware, so that middleware can neither
    retry the call nor try another model.
    """
    with showing_refusals():
        return stock(middleware, request, hiding_refusals()(handler))


async def call_model_with_async(
    gate: Gate, stock: Any, middleware: Any, request: Any, handler: Any
) -> Any:
    """Like `call_model_with`, but for async calls."""

    async def handle(request: Any) -> Any:
        with hiding_refusals():
            return await handler(request)

    with showing_refusals():
        return await stock(middleware, request, handle)
