"""Semantic Kernel: hooks around every call to a kernel function and a chat service.

`tool_call` (sender: the `KernelFunction`) covers every call to a function, by a model, an agent, a
template or a program. Functions can be methods, prompts, agents, hand-offs or tools of MCP servers.
Guards run after all filters. `name` does not contain the name of the plugin; the sender does. If a
call is blocked, a model reads the reason as the function's result, and a program gets
`HookBlocked`. A blocked hand-off does not happen. If a guard checks the result, the parts of a
streamed function are held back until the function has finished. `model_call` (sender: the
`ChatCompletionClientBase`) covers every request of a chat service, whole or streamed.
`model_stream` gets the parts of a streamed answer.

Not covered: calls to `MCPPlugin.call_tool` by a program, which the adapter `mcp` covers, tools that
a model provider runs, and services other than chat.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from copy import copy
from importlib import import_module
from typing import Any, Final, cast

from hookbus import Bus, HookBlocked, default_bus

from ._answers import SEMANTIC_KERNEL
from ._injected import is_written
from ._newer import Untested
from ._patches import Between
from ._semantic_kernel_asked import ASKED, Asked, call_missing_function, note_request
from .kit import Adapter, Gate, Refusal, ToolCall

SUPPORTED: Final = Between("1.36.0", "1.45.0")
"""Versions of semantic-kernel."""


# -- results: what a function returns, contents, models of pydantic, and parts of a stream ---------


class _Parts(list[Any]):
    """The result of a streamed function."""


async def _gathered(result: Any) -> Any:
    if result is None:
        return None
    value = result.value
    if inspect.isasyncgen(value):
        return result.model_copy(update={"value": _Parts([part async for part in value])})
    if inspect.isgenerator(value):
        return result.model_copy(update={"value": _Parts(value)})
    return result


async def _one_by_one(parts: _Parts) -> AsyncGenerator[Any, None]:
    for part in parts:
        yield part


def _shown(raw: Any) -> Any:
    if isinstance(raw, str):  # the model's answer for a function that does not exist
        return raw
    value: Any = None if raw is None else raw.value
    if isinstance(value, list):
        flat = [each for part in value for each in (part if isinstance(part, list) else [part])]
        if flat and all(isinstance(each, _content()) for each in flat):
            return ("" if isinstance(value, _Parts) else "\n").join(map(str, flat))
        return [*value]
    if isinstance(value, _content()):
        return str(value)
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def _content() -> Any:
    return import_module("semantic_kernel.contents.kernel_content").KernelContent


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if call.kind == "unknown":
        return value
    if raw is None:
        return _result(call, value)
    given = {name: raw.metadata[name] for name in _GIVEN if name in raw.metadata}
    return _result(call, _like(raw.value, value), given)


_GIVEN: Final = ("arguments", "used_arguments")
"""The metadata keys that describe the call; the other keys describe the result."""


def _result(call: ToolCall, value: Any, metadata: Any = None) -> Any:
    cls = import_module("semantic_kernel.functions").FunctionResult
    if isinstance(value, cls):
        return value
    return cls(function=call.tool.metadata, value=value, metadata=metadata or {})


def _like(old: Any, value: Any) -> Any:
    """Return a changed value in the type of the value that it replaces."""
    contents: Any = import_module("semantic_kernel.contents")
    kind: Any = type(old)
    if isinstance(old, _Parts):
        parts = value if isinstance(value, list) else [_like(old[0] if old else None, value)]
        return _Parts(parts)
    if isinstance(old, list) and old and isinstance(old[0], _content()):
        return [_like(old[0], value)] if isinstance(value, str) else value
    if isinstance(old, contents.StreamingChatMessageContent) and isinstance(value, str):
        message = cast(Any, old)
        return kind(role=message.role, choice_index=message.choice_index, content=value)
    if isinstance(old, contents.ChatMessageContent) and isinstance(value, str):
        return kind(role=cast(Any, old).role, content=value)
    if isinstance(old, _content()) and isinstance(value, str):
        return contents.TextContent(text=value)
    if hasattr(old, "model_validate") and isinstance(value, dict):
        return kind.model_validate(value)
    return value


def _refused(refused: Refusal) -> Any:
    call, asked = refused.call, refused.call.context
    if asked is None:
        raise refused.blocked
    asked.is_to_go_on = call.kind in ("handoff", "output")
    return _result(call, refused.text)


# -- tools -----------------------------------------------------------------------------------------

_ADAPTER: Final = Adapter(
    "semantic-kernel", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.semantic_kernel",
)  # fmt: skip
_ADAPTER.words("tool_call")
_ADAPTER.pauses("semantic_kernel.exceptions:OperationCancelledException")
_KERNEL: Final = "semantic_kernel:Kernel"
_ADAPTER.wrap(f"{_KERNEL}.invoke_function_call")(note_request)
_ADAPTER.wrap(f"{_KERNEL}.invoke_function_call")(call_missing_function)


@_ADAPTER.wrap(f"{_KERNEL}.invoke")
async def _invoke(gate: Gate, stock: Any, kernel: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return await stock(kernel, *args, **kwargs)
    except Exception as error:
        if isinstance(error.__cause__, HookBlocked):
            raise error.__cause__ from None
        raise


@_ADAPTER.also
def _hook_functions(gate: Gate) -> None:
    function = import_module("semantic_kernel.functions").KernelFunction
    for name in ("_invoke_internal", "_invoke_internal_stream"):
        gate.patches.wrap(function, name, functools.partial(_seam, gate))


def _seam(gate: Gate, owner: type, stock: Any) -> Any:
    @functools.wraps(stock)
    async def _invoke_internal(function: Any, context: Any) -> None:
        depth = type(function).__mro__.index(owner)
        await _call(gate, functools.partial(stock, function), context, depth)

    seam: Any = _invoke_internal
    seam.__hookable__ = gate.vocabulary.hookable("tool_call", is_async=True)
    return seam


async def _call(
    gate: Gate, run: Callable[[Any], Awaitable[None]], context: Any, depth: int = 0
) -> None:
    function, asked = context.function, ASKED.get()
    if asked is not None and asked.is_for(function):
        ASKED.set(None)  # calls made by the function come from a program
    else:
        asked = None
    given = context.arguments
    names = _parameters(function) or [*given]
    hidden = _injected(function, given, asked)
    arguments = {name: given[name] for name in names if name in given and name not in hidden}
    call = ToolCall(
        function.name, arguments, asked.content.id if asked else None,
        _KINDS.get(_home(function), "function"), function, context=asked,
    )  # fmt: skip

    async def body(arguments: dict[str, Any]) -> Any:
        context.arguments = changed = copy(given)
        for name in call.arguments.keys() - arguments.keys():
            del changed[name]
        changed.update(arguments)
        await run(context)
        result, context.result = context.result, None
        return await _gathered(result)

    result = await gate.run_async(call, body, depth)
    if result is not None and isinstance(result.value, _Parts):
        result = result.model_copy(update={"value": _one_by_one(result.value)})
    context.result = result


def _parameters(function: Any) -> list[str]:
    """Return the names of the arguments that a function gets, or [] if it may get all arguments of
    the call."""
    names = [each.name for each in function.parameters]
    return [] if function.is_prompt or "arguments" in names else names


def _injected(function: Any, given: Any, asked: Asked | None) -> set[str]:
    """Return the names of the arguments that the program passes instead of the model. The model did
    not write these arguments, and it cannot write them or does not know them."""
    kept = {each.name for each in function.parameters if not each.include_in_function_choices}
    if asked is None:
        return {name for name in kept & {*given} if not is_written(given[name])}
    written = asked.content.to_kernel_arguments() or {}
    return {
        name for name in given
        if name not in written and (name in kept or not is_written(given[name]))
    }


def _home(function: Any) -> str:
    """Return the qualified name of the callable that a function wraps."""
    method = getattr(function, "method", None)
    return getattr(getattr(method, "func", method), "__qualname__", "")


_KINDS: Final = {
    "Agent.model_post_init.<locals>._as_kernel_function": "agent",
    "HandoffAgentActor._handoff_to_agent": "handoff",
    "HandoffAgentActor._complete_task": "output",
    "MCPPluginBase.call_tool": "mcp",
}


# -- chat services ---------------------------------------------------------------------------------

_CHAT: Final = "semantic_kernel.connectors.ai.chat_completion_client_base:ChatCompletionClientBase"
_ADAPTER.model(f"{_CHAT}._inner_get_chat_message_contents").stream(
    f"{_CHAT}._inner_get_streaming_chat_message_contents", **SEMANTIC_KERNEL._asdict()
)

install = _ADAPTER.install


class Guarded:
    """A filter that guards the calls of one kernel, without patching the framework.

        kernel.add_filter("function_invocation", Guarded(bus))

    It covers every call to that kernel's functions, but no calls of other kernels. Add it last,
    because it does not see changes to the arguments by filters that are added after it. A blocked
    call raises `HookBlocked`. A model reads Semantic Kernel's message about this exception,
    `kernel.invoke` raises its own exception from it, and a blocked hand-off ends the run. Do not
    use it together with `install`, because the hooks would run twice.

    Args:
        bus: the bus to declare the hooks on.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Attributes:
        bus: the bus to declare the hooks on.

    Raises:
        HookError: if semantic-kernel is not installed or has an unsupported version.
    """

    def __init__(self, bus: Bus = default_bus, *, untested: Untested = "check") -> None:
        self.bus, self._gate = bus, _ADAPTER.gate(bus, untested=untested)

    async def __call__(self, context: Any, next: Callable[[Any], Awaitable[None]]) -> None:
        await _call(self._gate, next, context)
