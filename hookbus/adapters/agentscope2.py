"""AgentScope 2: hooks around every call to a tool, a model and an agent.

`tool_call` (sender: the `ToolBase`) covers every call to a tool, by an agent, a toolkit or a
program, for functions, built-in tools and MCP tools. A blocked call returns a `ToolChunk` with
state error, which the model reads; the run continues. `model_call` and `model_stream` (sender:
`ChatModelBase`) cover calls to a model, streamed or not, and `generate_structured_output`. A
blocked model call ends the run of an agent with `HookBlocked`, without a retry or a fallback.
`agent_run` and `agent_stream` (sender: the `Agent`) cover `reply` and `reply_stream`.

Its agents have middlewares instead of the hooks of AgentScope 1 (see `adapters.agentscope`). Guards
run inside all middlewares, and after AgentScope's permission checks. A call that a permission check
denies does not reach the hook. The parts of a streaming tool are passed on only after receivers
have checked all parts.

Not covered: realtime agents and models, and remote agents (`A2AAgent`) with their own tools.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, suppress
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final

from hookbus import HookBlocked

from ._agentscope2_unknown import call_missing_tool, report_missing_tool
from ._answers import AGENTSCOPE2
from ._arguments import taking
from ._parts import Held, steps_async
from ._patches import Between
from ._streams import ask_in_parts_async
from ._vocabulary import Once, Vocabulary, depth_of
from .kit import Adapter, Gate, Refusal, ToolCall

SUPPORTED: Final = Between("2.0.6", "2.0.11")


# -- results ---------------------------------------------------------------------------------------


def _shown(chunks: list[Any]) -> Any:
    """Return the text of a result for the model, or its blocks as data if a block is not text."""
    whole = import_module("agentscope.tool").ToolResponse()
    for chunk in chunks:
        if not isinstance(chunk, import_module("agentscope.tool").ToolChunk):
            return chunks  # its toolkit rejects them
        whole.append_chunk(chunk)
    if all(block.type == "text" for block in whole.content):
        return "\n".join(block.text for block in whole.content)
    return [block.model_dump(mode="json") for block in whole.content]


def _packed(call: ToolCall, raw: list[Any] | None, value: Any) -> list[Any]:
    if isinstance(value, list):
        with suppress(ValueError):  # these are not blocks
            return [import_module("agentscope.tool").ToolChunk(content=value)]
    text = value if isinstance(value, str) else import_module("json").dumps(value, default=str)
    return [_chunk(text)]


def _refused(refused: Refusal) -> list[Any]:
    return [_chunk(refused.text, state="error")]


def _chunk(text: str, **more: Any) -> Any:
    block = import_module("agentscope.message").TextBlock(text=text)
    return import_module("agentscope.tool").ToolChunk(content=[block], **more)


# -- tools -----------------------------------------------------------------------------------------

_ADAPTER: Final = Adapter(
    "agentscope", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.agentscope2",
)  # fmt: skip
_ADAPTER.words("tool_call", "model_call", "model_stream")

_CALL_ID: Final[ContextVar[str | None]] = ContextVar("hookbus_agentscope2_call_id", default=None)
"""The id of the call that a toolkit is making."""

_STATE: Final = "_agent_state"
"""The parameters that AgentScope passes to a tool besides its arguments."""

_AGENT: Final[ContextVar[Any]] = ContextVar("hookbus_agentscope2_agent", default=None)
"""The agent that is calling its model."""


@_ADAPTER.wrap("agentscope.tool:Toolkit.call_tool")
async def _call_tool(
    gate: Gate, stock: Any, toolkit: Any, tool_call: Any, *args: Any
) -> AsyncGenerator[Any, None]:
    numbered = steps_async(_CALL_ID, tool_call.id, stock(toolkit, tool_call, *args))
    async with aclosing(numbered) as chunks:
        async for chunk in chunks:
            yield chunk


_ADAPTER.wrap("agentscope.tool:Toolkit.call_tool")(call_missing_tool)
_ADAPTER.wrap("agentscope.agent:Agent._handle_error_tool_call")(report_missing_tool)


@_ADAPTER.also
def _hook_tools(gate: Gate) -> None:
    base = import_module("agentscope.tool").ToolBase
    import_module("agentscope.middleware")  # with its own tools
    gate.patches.wrap(base, "call", functools.partial(_called, gate, 1))
    gate.patches.wrap(base, "__call__", functools.partial(_overridden, gate))


def _overridden(gate: Gate, owner: type, stock: Any) -> Any:
    """Hook tools that override `__call__`, which runs the middlewares and `call`."""
    is_its_own = owner is not import_module("agentscope.tool").ToolBase
    return _called(gate, 0, owner, stock) if is_its_own else stock


def _called(gate: Gate, layer: int, owner: type, stock: Any) -> Any:
    async def chunks_of(tool: Any, args: Any, kwargs: dict[str, Any]) -> list[Any]:
        more = {_STATE: kwargs.pop(_STATE)} if _STATE in kwargs else {}
        call = ToolCall(tool.name, kwargs, _CALL_ID.get(), _kind(tool), tool)

        async def body(arguments: dict[str, Any]) -> list[Any]:
            return await _whole(stock(tool, *args, **arguments, **more))

        depth = layer * 1000 + depth_of(owner, tool)
        found: list[Any] = await gate.run_async(call, body, depth)
        return found

    if inspect.isasyncgenfunction(stock):

        @functools.wraps(stock)
        async def call_in_parts(tool: Any, *args: Any, **kwargs: Any) -> Any:
            for chunk in await chunks_of(tool, args, kwargs):
                yield chunk

        return call_in_parts

    @functools.wraps(stock)
    async def call(tool: Any, *args: Any, **kwargs: Any) -> Any:
        chunks = await chunks_of(tool, args, kwargs)
        return chunks[0] if len(chunks) == 1 else _each(chunks)

    return call


async def _each(chunks: list[Any]) -> AsyncGenerator[Any, None]:
    for chunk in chunks:
        yield chunk


async def _whole(given: Any) -> list[Any]:
    """Return all parts of a tool's result, which is a single chunk or a generator of chunks."""
    if inspect.isawaitable(given):
        given = await given
    if isinstance(given, AsyncGenerator):
        async with aclosing(given) as chunks:
            return [chunk async for chunk in chunks]
    return [*given] if isinstance(given, Generator) else [given]


def _kind(tool: Any) -> str:
    if type(tool).__module__ == "agentscope.agent._structured_output_tool":
        return "output"
    return "mcp" if tool.is_mcp else "function"


# -- models and agents -----------------------------------------------------------------------------


class _Refused(BaseException):
    """A denial as a `BaseException`, which passes through middlewares and retries that would retry
    an `Exception`."""

    def __init__(self, blocked: HookBlocked) -> None:
        super().__init__(blocked)
        self.blocked = blocked


class _Request(Once):
    """A request to a model.

    Attributes:
        is_whole: whether a streaming model has returned a whole answer instead of parts.
    """

    is_whole = False

    def __init__(self, model: Any, owner: type, ask: Callable[..., Any]) -> None:
        super().__init__(model, "__call__", owner, self._parts if model.stream else self._whole)
        self._ask = ask

    async def _parts(self, messages: Any, options: dict[str, Any]) -> AsyncGenerator[Any, None]:
        answer = await self._ask(messages, options)
        self.is_whole = not isinstance(answer, AsyncGenerator)
        async with aclosing(_each([answer]) if self.is_whole else answer) as parts:
            async for part in parts:
                yield part

    async def _whole(self, messages: Any, options: dict[str, Any]) -> Any:
        answer = await self._ask(messages, options)
        if not isinstance(answer, AsyncGenerator):
            return answer
        async with aclosing(answer) as parts:
            return [part async for part in parts][-1]

    async def answer(self, words: Vocabulary, *hook_args: Any) -> Any:
        """Return the result of the hooked call for AgentScope. If it is a stream, its first part
        was already read, so that AgentScope can retry a request that fails before this part."""
        if not self.of.stream:
            return await words.run_async("model_call", self, *hook_args)
        parts = ask_in_parts_async(words, self, AGENTSCOPE2, *hook_args)
        begun = []
        async for part in parts:
            begun.append(part)
            if not self.is_whole:
                break
        return begun[-1] if self.is_whole and begun else _on(begun, parts)


async def _on(begun: list[Any], parts: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    async with aclosing(parts):
        for part in begun:
            yield part
        async for part in parts:
            yield part


def _hook_models(words: Vocabulary) -> None:
    def asked(owner: type, stock: Any) -> Any:
        split = taking(stock)

        @functools.wraps(stock)
        async def __call__(model: Any, /, *args: Any, **kwargs: Any) -> Any:
            messages, options, join = split(args, kwargs)

            def ask(given: Any, more: dict[str, Any]) -> Any:
                by_place, by_name = join(given, more)
                return stock(model, *by_place, **by_name)

            request = _Request(model, owner, ask)
            if not words.patches.is_live or request.is_asked:
                return await stock(model, *args, **kwargs)
            agent = _AGENT.get()
            try:
                return await request.answer(words, model, messages, options, agent)
            except HookBlocked as blocked:
                if agent is None:
                    raise
                raise _Refused(blocked) from None

        return __call__

    base = import_module("agentscope.model").ChatModelBase
    words.patches.wrap(base, "__call__", asked)


_MODEL: Final = "agentscope.model:ChatModelBase"
_ADAPTER.also(lambda gate: _hook_models(gate.vocabulary))
_ADAPTER.model(f"{_MODEL}.generate_structured_output")
_ADAPTER.run("agentscope.agent:Agent.reply", stream=False)
_ADAPTER.run("agentscope.agent:Agent.reply_stream", stream=True)


@_ADAPTER.wrap("agentscope.agent:Agent._call_model")
async def _call_model(gate: Gate, stock: Any, agent: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        with Held(_AGENT, agent):
            return await stock(agent, *args, **kwargs)
    except _Refused as refused:
        raise refused.blocked from None


install = _ADAPTER.install
