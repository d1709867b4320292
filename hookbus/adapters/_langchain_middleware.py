"""A refused model call is not repeated by the middleware of LangChain's agents."""

from __future__ import annotations

import functools
from contextlib import suppress
from importlib import import_module
from typing import Any

from hookbus import HookBlocked

from ._patches import Patches


def pass_refusals(patches: Patches) -> None:
    """Have a `HookBlocked` of a model go through every middleware of an agent, which can then
    neither retry the call nor put it to another model."""
    with suppress(ImportError):  # it is a package of its own
        middleware = import_module("langchain.agents.middleware").AgentMiddleware
        patches.wrap(middleware, "wrap_model_call", _around_a_refusal)
        patches.wrap(middleware, "awrap_model_call", _around_a_refusal_async)


class _Refusal(BaseException):
    """A refusal on its way through middleware, which would repeat an `Exception` or ask another
    model."""

    def __init__(self, blocked: HookBlocked) -> None:
        super().__init__(blocked)
        self.blocked = blocked


def _around_a_refusal(owner: type, stock: Any) -> Any:
    @functools.wraps(stock)
    def wrap_model_call(middleware: Any, request: Any, handler: Any) -> Any:
        try:
            return stock(middleware, request, lambda request: _whole_way(handler, request))
        except _Refusal as refusal:
            raise refusal.blocked from None

    return wrap_model_call


def _whole_way(handler: Any, request: Any) -> Any:
    try:
        return handler(request)
    except HookBlocked as blocked:
        raise _Refusal(blocked) from None


def _around_a_refusal_async(owner: type, stock: Any) -> Any:
    @functools.wraps(stock)
    async def awrap_model_call(middleware: Any, request: Any, handler: Any) -> Any:
        async def handle(request: Any) -> Any:
            try:
                return await handler(request)
            except HookBlocked as blocked:
                raise _Refusal(blocked) from None

        try:
            return await stock(middleware, request, handle)
        except _Refusal as refusal:
            raise refusal.blocked from None

    return awrap_model_call
