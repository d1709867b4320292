"""Calls as spans and metrics of OpenTelemetry, by its own SDK."""

import asyncio
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hookbus import Bus, HookError, baggage, exporters, hookable
from hookbus.events import KINDS, Finished
from hookbus.exporters import _open_calls

from .calls import Tool, all_ways, guarded, hooks_on


@pytest.fixture
def memory():
    return InMemorySpanExporter()


@pytest.fixture
def provider(memory):
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    yield provider
    provider.shutdown()


@pytest.fixture
def reader():
    return InMemoryMetricReader()


@pytest.fixture
def bus(provider, reader):
    bus = Bus(values=True)
    meters = MeterProvider([reader], shutdown_on_exit=False)
    exporter = exporters.otel.OpenTelemetry(provider, meters, names={"waits": "execute_tool"})
    bus.events.connect(exporter, kinds=KINDS)
    yield bus
    exporter.close()
    meters.shutdown()
    assert trace.get_current_span() is trace.INVALID_SPAN  # no call is left in the context


def by_name(memory):
    return {span.name: span for span in memory.get_finished_spans()}


def parent_of(span, spans):
    names = {each.context.span_id: name for name, each in spans.items()}
    return None if span.parent is None else names[span.parent.span_id]


def test_calls_of_the_vocabulary_are_spans_as_the_conventions_have_them(bus, memory):
    ends = []
    bus.events.connect(lambda bus, event: ends.append(int(event.at * 1e9)), kinds=Finished)
    with baggage(session="s-1"):
        hooks_on(bus).run(Tool("ada"), "x")
    assert [span.end_time for span in memory.get_finished_spans()] == ends
    spans = by_name(memory)
    assert set(spans) == {"invoke_agent ada", "chat m-1", "execute_tool search"}
    run, chat, tool = spans["invoke_agent ada"], spans["chat m-1"], spans["execute_tool search"]
    assert parent_of(chat, spans) == parent_of(tool, spans) == "invoke_agent ada"
    assert run.parent is None and run.kind is tool.kind is trace.SpanKind.INTERNAL
    assert chat.kind is trace.SpanKind.CLIENT

    def said(span):
        return {k: v for k, v in span.attributes.items() if not k.startswith("hookbus.")}

    assert said(run) == {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "ada",
        "gen_ai.conversation.id": "s-1",
    }  # fmt: skip
    assert said(chat) == {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.agent.name": "ada",
        "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3,
        "gen_ai.conversation.id": "s-1",
    }  # fmt: skip
    assert said(tool) == {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
        "gen_ai.tool.call.id": "c-1", "gen_ai.tool.type": "function", "gen_ai.agent.name": "ada",
        "gen_ai.conversation.id": "s-1",
    }  # fmt: skip
    assert run.start_time <= chat.start_time <= chat.end_time <= tool.start_time <= run.end_time


def test_every_call_ends_its_span_however_it_ended(bus, memory):
    all_ways(bus)
    spans = by_name(memory)
    ended = {
        name: (span.attributes["hookbus.outcome"], span.attributes.get("error.type"))
        for name, span in spans.items()
    }
    assert ended["execute_tool breaks"] == ("raised", "LookupError")
    assert ended["execute_tool leak"] == ("blocked", "hookbus.exceptions.HookBlocked")
    assert ended["execute_tool replaced"] == ("replaced", None)
    assert ended["chat m-2"] == ("cancelled", None)  # left by who read it
    cancelled = [span for span in memory.get_finished_spans() if span.name == "execute_tool waits"]
    assert cancelled[0].attributes["error.type"] == "asyncio.exceptions.CancelledError"
    failed = {span.name for span in memory.get_finished_spans() if not span.status.is_unset}
    assert failed == {"execute_tool breaks", "execute_tool leak", "execute_tool waits"}
    everything = "".join(span.to_json() for span in memory.get_finished_spans())
    assert "SECRET" not in everything


def test_calls_in_tasks_threads_and_streams_are_children_of_the_call_around(bus, memory):
    hooks = hooks_on(bus)
    asyncio.run(hooks.gathers())
    list(hooks.stream("m-1", [], {}, None))
    spans = by_name(memory)
    assert parent_of(spans["execute_tool waits"], spans) == "gathers"
    assert parent_of(spans["execute_tool threaded"], spans) == "gathers"
    assert parent_of(spans["execute_tool inner"], spans) == "chat m-1"
    assert len({span.context.trace_id for span in spans.values()}) == 2


def test_spans_of_others_lie_around_a_call_and_in_it(bus, memory, provider):
    tracer = provider.get_tracer("others")

    @hookable("fetch", bus=bus)
    def fetch():
        with tracer.start_as_current_span("http"):
            pass

    with tracer.start_as_current_span("request") as request:
        fetch()
        assert trace.get_current_span() is request
    spans = by_name(memory)
    assert parent_of(spans["http"], spans) == "fetch"
    assert parent_of(spans["fetch"], spans) == "request"


def test_a_stream_is_not_around_the_calls_of_who_reads_it(bus, memory):
    hooks = hooks_on(bus)
    first, second = (hooks.stream(model, [], {}, None) for model in ("m-1", "m-2"))
    for stream in (first, second):
        next(stream)
    hooks.run(None, "between")
    for stream in (first, second):
        list(stream)
    spans = by_name(memory)
    outer = [span.name for span in memory.get_finished_spans() if span.parent is None]
    assert sorted(outer) == ["chat m-1", "chat m-2", "invoke_agent"]
    assert parent_of(spans["execute_tool search"], spans) == "invoke_agent"


def test_a_call_in_a_task_that_outlives_its_call_is_no_child_of_the_span_that_ended(bus, memory):
    hooks = hooks_on(bus)

    async def later(gate):
        await gate.wait()
        hooks.run(None, "later")

    @hookable("spawn", bus=bus)
    async def spawn(gate):
        return asyncio.create_task(later(gate))

    async def main():
        task = await spawn(gate := asyncio.Event())
        gate.set()
        await task

    asyncio.run(main())
    spans = by_name(memory)
    assert spans["spawn"].parent is None and spans["invoke_agent"].parent is None


def test_what_receivers_did_are_events_of_the_span(bus, memory):
    guarded(bus)
    hooks_on(bus).call("search", {}, None, None, None, None)
    [span] = memory.get_finished_spans()
    told = [(event.name, event.attributes["hookbus.receiver"]) for event in span.events]
    assert told == [
        ("hookbus.changed", "adds"), ("hookbus.invoked", "adds"), ("hookbus.invoked", "no_leak"),
        ("hookbus.blocked", "shadow"), ("hookbus.invoked", "shadow"), ("hookbus.failed", "archive"),
        ("hookbus.invoked", "archive"),
    ]  # fmt: skip
    blocked, asked, failed = span.events[3:6]
    assert blocked.attributes["hookbus.enforced"] is False
    assert blocked.attributes["hookbus.reason"] == "it might be"
    assert asked.attributes["hookbus.verdict"] == "blocked"
    assert asked.attributes["hookbus.seconds"] >= 0
    assert failed.attributes["error.type"] == "OSError"


def test_calls_blocks_failures_and_seconds_are_measured(bus, reader):
    all_ways(bus)
    [scope] = reader.get_metrics_data().resource_metrics[0].scope_metrics
    points = {metric.name: metric.data.data_points for metric in scope.metrics}

    def count(name, **attributes):
        wanted = {f"hookbus.{key}": value for key, value in attributes.items()}.items()
        found = [each for each in points[name] if wanted <= dict(each.attributes).items()]
        return sum(getattr(each, "value", 0) or getattr(each, "count", 0) for each in found)

    assert count("hookbus.calls", hook="tool_call", outcome="raised") == 1
    assert count("hookbus.calls", hook="model_stream") == 2
    assert count("hookbus.blocks", receiver="no_leak", enforced=True) == 1
    assert count("hookbus.blocks", receiver="shadow", enforced=False) == 1
    failures = count("hookbus.failures", receiver="archive", action="isolated")
    assert failures == count("hookbus.receiver.duration", receiver="archive") > 3
    assert failures == count("hookbus.receiver.duration", receiver="archive", answer="failed")


def test_a_call_that_never_ends_is_forgotten_and_its_span_ended(bus, memory, monkeypatch):
    monkeypatch.setattr(_open_calls, "MOST", 2)
    hooks = hooks_on(bus)
    streams = [hooks.stream(f"m-{i}", [], {}, None) for i in range(3)]
    for stream in streams:
        next(stream)
    [span] = memory.get_finished_spans()
    assert (span.name, span.attributes["hookbus.outcome"]) == ("chat m-0", "not known")
    for stream in reversed(streams):
        stream.close()


def test_an_operation_that_the_conventions_do_not_have_is_refused():
    with pytest.raises(HookError, match="'search': 'tool'.*use one of execute_tool"):
        exporters.otel.OpenTelemetry(names={"search": "tool"})


def test_a_result_that_cannot_be_read_ends_its_span_too(bus, memory):
    class Odd(dict):
        def get(self, name):
            raise RuntimeError

        items = __iter__ = __len__ = get

    @hookable("model_call", bus=bus)
    def model_call(model):
        return Odd(usage=1)

    model_call("m-1")
    [span] = memory.get_finished_spans()
    assert span.attributes["hookbus.outcome"] == "returned"


def test_without_the_library_it_says_what_to_install():
    program = """if True:
        import sys
        sys.modules["opentelemetry"] = None
        from hookbus import exporters
        print(exporters.jsonl.JsonLines.__name__)
        exporters.otel
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "JsonLines\n"
    assert "needs the package opentelemetry; run: pip install 'hookbus[otel]'" in run.stderr


def test_a_collector_gets_the_spans(memory):
    received = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, ExportTraceServiceRequest.FromString(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        sender = OTLPSpanExporter(f"http://127.0.0.1:{server.server_port}/v1/traces")
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(sender))
        bus = Bus()
        bus.events.connect(exporters.otel.OpenTelemetry(provider))
        hooks_on(bus).run(Tool("ada"), "x")
        provider.shutdown()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert {path for path, _ in received} == {"/v1/traces"}
    spans = [
        span
        for _, request in received
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert [span.name for span in spans] == ["chat m-1", "execute_tool search", "invoke_agent ada"]
    assert {span.parent_span_id for span in spans[:2]} == {spans[2].span_id}


def test_a_streamed_request_is_one_chat_span(bus, memory):
    hooks = hooks_on(bus)

    @hookable("model_call", bus=bus, labels=("model",))
    def ask(model):
        return [*hooks.stream(model, [], {}, None)]

    ask("m-1")
    spans = by_name(memory)
    chats = [span for span in spans.values() if "gen_ai.request.model" in span.attributes]
    assert [span.name for span in chats] == ["chat m-1"]
    assert parent_of(spans["model_stream"], spans) == "chat m-1"
