"""Export calls as OpenTelemetry spans and metrics, with the conventions for generative AI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from .. import HookError, __version__
from .._ground.keywords import named_options
from .._outgoing.exporting import Exporter
from ..events import HIDDEN, Attempted, Blocked, Event, Failed, Finished, Invoked, Mutated, Started
from ._open_calls import OpenCalls

__all__ = ["OpenTelemetry"]


def __dir__() -> list[str]:
    return sorted(__all__)


try:
    from opentelemetry import context, metrics, trace
except ModuleNotFoundError as _error:
    raise HookError(
        f"exporters.otel needs the package {_error.name}; run: pip install 'hookbus[otel]'"
    ) from None

_TOOLS: Final = "execute_tool"
_AGENTS: Final = "invoke_agent"
_MODELS: Final = ("chat", "text_completion", "generate_content", "embeddings")

OPERATIONS: Final = {
    "tool_call": _TOOLS, "model_call": "chat", "model_stream": "chat",
    "agent_run": _AGENTS, "agent_stream": _AGENTS,
}  # fmt: skip
"""The operation names of the vocabulary's hooks in the conventions."""

_TARGETS: Final = {
    _TOOLS: ("gen_ai.tool.name", "name"), _AGENTS: ("gen_ai.agent.name", "agent"),
    **dict.fromkeys(_MODELS, ("gen_ai.request.model", "model")),
}  # fmt: skip
"""The attribute that names the target of a call, and the argument that contains the name."""

_CALL: Final = context.create_key("hookbus-call")
_BLOCKED: Final = "hookbus.exceptions.HookBlocked"
_ERROR: Final = trace.Status(trace.StatusCode.ERROR)


@attrs.define(eq=False)
class _Call:
    """An open span, and the context before it."""

    span: trace.Span
    before: Any
    hook: str
    operation: str | None


@named_options
class OpenTelemetry(Exporter):
    """Creates a span for each call. Spans of the common hooks are named `execute_tool {tool}`,
    `chat {model}` and `invoke_agent {agent}`; other spans have the name of the hook. The actions of
    receivers are span events. The span of a nested call is a child of its caller's span, and is the
    current span while the call runs.

    The exporter counts `hookbus.calls`, `hookbus.blocks` and `hookbus.failures`. If it is connected
    for `Invoked` events, it also measures `hookbus.receiver.duration` in seconds.

    Args:
        tracer_provider: the provider for spans. Default: the global provider.
        meter_provider: the provider for metrics. Default: the global provider.
        names: the operations of additional hooks, such as `{"search": "execute_tool"}`.

    Raises:
        HookError: if an operation is not in the conventions.
    """

    def __init__(
        self, tracer_provider: Any = None, meter_provider: Any = None,
        names: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._operations = {**OPERATIONS, **(names or {})}
        for hook, operation in self._operations.items():
            if operation not in _TARGETS:
                known = ", ".join(_TARGETS)
                raise HookError(f"names={{{hook!r}: {operation!r:.40}}}: use one of {known}")
        self._tracer = trace.get_tracer("hookbus", __version__, tracer_provider)
        meter = metrics.get_meter("hookbus", __version__, meter_provider)
        self._count = meter.create_counter("hookbus.calls", "{call}", "Calls that ended")
        self._blocks = meter.create_counter("hookbus.blocks", "{block}", "Blocks by receivers")
        self._failures = meter.create_counter("hookbus.failures", "{failure}", "Receiver failures")
        self._seconds = meter.create_histogram(
            "hookbus.receiver.duration", "s", "Duration of receiver calls"
        )
        self._calls, self._is_open = OpenCalls[_Call](), True

    def __call__(self, bus: Any, event: Event) -> None:
        self.is_used = True
        if not self._is_open:
            raise HookError("the OpenTelemetry exporter is closed: create a new one")
        if isinstance(event, Started):
            self._begin(event)
        elif isinstance(event, Finished):
            self._end(event)
        else:
            self._tell(event)

    def close(self) -> None:
        """Disconnect the exporter from every bus, and end the spans of calls in flight."""
        self._disconnect()
        self._is_open = False
        for call in self._calls.clear():
            _leave(call, {"hookbus.outcome": "running"})

    def _begin(self, event: Started) -> None:
        outer, labels = self._calls.of(event.parent_id), event.labels
        operation = self._operations.get(event.hook)
        if event.hook == "model_stream" and outer is not None and outer.hook == "model_call":
            operation = None  # the span of the enclosing `model_call` is the chat span
        attributes: dict[str, Any] = {"hookbus.hook": event.hook, "hookbus.call_id": event.call_id}
        name, kind = event.hook, trace.SpanKind.INTERNAL
        if operation is not None:
            attribute, label = _TARGETS[operation]
            target = labels.get(label)
            if target is None and event.hook not in OPERATIONS:
                target = event.hook
            name = operation if target is None else f"{operation} {target}"
            kind = trace.SpanKind.CLIENT if operation in _MODELS else kind
            attributes |= {"gen_ai.operation.name": operation, attribute: target}
            if operation != _AGENTS:
                attributes["gen_ai.agent.name"] = labels.get("caller")
            attributes["gen_ai.tool.call.id"] = labels.get("call_id")
            attributes["gen_ai.tool.type"] = {"function": "function", "mcp": "extension"}.get(
                labels.get("kind", "")
            )
        session = event.baggage.get("session")
        attributes["gen_ai.conversation.id"] = session if isinstance(session, str) else None
        before = _outside() if event.parent_id is None else context.get_current()
        around = before if outer is None else trace.set_span_in_context(outer.span, before)
        span_attributes, at = _without_none(attributes), _nano(event.at)
        span = self._tracer.start_span(name, around, kind, span_attributes, start_time=at)
        call = _Call(span, before, event.hook, operation)
        for forgotten in self._calls.begin(event.call_id, call):
            _leave(forgotten, {"hookbus.outcome": "not known"})
        context.attach(context.set_value(_CALL, call, trace.set_span_in_context(span, around)))

    def _end(self, event: Finished) -> None:
        attributes = {"hookbus.hook": event.hook, "hookbus.outcome": event.outcome}
        self._count.add(1, attributes)
        call = self._calls.end(event.call_id)
        if call is None:
            return
        ended: dict[str, Any] = dict(attributes)
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
        """Add a receiver's action to the span of its call, and to the metrics."""
        data = event.as_dict()
        attributes = {"hookbus.hook": event.hook} | {
            f"hookbus.{name}": data[name]
            for name in ("receiver", "role", "phase", "enforced", "action", "answer")
            if data.get(name) is not None
        }
        if isinstance(event, Blocked):
            self._blocks.add(1, attributes)
        elif isinstance(event, Failed):
            self._failures.add(1, attributes)
        elif isinstance(event, Invoked):
            self._seconds.record(event.seconds, attributes)
        call = self._calls.of(event.call_id)
        if call is not None:
            call.span.add_event(*_span_event(event, data, attributes), timestamp=_nano(event.at))


_VERDICTS: Final = {
    Invoked: "invoked", Attempted: "attempted", Blocked: "blocked", Failed: "failed",
    Mutated: "changed",
}  # fmt: skip


def _span_event(
    event: Event, data: dict[str, Any], attributes: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the name and the attributes of a span event."""
    more = ("reason", "code", "name", "index", "number", "outcome", "seconds", "place", "by")
    verdict = data.get("answer") or _VERDICTS.get(type(event))
    facts = attributes | {f"hookbus.{name}": data.get(name) for name in more}
    facts["hookbus.verdict"] = verdict
    if isinstance(event, Failed):
        facts["error.type"] = data["exception"]["type"]
    return f"hookbus.{_VERDICTS.get(type(event), 'event')}", _without_none(facts)


def _outside() -> Any:
    """Return the context outside all recorded calls. A task keeps the context of the call that
    started it, even after that call has ended.
    """
    here = context.get_current()
    while isinstance(call := context.get_value(_CALL, here), _Call):
        if trace.get_current_span(here) is not call.span:
            return here  # a span of other code is inside this call
        here = call.before
    return here


def _leave(call: _Call, ended: dict[str, Any], at: int | None = None) -> None:
    """End a span. If it is the current span here, restore the previous span."""
    call.span.set_attributes(ended)
    call.span.end(at)
    if trace.get_current_span() is call.span:
        # No token is detached, because a stream may end in another context than it started in.
        # hookbus restores the reader's own context after this returns.
        context.attach(call.before)


def _usage(result: Any) -> dict[str, int]:
    """Return the token usage in a model's answer, given as JSON data."""
    counts = ("input_tokens", "output_tokens")
    usage = result.get("usage") if isinstance(result, dict) else None
    data = usage if isinstance(usage, dict) else {}
    return {f"gen_ai.usage.{name}": data[name] for name in counts if type(data.get(name)) is int}


def _without_none(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _nano(seconds: float) -> int:
    return int(seconds * 1e9)
