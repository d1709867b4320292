"""LangChain and LangGraph: every call of a tool, and of a chat model, through hooks of hookbus."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hookbus import Bus, HookBlocked, default_bus

from ._langchain_tools import BY_INTERRUPT, RESULTS, hook_tools
from ._patches import Between, Patches, Uninstall, exceptions
from ._tools import Gate
from ._vocabulary import Attempt, refusal

if TYPE_CHECKING:
    from hookbus.approvals import Store

SUPPORTED: Final = Between("1.6.0", "1.8.4")
"""Versions of langchain-core, which has the tools of LangChain and LangGraph."""

PASSES: Final = ("langgraph.errors:GraphBubbleUp",)
"""What hands control back to the framework, and is no failure of a call."""


def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    approver: Store | None = None,
) -> Uninstall:  # fmt: skip
    """Let the tools and chat models of LangChain run on hookbus, those there are and those to come.

    `tool_call` (sender: the `BaseTool`) is every `invoke`, `ainvoke`, `run` and `arun` of a tool,
    by an agent, a graph or a program; `model_call` and `model_stream` (sender: the
    `BaseChatModel`) are those of a chat model. A refused call is a `ToolMessage` with status error
    where a model waits for one, and else a `HookBlocked`.

    Args:
        bus: the bus the signals live on.
        say: what a refused call is told as, given the `HookBlocked`; a model reads it.
        approver: a store that the bus asks for a yes, while the graph is interrupted: `interrupt`
            shows the request, and `Command(resume={"id": ..., "approved": True})` answers it.

    Returns:
        A function that puts LangChain back as it was; twice is once.

    Raises:
        HookError: if langchain-core is not installed, is another version, or runs on hookbus
            already; or if the bus asks somebody else.
    """
    with Patches("langchain-core", SUPPORTED) as patches:
        base = import_module("langchain_core.tools").BaseTool
        import_module("langchain_core.tools.structured")
        words = "tool_call", "model_call", "model_stream"
        gate = Gate(patches, bus, RESULTS, words=words, say=say, approver=approver,
                    pause=BY_INTERRUPT, passes=exceptions(*PASSES))  # fmt: skip
        hook_tools(gate, base)
        _hook_models(gate)
    return patches.restore


# -- models ----------------------------------------------------------------------------------------


def _hook_models(gate: Gate) -> None:
    cls = import_module("langchain_core.language_models").BaseChatModel
    words = gate.vocabulary

    def generated(owner: type, stock: Any) -> Any:
        def _generate_with_cache(model: Any, messages: Any, /, **options: Any) -> Any:
            answer = _Answer(stock, model)
            return answer.whole(words.run("model_call", answer, model, messages, options, None))

        return _generate_with_cache

    def generated_async(owner: type, stock: Any) -> Any:
        async def _agenerate_with_cache(model: Any, messages: Any, /, **options: Any) -> Any:
            answer = _AsyncAnswer(stock, model)
            found = await words.run_async("model_call", answer, model, messages, options, None)
            return answer.whole(found)

        return _agenerate_with_cache

    def streamed(owner: type, stock: Any) -> Any:
        def stream(model: Any, input: Any, *args: Any, **options: Any) -> Any:
            attempt = Attempt(lambda given, more: stock(model, given, *args, **more))
            return words.stream("model_stream", attempt, model, input, options, None)

        return stream

    def streamed_async(owner: type, stock: Any) -> Any:
        def astream(model: Any, input: Any, *args: Any, **options: Any) -> Any:
            attempt = Attempt(lambda given, more: stock(model, given, *args, **more))
            return words.stream_async("model_stream", attempt, model, input, options, None)

        return astream

    patches = gate.patches
    patches.wrap(cls, "_generate_with_cache", generated)
    patches.wrap(cls, "_agenerate_with_cache", generated_async)
    patches.wrap(cls, "stream", streamed)
    patches.wrap(cls, "astream", streamed_async)


class _Answer(Attempt):
    """A call of a chat model: receivers see its message, LangChain gets the whole `ChatResult`."""

    raw: Any = None

    def __init__(self, stock: Any, model: Any) -> None:
        super().__init__(self._run)
        self._stock, self._model = stock, model

    def _run(self, messages: Any, options: dict[str, Any]) -> Any:
        return self.shown(self._stock(self._model, messages, **options))

    def shown(self, raw: Any) -> Any:
        self.raw = raw
        return raw.generations[0].message

    def whole(self, message: Any) -> Any:
        if self.raw is not None and message is self.raw.generations[0].message:
            return self.raw
        outputs = import_module("langchain_core.outputs")
        return outputs.ChatResult(generations=[outputs.ChatGeneration(message=message)])


class _AsyncAnswer(_Answer):
    async def _run(self, messages: Any, options: dict[str, Any]) -> Any:
        return self.shown(await self._stock(self._model, messages, **options))
