"""The OpenTelemetry spans of one guarded run of an agent, as a tracing system shows them."""

import re
from time import sleep
from typing import Any, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from hookbus import Block, Bus, HookBlocked, hookable
from hookbus.exporters.otel import OpenTelemetry

from .drawing import CHARACTER, bar, document, mono, text

NAMES, LEFT, WIDTH, ROW, TOP, INDENT = 16, 216, 640, 28, 78, 18
SECONDS_OF_A_MODEL, SECONDS_OF_A_TOOL = 0.08, 0.05


class Row(NamedTuple):
    """One span.

    Attributes:
        name: its name.
        depth: the number of spans that it is nested in.
        start: milliseconds since the start of the first span.
        length: milliseconds from its start to its end.
        is_error: whether its status is an error.
        notes: its events, each as `hookbus.blocked by NAME`.
    """

    name: str
    depth: int
    start: float
    length: float
    is_error: bool
    notes: list[str]


def agent_on(bus: Bus) -> Any:
    """Return an agent with the hooks of the vocabulary, and connect a guard to its tools."""

    class Agent:
        @hookable("agent_run", bus=bus, labels=("agent",))
        def run(self, agent: str, input: str) -> str:
            for number, url in enumerate(("https://example.org", "http://169.254.169.254"), 1):
                self.ask("gpt-5", [input], {}, agent)
                try:
                    self.call("fetch", {"url": url}, f"c-{number}", "function", None, agent)
                except HookBlocked as blocked:
                    input = str(blocked)
            return self.ask("gpt-5", [input], {}, agent)

        @hookable("model_call", bus=bus, labels=("model", "caller"))
        def ask(self, model: str, messages: list[str], options: Any, caller: str) -> str:
            sleep(SECONDS_OF_A_MODEL)
            return "done"

        @hookable("tool_call", bus=bus, labels=("name", "call_id", "kind", "caller"))
        def call(
            self, name: str, arguments: Any, call_id: str, kind: str, tool: Any, caller: str
        ) -> str:
            sleep(SECONDS_OF_A_TOOL)
            return "page"

    @bus.signal("pre_tool_call").connect_via(role="guard", name="public_hosts")
    def public_hosts(sender: Any, arguments: Any) -> Block | None:
        is_internal = "169.254" in arguments["url"]
        return Block("169.254.169.254 is not a public address") if is_internal else None

    return Agent()


def spans() -> list[ReadableSpan]:
    """Run the agent, and return the spans that the SDK exports, in order of their start."""
    memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    bus, exporter = Bus(), OpenTelemetry(provider)
    bus.events.connect(exporter)
    agent_on(bus).run("ada", "find it")
    exporter.close()
    provider.shutdown()
    return sorted(memory.get_finished_spans(), key=lambda span: span.start_time or 0)


def rows() -> list[Row]:
    """Return one row for each span."""
    found = spans()
    began = found[0].start_time or 0
    depths: dict[int, int] = {}
    made = []
    for span in found:
        depth = depths[span.parent.span_id] + 1 if span.parent else 0
        depths[span.get_span_context().span_id] = depth
        start, end = span.start_time or 0, span.end_time or 0
        notes = [
            f"{event.name} by {(event.attributes or {})['hookbus.receiver']}"
            for event in span.events
        ]
        is_error = span.status.status_code is StatusCode.ERROR
        milliseconds = (start - began) / 1e6, (end - start) / 1e6
        made.append(Row(span.name, depth, *milliseconds, is_error, notes))
    return made


def picture() -> str:
    """Return the spans as bars below each other."""
    drawn = rows()
    scale = WIDTH / max(row.start + row.length for row in drawn)
    parts = [
        text(NAMES, 24, "OpenTelemetry spans of one run of an agent", "title"),
        text(NAMES, 44, "blue: ok · red: error, blocked by a guard · width: time", "small"),
    ]
    for number, row in enumerate(drawn):
        y, x = TOP + number * ROW, LEFT + row.start * scale
        width = max(row.length * scale, 3)
        parts.append(mono(NAMES + row.depth * INDENT, y + 4, row.name))
        parts.append(bar(x, y - 9, width, ROW - 10, "bad" if row.is_error else "first"))
        took = f"{row.length:.0f} ms" if row.length >= 1 else "below 1 ms"
        if (len(took) + 1) * CHARACTER <= width:
            parts.append(mono(x + 5, y + 4, took, "on"))
        if row.notes:
            parts.append(text(x - 6, y + 4, ", ".join(row.notes), "small", "end"))
    label = ", ".join(
        f"{'· ' * row.depth}{row.name} {'error' if row.is_error else 'ok'}"
        + "".join(f" ({note})" for note in row.notes)
        for row in drawn
    )
    return document(LEFT + WIDTH + 16, TOP + len(drawn) * ROW, label, parts)


def without_times(svg: str) -> list[str]:
    """Return the parts of the picture that are the same in every run."""
    return re.findall(r'aria-label="[^"]*"', svg) + re.findall(r'class="(first|bad)"', svg)
