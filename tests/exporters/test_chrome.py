"""Calls as a trace that Perfetto and speedscope open."""

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from hookbus import Bus, exporters, hookable
from hookbus.exporters import _open_calls

from .calls import all_ways, hooks_on


@pytest.fixture
def bus():
    return Bus()


def opened(path):
    """Return the events of a trace, read as the format says: the last bracket may be missing."""
    text = path.read_text().rstrip().rstrip(",")
    return json.loads(text if text.endswith("]") else text + "]")


def calls_of(trace):
    return [event for event in trace if event["ph"] == "X"]


def tracks_of(trace):
    return {e["tid"]: e["args"]["name"] for e in trace if e["name"] == "thread_name"}


def assert_nests(trace):
    """Check that the calls of each track lie in each other or after each other."""
    for track in {event["tid"] for event in calls_of(trace)}:
        edges = [event for event in calls_of(trace) if event["tid"] == track]
        edges.sort(key=lambda event: (event["ts"], -event["dur"]))
        ends = []
        for event in edges:
            end = event["ts"] + event["dur"]
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            assert not ends or end <= ends[-1] + 1e-3, event["name"]
            ends.append(end)


@pytest.fixture
def traced(bus, tmp_path):
    path = tmp_path / "trace.json"
    exporter = exporters.chrome.ChromeTrace(path)
    bus.events.connect(exporter)
    yield bus, path, exporter
    exporter.close()


def test_calls_lie_in_the_calls_they_were_made_in(traced):
    bus, path, exporter = traced
    all_ways(bus)
    exporter.close()
    trace = opened(path)
    assert path.read_text().endswith("]\n") and "SECRET" not in path.read_text()
    by_name = {event["name"]: event for event in calls_of(trace)}
    run, search = by_name["agent_run ada"], by_name["tool_call search"]
    assert run["tid"] == search["tid"] and search["args"]["parent_id"] == run["args"]["call_id"]
    assert run["ts"] <= search["ts"] and search["ts"] + search["dur"] <= run["ts"] + run["dur"]
    assert by_name["tool_call breaks"]["args"]["error"]["type"] == "LookupError"
    assert by_name["tool_call leak"]["args"]["outcome"] == "blocked"
    assert by_name["model_stream m-2"]["args"]["outcome"] == "cancelled"
    marks = {event["name"] for event in trace if event["ph"] == "i"}
    assert {"no_leak Blocked", "archive Failed", "adds Mutated"} <= marks
    assert_nests(trace)


def test_each_task_and_each_thread_has_a_track(traced):
    bus, path, exporter = traced
    hooks = hooks_on(bus)
    asyncio.run(hooks.gathers())
    thread = threading.Thread(target=hooks.run, args=(None, "x"), name="worker")
    thread.start()
    thread.join()
    trace, tracks = opened(path), tracks_of(opened(path))
    by_name = {event["name"]: tracks[event["tid"]] for event in calls_of(trace)}
    waits = {event["tid"] for event in calls_of(trace) if event["name"] == "waits"}
    assert len(waits) == 2 and by_name["agent_run"] == "worker"
    assert by_name["tool_call threaded"].startswith(("asyncio_", "ThreadPool"))
    assert_nests(trace)


def test_streams_that_are_read_by_turns_are_in_tracks_of_their_own(traced):
    bus, path, exporter = traced
    hooks = hooks_on(bus)
    several = [hooks.stream(f"m-{i}", [], {}, None) for i in range(3)]
    for stream in several:
        next(stream)
    hooks.run(None, "between")
    for stream in several:
        list(stream)
    trace = opened(path)
    assert len(calls_of(trace)) == 9
    assert_nests(trace)


def test_a_call_that_outlives_the_one_it_was_made_in_moves_to_another_track(traced):
    bus, path, exporter = traced
    hooks = hooks_on(bus)

    @hookable("makes", bus=bus)
    def makes():
        stream = hooks.stream("m-1", [], {}, None)
        next(stream)
        return stream

    for _ in range(2):
        list(makes())
    trace = opened(path)
    assert [event["name"] for event in calls_of(trace)] == [
        "makes", "tool_call inner", "model_stream m-1",
    ] * 2  # fmt: skip
    assert len(tracks_of(trace)) == 2  # one that is free is used again
    assert_nests(trace)


def test_a_call_lies_in_no_call_but_the_one_it_was_made_in(traced):
    bus, path, exporter = traced
    hooks = hooks_on(bus)

    @hookable("reads", bus=bus)
    def reads():
        first, second = (hooks.stream(model, [], {}, None) for model in ("m-1", "m-2"))
        next(first)
        list(second)
        list(first)

    reads()
    tracks = {event["name"]: event["tid"] for event in calls_of(opened(path))}
    assert tracks["reads"] == tracks["model_stream m-1"] != tracks["model_stream m-2"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_trace_of_a_process_that_was_killed_opens(tmp_path):
    path = tmp_path / "trace.json"
    program = f"""if True:
        import os, signal
        from hookbus import Bus, exporters, hookable
        bus = Bus()
        bus.events.connect(exporters.chrome.ChromeTrace({str(path)!r}))

        @hookable("reply", bus=bus)
        def reply(msg):
            if msg == "die":
                os.kill(os.getpid(), signal.SIGKILL)

        reply("a")
        reply("die")
    """
    run = subprocess.run([sys.executable, "-c", program])
    assert run.returncode == -signal.SIGKILL
    assert [event["name"] for event in calls_of(opened(path))] == ["reply"]


def test_what_never_ends_is_forgotten_in_the_end(traced, monkeypatch):
    bus, path, exporter = traced
    monkeypatch.setattr(_open_calls, "MOST", 5)
    hooks = hooks_on(bus)
    streams = [hooks.stream(f"m-{i}", [], {}, None) for i in range(8)]
    for stream in streams:
        next(stream)
    ended = [event["args"]["outcome"] for event in calls_of(opened(path))]
    assert ended == ["not known"] * 3
    exporter.close()
    assert [event["args"]["outcome"] for event in calls_of(opened(path))[3:]] == ["running"] * 5
    for stream in streams:
        stream.close()


@pytest.mark.skipif(
    not os.environ.get("HOOKBUS_LONG"), reason="needs npm and a browser: HOOKBUS_LONG=1"
)
def test_speedscope_opens_it_in_a_browser_as_it_stands_in_the_file(traced, tmp_path):
    bus, path, exporter = traced
    all_ways(bus)
    subprocess.run(["npm", "install", "--prefix", tmp_path, "speedscope@1.25.0"], check=True)
    data = base64.b64encode(path.read_bytes()).decode()  # it is not closed yet
    profile = tmp_path / "profile.js"
    profile.write_text(f'speedscope.loadFileFromBase64("trace.json", "{data}")')
    page = tmp_path / "node_modules" / "speedscope" / "dist" / "release" / "index.html"
    run = [
        "chromium", "--headless", "--no-sandbox", f"--user-data-dir={tmp_path / 'browser'}",
        "--virtual-time-budget=4000", "--dump-dom", f"{page.as_uri()}#localProfilePath={profile}",
    ]  # fmt: skip
    shown = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert "trace.json - speedscope" in shown and "MainThread (tid 1)" in shown
    with_calls = {event["tid"] for event in calls_of(opened(path))}
    assert len(with_calls) <= int(re.search(r"\(1/(\d+)\)", shown)[1]) <= len(with_calls) + 1
