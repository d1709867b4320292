"""LlamaIndex: hooks around every call of a tool and of a model.

Not covered: functions called by the code of a `CodeActAgent`, because its executor gets functions
instead of tools; the code itself is an argument of the tool `execute`. A tool that waits for an
event runs again when the event arrives, and its hooks run again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from hookbus import Bus, HookBlocked, default_bus

from ._injected import is_written
from ._llama_index_events import Reports, keep_reports
from ._models import hook_models
from ._newer import Untested, patches_of
from ._patches import Between, Uninstall, exceptions, named_options
from ._streams import Forms
from ._tools import Gate, Refusal, Results, ToolCall, named
from ._unknown import hook_llama_index
from ._vocabulary import refusal

SUPPORTED: Final = Between("0.14.15", "0.14.25")
"""Versions of llama-index-core."""

PASSES: Final = ("workflows.runtime.types.results:WaitingForEvent",)
"""Exceptions that return control to the framework and are not failures of a call."""

_WORDS: Final = "tool_call", "model_call", "model_stream"
_MODELS: Final[dict[str, str]] = dict.fromkeys(
    ("chat", "achat", "complete", "acomplete"), "model_call"
)
_STREAMED: Final = {"chat": ("stream_chat", "astream_chat"),
                    "complete": ("stream_complete", "astream_complete")}  # fmt: skip


@named_options
def install(
    bus: Bus = default_bus, *, say: Callable[[HookBlocked], str] = refusal,
    untested: Untested = "check",
) -> Uninstall:  # fmt: skip
    """Hook the tools and models of LlamaIndex, both existing and future ones.

    `tool_call` (sender: the tool) covers every `call` and `acall` of a tool and every call of the
    tool itself, by an agent, a workflow, a model's `predict_and_call` or a program. `arguments` are
    those that the model wrote, with the tool's `partial_params`, before defaults are filled in. A
    hand-off is also a tool call (`kind="handoff"`). `model_call` (sender: the LLM) covers every
    chat or completion call, streamed or not; `model_stream` gets the parts of a streamed answer. If
    a receiver may change or block an answer, LlamaIndex's own events, spans and callbacks of the
    answer are delayed until the receiver has returned.

    A blocked call returns a `ToolOutput` that is marked as an error, also to a program. The agent's
    model reads its text, and the run continues. If the tool returns directly, the text does not
    become the answer. A blocked hand-off does not happen.

    Args:
        bus: the bus to declare the hooks on.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        untested: what to do with a release newer than the tested ones: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises.

    Returns:
        A function that restores LlamaIndex. A second call does nothing.

    Raises:
        HookError: if llama-index-core is not installed, is incompatible, or already runs on
            hookbus.
    """
    with patches_of("llama_index", "llama-index-core", SUPPORTED, untested, install) as patches:
        types = import_module("llama_index.core.tools.types")
        adapted = types.BaseToolAsyncAdapter
        passing = {name: vars(adapted)[name] for name in ("call", "acall")}
        gate = Gate(patches, bus, Results(_shown, _packed, _refused), words=_WORDS, say=say,
                    passes=exceptions(*PASSES))  # fmt: skip
        gate.seam(types.BaseTool, "__call__", _called)
        gate.seam(types.AsyncBaseTool, "acall", _called, layer=1)
        gate.seam(types.AsyncBaseTool, "call", _called, layer=2)
        for name, stock in passing.items():  # the tool behind it is called and is the sender
            patches.replace(adapted, name, stock)
        hook_llama_index(gate)
        llm = import_module("llama_index.core.base.llms.base").BaseLLM
        keep_reports(patches)
        hook_models(gate.vocabulary, llm, _MODELS, aside=Reports)
        for way, items in (("chat", _of_a_chat), ("complete", _of_a_text)):
            names = dict.fromkeys(_STREAMED[way], "model_stream")
            hook_models(gate.vocabulary, llm, names, Forms(_last, items), aside=Reports)
    return patches.restore


def _called(stock: Any, tool: Any, *args: Any, **kwargs: Any) -> Any:
    context = getattr(tool, "ctx_param_name", None)
    own = {context: kwargs.pop(context)} if context in kwargs else {}
    # LlamaIndex restores the objects passed when the tool was made; no model can write one.
    bound = getattr(tool, "partial_params", {})
    given = {**{name: each for name, each in bound.items() if is_written(each)}, **kwargs}
    arguments, spread = named(_names(tool) if args else (), args, given)

    def body(arguments: dict[str, Any]) -> Any:
        by_place, by_name = spread(arguments)
        return stock(tool, *by_place, **by_name, **own)

    name = tool.metadata.get_name()
    kind = "handoff" if name == "handoff" else "function"
    return ToolCall(name, arguments, None, kind, tool), body


def _names(tool: Any) -> list[str]:
    return [*tool.metadata.get_parameters_dict().get("properties", ())]


# -- results ---------------------------------------------------------------------------------------


@functools.cache
def _output() -> Any:
    return import_module("llama_index.core.tools.types").ToolOutput


def _shown(raw: Any) -> Any:
    """Return the data if the text contains nothing else, and otherwise the text."""
    if not isinstance(raw, _output()):
        return raw
    is_data = isinstance(raw.raw_output, (dict, list, int, float))
    return raw.raw_output if is_data and str(raw.raw_output) == raw.content else raw.content


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    if isinstance(value, _output()):
        return value
    is_error = isinstance(raw, _output()) and raw.is_error
    return _told(call, str(value), value, is_error=is_error)


def _refused(refused: Refusal) -> Any:
    text, blocked = refused.text, refused.blocked
    return _told(refused.call, text, text, is_error=True, exception=blocked)


def _told(call: ToolCall, text: str, value: Any, **error: Any) -> Any:
    given = {"args": (), "kwargs": call.arguments}
    return _output()(call.name, content=text, raw_input=given, raw_output=value, **error)


# -- models: each part of an answer has all of it so far -------------------------------------------


def _last(items: list[Any]) -> Any:
    return items[-1]


def _of_a_chat(answer: Any) -> list[Any]:
    llms = import_module("llama_index.core.llms")
    if isinstance(answer, str):
        message = llms.ChatMessage(role="assistant", content=answer)
        answer = llms.ChatResponse(message=message)
    return [answer.model_copy(update={"delta": answer.message.content or ""})]


def _of_a_text(answer: Any) -> list[Any]:
    if isinstance(answer, str):
        answer = import_module("llama_index.core.llms").CompletionResponse(text=answer)
    return [answer.model_copy(update={"delta": answer.text})]
