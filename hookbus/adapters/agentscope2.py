"""AgentScope 2: hooks around every call of a tool, of a model and of an agent.

Its agents have middlewares instead of the hooks of AgentScope 1 (see `adapters.agentscope`). Guards
run inside all middlewares, and after AgentScope's permission checks. A call that these deny does
not reach the hook. The parts of a streaming tool are passed on after all of them were checked.

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

from hookbus import Bus, HookBlocked, default_bus

from ._agentscope2_unknown import hook_agentscope2
from ._answers import AGENTSCOPE2
from ._models import first_of, hook_models
from ._newer import Untested, patches_of
from ._patches import Between, Uninstall, named_options
from ._streams import ask_in_parts_async
from ._tools import Gate, Refusal, Results, ToolCall
from ._vocabulary import Once, Vocabulary, depth_of, refusal

SUPPORTED: Final = Between("2.0.6", "2.0.11")

_CALL_ID: Final[ContextVar[str | None]] = ContextVar("hookbus_agentscope2_call_id", default=None)
"""The id of the call that a toolkit makes."""

_STATE: Final = "_agent_state"
"""The parameters that AgentScope passes to a tool besides its arguments."""

_AGENT: Final[ContextVar[Any]] = ContextVar("hookbus_agentscope2_agent", default=None)
"""The agent that calls its model."""


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the tools, models and agents of AgentScope 2.

    `tool_call` (sender: the `ToolBase`) covers every call of a tool, by an agent, a toolkit or a
    program, for functions, built-in tools and MCP tools. A blocked call returns a `ToolChunk` with
    state error, which the model reads; the run continues. `model_call` and `model_stream` (sender:
    `ChatModelBase`) cover calls of a model, streamed or not, and `generate_structured_output`. A
    blocked model call ends the run of an agent with `HookBlocked`, without a retry or a fallback.
    `agent_run` and `agent_stream` (sender: the `Agent`) cover `reply` and `reply_stream`.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        untested: what to do with a release newer than the tested ones: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises.

    Returns:
        A function that restores AgentScope. A second call does nothing.

    Raises:
        HookError: if agentscope is not installed, is incompatible, or already runs on hookbus.
    """
    with patches_of("agentscope2", "agentscope", SUPPORTED, untested, install) as patches:
        tools = import_module("agentscope.tool")
        import_module("agentscope.middleware")  # with its own tools
        words = "tool_call", "model_call", "model_stream", "agent_run", "agent_stream"
        gate = Gate(patches, bus, Results(_shown, _packed, _refused), words=words, say=say)
        patches.wrap(tools.Toolkit, "call_tool", _numbered)
        hook_agentscope2(gate, tools.Toolkit)
        patches.wrap(tools.ToolBase, "call", functools.partial(_called, gate, 1))
        patches.wrap(tools.ToolBase, "__call__", functools.partial(_overridden, gate))
        _hook_models(gate.vocabulary)
        _hook_agents(gate.vocabulary)
    return patches.restore


# -- tools -----------------------------------------------------------------------------------------


def _numbered(owner: type, stock: Any) -> Any:
    @functools.wraps(stock)
    async def call_tool(toolkit: Any, tool_call: Any, state: Any, *args: Any) -> Any:
        async with aclosing(stock(toolkit, tool_call, state, *args)) as chunks:
            while True:
                previous = _CALL_ID.get()
                try:
                    _CALL_ID.set(tool_call.id)  # for the maker of a chunk, not its reader
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
                finally:
                    _CALL_ID.set(previous)
                yield chunk

    return call_tool


def _overridden(gate: Gate, owner: type, stock: Any) -> Any:
    """Hook a tool that overrides the method that runs middlewares and its unchanged `call`."""
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
    """Return all parts of a tool's result: one chunk, or those of a generator."""
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


def _shown(chunks: list[Any]) -> Any:
    """Return the text of a result for the model; or its blocks as data if not all are text."""
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


# -- models and agents -----------------------------------------------------------------------------


class _Refused(BaseException):
    """A denial that passes through middlewares and retries, which would repeat an `Exception`."""

    def __init__(self, blocked: HookBlocked) -> None:
        super().__init__(blocked)
        self.blocked = blocked


class _Request(Once):
    """A request to a model.

    Attributes:
        is_whole: whether a model that streams has answered in one piece.
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

    async def answer(self, words: Vocabulary, *told: Any) -> Any:
        """Return the result of the hooked call for AgentScope. A stream has started: a failure
        before its first part is raised where it is retried."""
        if not self.of.stream:
            return await words.run_async("model_call", self, *told)
        parts = ask_in_parts_async(words, self, AGENTSCOPE2, *told)
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
        split = first_of(stock)

        @functools.wraps(stock)
        async def __call__(model: Any, /, *args: Any, **kwargs: Any) -> Any:
            messages, rest, options = split(args, kwargs)
            request = _Request(model, owner, lambda given, more: stock(model, given, *rest, **more))
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
    hook_models(words, base, {"generate_structured_output": "model_call"})


def _hook_agents(words: Vocabulary) -> None:
    def replied(owner: type, stock: Any) -> Any:
        split, is_stream = first_of(stock), inspect.isasyncgenfunction(stock)

        def hooked(agent: Any, /, *args: Any, **kwargs: Any) -> Any:
            inputs, rest, options = split(args, kwargs)
            run = Once(agent, stock.__name__, owner, lambda it: stock(agent, it, *rest, **options))
            if not words.patches.is_live or run.is_asked:
                return stock(agent, *args, **kwargs)
            if is_stream:
                return words.stream_async("agent_stream", run, agent, inputs)
            return words.run_async("agent_run", run, agent, inputs)

        @functools.wraps(stock)
        async def reply(*args: Any, **kwargs: Any) -> Any:
            return await hooked(*args, **kwargs)

        return functools.wraps(stock)(hooked) if is_stream else reply

    def asks(owner: type, stock: Any) -> Any:
        @functools.wraps(stock)
        async def _call_model(agent: Any, *args: Any, **kwargs: Any) -> Any:
            previous = _AGENT.get()
            try:
                _AGENT.set(agent)
                return await stock(agent, *args, **kwargs)
            except _Refused as refused:
                raise refused.blocked from None
            finally:
                _AGENT.set(previous)

        return _call_model

    agent = import_module("agentscope.agent").Agent
    words.patches.wrap(agent, "_call_model", asks)
    for name in ("reply", "reply_stream"):
        words.patches.wrap(agent, name, replied)
