"""Microsoft Agent Framework: hooks around every call to a tool and a chat client.

`tool_call` (sender: the `FunctionTool`) covers every `invoke` of a tool, by any agent, workflow or
program, after all middleware. It also covers hand-offs of agent-framework-orchestrations.
`model_call` and `model_stream` (sender: the chat client) cover the requests of a chat client. A
blocked call returns a string, which the model reads as the result. If a program calls the tool,
`HookBlocked` is raised.

Not covered: direct calls to a decorated function, the runs of agents, and tools that the model's
provider runs. A blocked call returns a string and does not set the result's `exception`, because
the framework would then hide the reason from its model.
"""

from __future__ import annotations

import functools
import inspect
from importlib import import_module
from typing import Any, Final

from ._answers import agent_framework
from ._arguments import text_of
from ._patches import Between, declare_fields
from ._streams import ask_in_parts_async
from ._unknown import call_of
from ._vocabulary import Once
from .kit import Adapter, Gate, Refusal, ToolCall

SUPPORTED: Final = Between("1.10.0", "1.23.0")
"""Versions of agent-framework-core."""

_MESSAGES: Final = ("Message", "Content", "ChatResponse", "ChatResponseUpdate")
"""Plain classes. Their objects are sealed together with the object that contains them."""

_HOST_DATA: Final = "_function_result_carrier"
"""The key of a call's context for data that an MCP server sent besides the text."""


def _framework() -> Any:
    return import_module("agent_framework")


# -- results ---------------------------------------------------------------------------------------


def _shown(raw: Any) -> Any:
    """Return the text of a result that contains only text, and otherwise its contents as data."""
    content = _framework().Content
    if not isinstance(raw, list) or not raw or not all(isinstance(each, content) for each in raw):
        return raw
    if all(each.type == "text" for each in raw):
        return "\n".join(each.text or "" for each in raw)
    return [each.to_dict() for each in raw]


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    context, options = call.context
    _forget(context)
    if options.get("skip_parsing"):
        return value
    content = _framework().Content
    if isinstance(value, list) and value and isinstance(_shown(raw), list):
        return [content.from_dict(each) if isinstance(each, dict) else each for each in value]
    text = text_of(value)
    return [content.from_text(text)]


def _refused(refused: Refusal) -> Any:
    if refused.call.call_id is None:  # a program waits
        raise refused.blocked
    _forget(refused.call.context[0])
    return [_framework().Content.from_text(refused.text)]


def _forget(context: Any) -> None:
    """Remove the additional data that an MCP server sent with a result that is withheld."""
    getattr(context, "metadata", {}).pop(_HOST_DATA, None)


# -- tools -----------------------------------------------------------------------------------------

_ADAPTER: Final = Adapter(
    "agent-framework-core", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.agent_framework",
)  # fmt: skip
_ADAPTER.words("model_call", "model_stream")
_ADAPTER.pauses(
    "agent_framework.exceptions:UserInputRequiredException",
    "agent_framework:MiddlewareTermination", "agent_framework._middleware:MiddlewareFailure",
    "agent_framework._workflows._functional:WorkflowInterrupted",
)  # fmt: skip


def _invoke(
    stock: Any, tool: Any, *, arguments: Any = None, context: Any = None,
    tool_call_id: str | None = None, **options: Any,
) -> Any:  # fmt: skip
    skips = {key: options.pop(key) for key in ("skip_parsing",) if key in options}
    given = arguments if arguments is not None else options or getattr(context, "arguments", None)
    dump = getattr(given, "model_dump", None)
    seen = dump(exclude_unset=True) if dump else given or {}
    call = ToolCall(
        tool.name, dict(seen), tool_call_id, _kind(tool), tool, context=(context, skips)
    )

    def body(changed: dict[str, Any]) -> Any:
        known = {"context": context, "tool_call_id": tool_call_id, **skips}
        if changed == call.arguments:
            return stock(tool, arguments=arguments, **known, **options)
        return stock(tool, arguments=changed, **known)

    return call, body


def _kind(tool: Any) -> str:
    """Return the kind of a tool by the module that defines its function, because all tools have the
    same class."""
    function = getattr(tool.func, "func", tool.func)  # for a partial, or a tool made from a tool
    module, name = (getattr(function, each, "") for each in ("__module__", "__qualname__"))
    if module.startswith("agent_framework."):
        return "agent" if ".as_tool." in name else "mcp" if module.endswith("._mcp") else "function"
    return "function"


_ADAPTER.tool("agent_framework:FunctionTool.invoke", _invoke)


@_ADAPTER.wrap("agent_framework._tools:_auto_invoke_function")
async def _auto_invoke_function(
    gate: Gate, stock: Any, function_call_content: Any, *args: Any, tool_map: Any, **more: Any
) -> Any:
    """Run the hooks for calls to tools that do not exist."""
    asked = function_call_content
    run = functools.partial(stock, asked, *args, tool_map=tool_map, **more)
    if asked.type != "function_call" or asked.name in tool_map:
        return await run()
    call = call_of(asked.name, asked.parse_arguments() or {}, asked.call_id, None, None,
                   context=(None, {"skip_parsing": True}))  # fmt: skip
    done: list[Any] = []

    async def body(arguments: dict[str, Any]) -> Any:
        done.append(await run())
        return done[-1].result

    answer = await gate.run_async(call, body)
    if done and answer is done[-1].result:
        return done[-1]
    text = "\n".join(each.text or "" for each in answer) if isinstance(answer, list) else answer
    return _framework().Content.from_function_result(call_id=asked.call_id, result=text)


_HANDOFF: Final = "agent_framework_orchestrations._handoff:_AutoHandoffMiddleware"


@_ADAPTER.wrap(f"{_HANDOFF}.process", if_installed=True)
async def _process(
    gate: Gate, stock: Any, middleware: Any, context: Any, call_next: Any
) -> None:
    """Hook hand-offs. A middleware answers in place of their tools, which are never invoked."""
    if context.function.name not in middleware._handoff_functions:
        await stock(middleware, context, call_next)
        return
    handed: list[Any] = []

    async def body(arguments: dict[str, Any]) -> Any:
        context.arguments = arguments
        try:
            await stock(middleware, context, call_next)
        except _framework().MiddlewareTermination as stopped:
            handed.append(stopped)
        return context.result

    call_id, name = context.metadata.get("call_id"), context.function.name
    call = ToolCall(
        name, dict(context.arguments), call_id, "handoff", context.function,
        context=(context, {}),
    )  # fmt: skip
    answer = await gate.run_async(call, body)
    if handed and _shown(answer) == _shown(context.result):
        raise handed[0]
    context.result, noted = answer, getattr(middleware, "_invoked_handoffs", [])
    noted[:] = [each for each in noted if each[0] != call_id]


# -- chat clients ----------------------------------------------------------------------------------


@_ADAPTER.also
def _hook_clients(gate: Gate) -> None:
    words, forms = gate.vocabulary, agent_framework()

    def responded(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        def _inner_get_response(
            client: Any, *, messages: Any, stream: bool = False, options: Any, **more: Any
        ) -> Any:
            async def whole(given: Any, chosen: Any) -> Any:
                return await stock(client, messages=given, stream=False, options=chosen, **more)

            async def parts(given: Any, chosen: Any) -> Any:
                found = stock(client, messages=given, stream=True, options=chosen, **more)
                async for part in await found if inspect.iscoroutine(found) else found:
                    yield part

            asked = Once(client, "_inner_get_response", owner, parts if stream else whole)
            if not gate.patches.is_live or asked.is_asked:
                return stock(client, messages=messages, stream=stream, options=options, **more)
            hook_args = client, messages, options, None
            if not stream:
                return words.run_async("model_call", asked, *hook_args)
            return client._build_response_stream(
                ask_in_parts_async(words, asked, forms, *hook_args),
                response_format=options.get("response_format"),
            )

        return _inner_get_response

    gate.patches.wrap(_framework().BaseChatClient, "_inner_get_response", responded)


@_ADAPTER.also
def _declare_messages(gate: Gate) -> None:
    for name in _MESSAGES:
        declare_fields(gate.patches, getattr(_framework(), name))


install = _ADAPTER.install
