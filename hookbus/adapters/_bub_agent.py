"""Bub's `AgentHooks` and the calls of its tools, on hookbus."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from hookbus import Bus, HookBlocked, HookError, instrument

from ._bub_calls import ASKING
from ._bub_questions import INTERCEPTION
from ._patches import Patches


def hook_agent(patches: Patches, bus: Bus, module: Any) -> None:
    """Make the four methods of `AgentHooks` hooks of their own names."""
    go_on = {
        "before_llm_call": lambda request: (request, None),
        "before_tool_call": lambda call: (call, module.ToolCallDecision.proceed()),
    }
    refuse = {
        "before_llm_call": lambda request, why: (request, module.LlmCallDecision.finish(why)),
        "before_tool_call": lambda call, why: (call, module.ToolCallDecision.deny(why)),
    }
    cls = module.AgentHooks
    for name, arguments in INTERCEPTION.items():
        stock = vars(cls)[name]
        patches.replace(cls, name, _body(stock, arguments[0], go_on.get(name)))
        undo = instrument(cls, {name: name}, bus=bus)
        hooked = vars(cls)[name]
        placed = _front(patches, stock, hooked, refuse.get(name))
        # What stands for a hookable is what its class holds: `explain` and the scopes look for it there.
        placed.__hookbus__ = hooked.__hookbus__
        hooked.__hookbus__.shell = placed
        setattr(cls, name, placed)
        patches.on_restore(functools.partial(_give_back, cls, name, placed, hooked, undo))


def _give_back(cls: Any, name: str, placed: Any, hooked: Any, undo: Callable[[], None]) -> None:
    if vars(cls).get(name) is placed:
        setattr(cls, name, hooked)
    undo()


def _body(stock: Any, subject: str, go_on: Callable[[Any], Any] | None) -> Any:
    async def body(hooks: Any, *args: Any, **kwargs: Any) -> Any:
        return go_on(kwargs[subject] if subject in kwargs else args[0]) if go_on is not None else None

    functools.update_wrapper(body, stock)
    del body.__wrapped__  # type: ignore[attr-defined]
    body.__signature__ = inspect.signature(stock)  # type: ignore[attr-defined]
    return body


def _front(patches: Patches, stock: Any, hooked: Any, refuse: Callable[[Any, str], Any] | None) -> Any:
    name = stock.__name__

    @functools.wraps(stock)
    async def front(hooks: Any, *args: Any, **kwargs: Any) -> Any:
        if not patches.is_live:
            return await stock(hooks, *args, **kwargs)
        outer, asking = ASKING.get(), hooks._hookbus.asking(name)
        ASKING.set(asking)
        try:
            return asking.result(await hooked(hooks, *args, **kwargs))
        except HookBlocked as blocked:
            if refuse is None:
                raise
            return refuse(args[0] if args else kwargs[INTERCEPTION[name][0]], str(blocked))
        finally:
            ASKING.set(outer)

    return front


def hook_tools(patches: Patches, bus: Bus, module: Any, error: Any) -> None:
    """Make the run of a tool, between its two hooks, the hook `tool_call`."""
    cls = module.ToolExecutor
    stock = vars(cls)["_invoke_normalized"]

    async def tool_call(executor: Any, name: str, arguments: dict[str, Any], call: Any, tool: Any) -> Any:
        """Run a tool; what it raises is Bub's BubError by now. Only `arguments` can be changed."""
        if arguments is not call.arguments:
            call = module.replace(call, arguments=dict(arguments))
        return await stock(executor, tool, call, call.context)

    async def _invoke_normalized(executor: Any, tool_obj: Any, call: Any, context: Any) -> Any:
        if not patches.is_live:
            return await stock(executor, tool_obj, call, context)
        try:
            return await executor.tool_call(call.tool, call.arguments, call, tool_obj)
        except HookError as failure:
            raise error.BubError(error.ErrorKind.TOOL, str(failure)) from failure

    patches.replace(cls, "tool_call", tool_call)
    patches.on_restore(instrument(cls, "tool_call", bus=bus))
    patches.replace(cls, "_invoke_normalized", _invoke_normalized)
