"""The spans of a framework's calls, recorded with OpenTelemetry's own SDK."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hookbus import Bus
from hookbus.exporters.otel import OpenTelemetry


@contextmanager
def spans_of(bus: Bus) -> Iterator[Any]:
    """Yield a function that returns the spans so far, each as its name, the name of its parent,
    how it ended, and its type of error."""
    memory, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    exporter = OpenTelemetry(provider)

    def spans() -> list[Any]:
        finished = sorted(memory.get_finished_spans(), key=lambda span: span.start_time)
        names = {span.context.span_id: span.name for span in finished}
        return [
            (
                span.name, names[span.parent.span_id] if span.parent else None,
                span.attributes["hookbus.outcome"], span.attributes.get("error.type"),
            )
            for span in finished
        ]  # fmt: skip

    with bus.events.connected_to(exporter):
        yield spans
    exporter.close()
    provider.shutdown()
