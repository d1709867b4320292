"""Secrets reach no sink: through no exporter and into no journal, all of them on one bus."""

import io
import json
import logging
import random

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pythonjsonlogger.json import JsonFormatter

from hookbus import Bus, exporters
from hookbus.events import KINDS
from hookbus.journal import Journal

from ..canaries import CANARIES, FORM, call_with, canary_of, holds


class Sinks:
    """Every exporter and a journal on one bus, and all that came out of them since it was last
    asked for.
    """

    def __init__(self, bus, folder):
        self._memory, self._reader, self._log = (
            InMemorySpanExporter(),
            InMemoryMetricReader(),
            io.StringIO(),
        )
        self._tracers = TracerProvider(shutdown_on_exit=False)
        self._tracers.add_span_processor(SimpleSpanProcessor(self._memory))
        self._meters = MeterProvider([self._reader], shutdown_on_exit=False)
        logger, handler = logging.Logger("sinks"), logging.StreamHandler(self._log)
        handler.setFormatter(JsonFormatter())
        logger.addHandler(handler)
        self._files = [folder / "lines", folder / "trace"]
        self._exporters = [
            exporters.otel.OpenTelemetry(self._tracers, self._meters),
            exporters.jsonl.JsonLines(self._files[0]),
            exporters.chrome.ChromeTrace(self._files[1]),
            exporters.log.Logging(logger),
            exporters.log.Logging(logger, json=True),
        ]
        self._read, self._kept = [0, 0], 0
        self._journal = Journal(folder / "journal")
        self._journal.attach(bus)
        for exporter in self._exporters:
            bus.events.connect(exporter, kinds=KINDS)

    def said(self):
        spans = "".join(span.to_json() for span in self._memory.get_finished_spans())
        self._memory.clear()
        log = self._log.getvalue()
        self._log.truncate(self._log.seek(0))
        records = [*self._journal.records(after=self._kept)]
        self._kept = records[-1].seq
        texts = [spans, log, json.dumps([record.data for record in records])]
        for i, path in enumerate(self._files):
            with path.open() as file:
                file.seek(self._read[i])
                texts.append(file.read())
                self._read[i] = file.tell()
        return texts

    def close(self):
        metrics = self._reader.get_metrics_data().to_json()
        for exporter in self._exporters:
            exporter.close()
        self._journal.close()
        self._tracers.shutdown()
        self._meters.shutdown()
        return metrics


@pytest.mark.parametrize("has_values", [True, False])
def test_G41_no_canary_gets_into_any_sink(tmp_path, has_values):
    bus, draw = Bus(values=has_values), random.Random(4)
    bus.redact(patterns=FORM)
    sinks = Sinks(bus, tmp_path)
    for _ in range(CANARIES // 20):
        canaries = [canary_of(draw) for _ in range(10)]
        for canary in canaries:
            call_with(bus, draw, canary)
        texts = sinks.said()
        assert all('"' in text for text in texts)  # each has said something
        assert not any(holds(canary, "".join(texts)) for canary in canaries)
    metrics = sinks.close()
    assert "hookbus.calls" in metrics and "SECRET-" not in metrics


def test_without_values_what_calls_are_given_give_and_raise_gets_into_no_sink(tmp_path):
    bus, draw = Bus(), random.Random(5)
    sinks = Sinks(bus, tmp_path)
    for _ in range(100):
        for way in ("argument", "raised", "failed", "changed"):
            canary = canary_of(draw)
            call_with(bus, draw, canary, way)
            assert canary[7:] not in "".join(sinks.said())
    sinks.close()


def test_the_sinks_would_show_what_is_not_redacted(tmp_path):
    bus = Bus(values=True)
    sinks = Sinks(bus, tmp_path)
    call_with(bus, random.Random(6), "SECRET-abcdefgh", "blocked")
    assert all("abcdefgh" in text for text in sinks.said())
    assert json.loads(sinks.close())
