"""Keeps the middleware of LangChain's agents from repeating a blocked model call."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from hookbus import HookBlocked

from ._patches import Patches


def pass_refusals(patches: Patches) -> None:
    """Make a `HookBlocked` of a model pass through every middleware of an agent, which can then
    neither retry the call nor send it to another model."""
    with suppress(ImportError):  # it is a separate package
        middleware = import_module("langchain.agents.middleware").AgentMiddleware
        patches.wrap(middleware, "wrap_model_call", _around_a_refusal)
        patches.wrap(middleware, "awrap_model_call", _around_a_refusal_async)


class Refusal(BaseException):
    """A denial that passes through code that would repeat an `Exception` or call another model.

    Attributes:
        blocked: the denial.
    """

    def __init__(self, blocked: HookBlocked) -> None:
        super().__init__(blocked)
        self.blocked = blocked


@contextmanager
def hiding_refusals() -> Iterator[None]:
    """Raise a `HookBlocked` of the block as a `Refusal`."""
    try:
        yield
    except HookBlocked as blocked:
        raise Refusal(blocked) from None


@contextmanager
def showing_refusals() -> Iterator[None]:
    """Raise the `HookBlocked` of a `Refusal` raised in the block."""
    try:
        yield
    except Refusal as refusal:
        raise refusal.blocked from None


def _around_a_refusal(owner: type, stock: Any) -> Any:
    @functools.wraps(stock)
    def wrap_model_call(middleware: Any, request: Any, handler: Any) -> Any:
        with showing_refusals():
            return stock(middleware, request, hiding_refusals()(handler))

    return wrap_model_call


def _around_a_refusal_async(owner: type, stock: Any) -> Any:
    @functools.wraps(stock)
    async def awrap_model_call(middleware: Any, request: Any, handler: Any) -> Any:
        async def handle(request: Any) -> Any:
            with hiding_refusals():
                return await handler(request)

        with showing_refusals():
            return await stock(middleware, request, handle)

    return awrap_model_call
