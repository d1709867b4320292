"""Holds back LlamaIndex's own events, spans and callbacks about an answer until the guards
return.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from importlib import import_module
from typing import Any, NamedTuple

from ._asides import Aside, aside_of
from ._patches import Patches


class _Report(NamedTuple):
    """A report, with the method of a dispatcher or callback manager that delivers the report.

    Attributes:
        whole: the name of the argument that contains the whole answer; None for a report about a
            part.
    """

    kind: str
    by: Any
    stock: Callable[..., Any]
    arguments: dict[str, Any]
    whole: str | None

    def make(self, **changes: Any) -> None:
        self.stock(self.by, **{**self.arguments, **changes})


class Reports(Aside):
    """Reports about the parts and the whole answer, for LlamaIndex's handlers."""

    def report(self, each: _Report) -> None:
        each.make()

    def report_changed(self, each: _Report, answer: Any) -> None:
        if each.kind == "event" and each.whole:
            response = _response_like(each.arguments["event"], answer)
            each.make(event=each.arguments["event"].model_copy(update={"response": response}))
        elif each.kind == "callback":
            each.make(payload={**each.arguments["payload"], each.whole: answer})
        elif each.kind == "span":
            each.make(result=answer)

    def report_failed(self, each: _Report, error: BaseException) -> None:
        if each.kind == "event" and each.whole:
            failed = import_module("llama_index.core.instrumentation.events.exception")
            span = each.arguments["event"].span_id
            each.make(event=failed.ExceptionEvent(exception=error, span_id=span))
        elif each.kind == "callback":
            payloads = import_module("llama_index.core.callbacks").EventPayload
            each.make(payload={payloads.EXCEPTION: error})
        elif each.kind == "span":
            ended = {name: each.arguments[name] for name in ("id_", "bound_args", "instance")}
            each.by.span_drop(**ended, err=error)


def _response_like(event: Any, answer: Any) -> Any:
    if not isinstance(answer, str):
        return answer
    llms = import_module("llama_index.core.llms")
    if "Completion" in type(event).__name__:
        return llms.CompletionResponse(text=answer)
    return llms.ChatResponse(message=llms.ChatMessage(role="assistant", content=answer))


def keep_reports(patches: Patches) -> None:
    """Hold back LlamaIndex's reports about an answer if guards must check the answer."""
    dispatcher = import_module("llama_index.core.instrumentation.dispatcher").Dispatcher
    callbacks = import_module("llama_index.core.callbacks").CallbackManager
    for owner, name, make in (
        (dispatcher, "event", _kept_event), (dispatcher, "span_exit", _kept_span),
        (callbacks, "on_event_end", _kept_callback),
    ):  # fmt: skip
        patches.replace(owner, name, make(patches.look_for(owner, name)))


def _kept_event(stock: Any) -> Any:
    events = import_module("llama_index.core.instrumentation.events.llm")
    wholes = events.LLMChatEndEvent, events.LLMCompletionEndEvent
    kinds = *wholes, events.LLMChatInProgressEvent, events.LLMCompletionInProgressEvent

    @functools.wraps(stock)
    def event(dispatcher: Any, event: Any, **kwargs: Any) -> None:
        aside = aside_of() if isinstance(event, kinds) else None
        if aside is None:
            stock(dispatcher, event, **kwargs)
            return
        whole = "response" if isinstance(event, wholes) else None
        arguments = {"event": event, **kwargs}
        aside.reports.append(_Report("event", dispatcher, stock, arguments, whole))

    return event


def _kept_span(stock: Any) -> Any:
    @functools.wraps(stock)
    def span_exit(
        dispatcher: Any, id_: str, bound_args: Any, instance: Any = None, result: Any = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        arguments = {"id_": id_, "bound_args": bound_args, "instance": instance,
                     "result": result, **kwargs}  # fmt: skip
        model = next(iter(bound_args.args), None) if instance is None else instance
        is_stream = isinstance(result, (Generator, AsyncGenerator))
        aside = None if model is None or is_stream else aside_of(model)
        if aside is None:
            stock(dispatcher, **arguments)
            return
        aside.reports.append(_Report("span", dispatcher, stock, arguments, "result"))

    return span_exit


def _kept_callback(stock: Any) -> Any:
    callbacks = import_module("llama_index.core.callbacks")
    answers = callbacks.EventPayload.RESPONSE, callbacks.EventPayload.COMPLETION

    @functools.wraps(stock)
    def on_event_end(
        manager: Any, event_type: Any, payload: Any = None, event_id: Any = None, **kwargs: Any
    ) -> None:
        whole = next((each for each in answers if each in (payload or {})), None)
        is_answer = event_type == callbacks.CBEventType.LLM and whole is not None
        arguments = {"event_type": event_type, "payload": payload, "event_id": event_id, **kwargs}
        aside = aside_of() if is_answer else None
        if aside is None:
            stock(manager, **arguments)
            return
        aside.reports.append(_Report("callback", manager, stock, arguments, whole))

    return on_event_end
