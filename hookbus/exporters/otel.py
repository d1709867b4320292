"""Calls as spans and metrics of OpenTelemetry, by its conventions for generative AI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from .. import HookError, __version__
from .._exporting import Exporter
from .._keywords import named_options
from ..events import HIDDEN, Attempted, Blocked, Event, Failed, Finished, Invoked, Mutated, Started
from ._under_way import UnderWay

try:
    from opentelemetry import context, metrics, trace
except ModuleNotFoundError as _error:
    raise HookError(f"exporters.otel needs {_error.name}: pip install 'hookbus[otel]'") from None

_TOOLS: Final = "execute_tool"
_AGENTS: Final = "invoke_agent"
_MODELS: Final = ("chat", "text_completion", "generate_content", "embeddings")

OPERATIONS: Final = {
    "tool_call": _TOOLS, "model_call": "chat", "model_stream": "chat",
    "agent_run": _AGENTS, "agent_stream": _AGENTS,
}  # fmt: skip
"""What the hooks of the vocabulary are called in the conventions."""

_TARGETS: Final = {
    _TOOLS: ("gen_ai.tool.name", "name"), _AGENTS: ("gen_ai.agent.name", "agent"),
    **dict.fromkeys(_MODELS, ("gen_ai.request.model", "model")),
}  # fmt: skip
"""The attribute that says what is called, and the label that knows it."""

_CALL: Final = context.create_key("hookbus-call")
_BLOCKED: Final = "hookbus.exceptions.HookBlocked"
_ERROR: Final = trace.Status(trace.StatusCode.ERROR)


@attrs.define(eq=False)
class _Call:
    """A span that is open, and the context it was begun in."""

    span: trace.Span
    before: Any
    hook: str
    operation: str | None


@named_options
class OpenTelemetry(Exporter):
    """Makes a span of each call: `execute_tool {tool}`, `chat {model}`, `invoke_agent {agent}` of
    the vocabulary's hooks, else the name of the hook. What receivers do are its events. A call is a
    child of the call it was made in, and the current span while it runs.

    It counts `hookbus.calls`, `hookbus.blocks` and `hookbus.failures`, and measures
    `hookbus.receiver.duration` in seconds, where it hears `Invoked`.

    Args:
        tracer_provider: where spans go; by default the global one.
        meter_provider: where metrics go; by default the global one.
        names: what further hooks are: `{"search": "execute_tool"}`.

    Raises:
        HookError: for an operation that the conventions do not have.
    """

    def __init__(
        self, tracer_provider: Any = None, meter_provider: Any = None,
        names: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._operations = {**OPERATIONS, **(names or {})}
        for hook, operation in self._operations.items():
            if operation not in _TARGETS:
                known = ", ".join(_TARGETS)
                raise HookError(f"names={{{hook!r}: {operation!r:.40}}}: operations are {known}")
        self._tracer = trace.get_tracer("hookbus", __version__, tracer_provider)
        meter = metrics.get_meter("hookbus", __version__, meter_provider)
        self._count = meter.create_counter("hookbus.calls", "{call}", "Calls that ended")
        self._blocks = meter.create_counter("hookbus.blocks", "{block}", "Blocks by receivers")
        self._failures = meter.create_counter("hookbus.failures", "{failure}", "Their failures")
        self._seconds = meter.create_histogram(
            "hookbus.receiver.duration", "s", "How long receivers took"
        )
        self._calls, self._is_open = UnderWay[_Call](), True

    def __call__(self, bus: Any, event: Event) -> None:
        self.is_used = True
        if not self._is_open:
            raise HookError("the OpenTelemetry exporter was closed: make another one")
        if isinstance(event, Started):
            self._begin(event)
        elif isinstance(event, Finished):
            self._end(event)
        else:
            self._tell(event)

    def close(self) -> None:
        """Disconnect it from every bus, and end the spans of calls that are in flight."""
        self._disconnect()
        self._is_open = False
        for call in self._calls.clear():
            _leave(call, {"hookbus.outcome": "running"})

    def _begin(self, event: Started) -> None:
        outer, labels = self._calls.of(event.parent_id), event.labels
        operation = self._operations.get(event.hook)
        if event.hook == "model_stream" and outer is not None and outer.hook == "model_call":
            operation = None  # the request is one chat, and its stream is inside of it
        said: dict[str, Any] = {"hookbus.hook": event.hook, "hookbus.call_id": event.call_id}
        name, kind = event.hook, trace.SpanKind.INTERNAL
        if operation is not None:
            attribute, label = _TARGETS[operation]
            target = labels.get(label)
            if target is None and event.hook not in OPERATIONS:
                target = event.hook
            name = operation if target is None else f"{operation} {target}"
            kind = trace.SpanKind.CLIENT if operation in _MODELS else kind
            said |= {"gen_ai.operation.name": operation, attribute: target}
            said |= {"gen_ai.agent.name": labels.get("agent")} if operation != _AGENTS else {}
            said["gen_ai.tool.call.id"] = labels.get("call_id")
            said["gen_ai.tool.type"] = {"function": "function", "mcp": "extension"}.get(
                labels.get("kind", "")
            )
        session = event.baggage.get("session")
        said["gen_ai.conversation.id"] = session if isinstance(session, str) else None
        before = _outside() if event.parent_id is None else context.get_current()
        around = before if outer is None else trace.set_span_in_context(outer.span, before)
        span = self._tracer.start_span(name, around, kind, _told(said), start_time=_nano(event.at))
        call = _Call(span, before, event.hook, operation)
        for forgotten in self._calls.begin(event.call_id, call):
            _leave(forgotten, {"hookbus.outcome": "not known"})
        context.attach(context.set_value(_CALL, call, trace.set_span_in_context(span, around)))

    def _end(self, event: Finished) -> None:
        said = {"hookbus.hook": event.hook, "hookbus.outcome": event.outcome}
        self._count.add(1, said)
        call = self._calls.end(event.call_id)
        if call is None:
            return
        ended: dict[str, Any] = dict(said)
        is_left = isinstance(event.error, GeneratorExit)
        if event.outcome == "blocked":
            ended["error.type"] = _BLOCKED
        elif event.error is not None and not is_left:
            ended["error.type"] = event.as_dict()["error"]["type"]
        if event.result is not HIDDEN and call.operation in _MODELS:
            ended |= _usage(event.as_dict()["result"])
        if "error.type" in ended:
            call.span.set_status(_ERROR)
        _leave(call, ended, _nano(event.at))

    def _tell(self, event: Event) -> None:
        """Add what a receiver did to the span of its call, and to the metrics."""
        told = event.as_dict()
        said = {"hookbus.hook": event.hook} | {
            f"hookbus.{name}": told[name]
            for name in ("receiver", "role", "phase", "enforced", "action", "answer")
            if told.get(name) is not None
        }
        if isinstance(event, Blocked):
            self._blocks.add(1, said)
        elif isinstance(event, Failed):
            self._failures.add(1, said)
        elif isinstance(event, Invoked):
            self._seconds.record(event.seconds, said)
        call = self._calls.of(event.call_id)
        if call is not None:
            call.span.add_event(*_span_event(event, told, said), timestamp=_nano(event.at))


_VERDICTS: Final = {
    Invoked: "invoked", Attempted: "attempted", Blocked: "blocked", Failed: "failed",
    Mutated: "changed",
}  # fmt: skip


def _span_event(
    event: Event, told: dict[str, Any], said: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the name and the attributes of a span's event."""
    more = ("reason", "code", "name", "index", "number", "outcome", "seconds", "place", "by")
    verdict = told.get("answer") or _VERDICTS.get(type(event))
    facts = said | {f"hookbus.{name}": told.get(name) for name in more}
    facts["hookbus.verdict"] = verdict
    if isinstance(event, Failed):
        facts["error.type"] = told["exception"]["type"]
    return f"hookbus.{_VERDICTS.get(type(event), 'event')}", _told(facts)


def _outside() -> Any:
    """Return the context that holds here outside of all calls: a task has that of the call it was
    started in, also once the call is over.
    """
    here = context.get_current()
    while isinstance(call := context.get_value(_CALL, here), _Call):
        if trace.get_current_span(here) is not call.span:
            return here  # a span of somebody else's is around
        here = call.before
    return here


def _leave(call: _Call, ended: dict[str, Any], at: int | None = None) -> None:
    """End a span, and make the one before it the current one, if it is the current one here."""
    call.span.set_attributes(ended)
    call.span.end(at)
    if trace.get_current_span() is call.span:
        # Not by a token: a stream may end in another context than it was begun in. What its reader
        # has there is given back by hookbus, once this has returned.
        context.attach(call.before)


def _usage(result: Any) -> dict[str, int]:
    """Return what a model's answer, as JSON has it, says it has used."""
    counts = ("input_tokens", "output_tokens")
    usage = result.get("usage") if isinstance(result, dict) else None
    told = usage if isinstance(usage, dict) else {}
    return {f"gen_ai.usage.{name}": told[name] for name in counts if type(told.get(name)) is int}


def _told(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _nano(seconds: float) -> int:
    return int(seconds * 1e9)
