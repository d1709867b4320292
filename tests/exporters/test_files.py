"""Events as lines of JSON, and calls as lines of a log."""

import gc
import json
import logging
import os
import subprocess
import sys

import pytest
import structlog
from pythonjsonlogger.json import JsonFormatter

from hookbus import Bus, HookError, baggage, exporters, hookable, report
from hookbus.events import Finished

from .calls import all_ways, guarded, hooks_on


@pytest.fixture
def bus():
    return Bus()


def reply_on(bus):
    return hookable("reply", bus=bus)(lambda msg: msg)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


# -- JSON lines ------------------------------------------------------------------------------------


def test_every_event_is_one_line_of_json_that_only_its_owner_may_read(bus, tmp_path):
    told, path = [], tmp_path / "events.jsonl"
    exporter = exporters.jsonl.JsonLines(path)
    bus.events.connect(exporter)
    bus.events.connect(lambda bus, event: told.append(event.as_dict()))
    all_ways(bus)
    exporter.close()
    assert lines(path) == told and {"Failed", "Blocked"} <= {line["event"] for line in told}
    assert path.stat().st_mode & 0o077 == 0


def test_a_full_file_makes_way_and_the_oldest_is_gone(bus, tmp_path):
    path, reply = tmp_path / "events.jsonl", reply_on(bus)
    exporter = exporters.jsonl.JsonLines(path, max_bytes=1000, keep=3)
    bus.events.connect(exporter)
    for _ in range(30):
        reply("a")
    exporter.close()
    files = [path, *(tmp_path / f"events.jsonl.{number}" for number in (1, 2, 3))]
    assert sorted(tmp_path.iterdir()) == files
    assert all(0 < file.stat().st_size <= 1000 for file in files)
    ids = [line["call_id"] for file in reversed(files) for line in lines(file)]
    assert ids == sorted(ids) and len(ids) > 6


def test_a_line_that_a_process_left_half_is_left_alone(bus, tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "Sta')
    exporter = exporters.jsonl.JsonLines(path)
    bus.events.connect(exporter, kinds=Finished)
    reply_on(bus)("a")
    exporter.close()
    torn, whole = path.read_text().splitlines()
    assert torn == '{"event": "Sta' and json.loads(whole)["outcome"] == "returned"


@pytest.mark.skipif(sys.platform == "win32", reason="no limit to the size of files")
def test_a_disk_that_is_full_is_said_once_touches_no_call_and_the_exporter_goes_on(tmp_path):
    program = f"""if True:
        import logging, resource, signal, sys
        from hookbus import Bus, exporters, hookable, report
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        bus = Bus()
        bus.events.connect(exporters.jsonl.JsonLines({str(tmp_path / "a.jsonl")!r}), name="lines")
        bus.events.connect(exporters.chrome.ChromeTrace({str(tmp_path / "a.json")!r}), name="trace")
        reply = hookable("reply", bus=bus)(lambda msg: msg)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
        assert [reply("a") for _ in range(50)] == ["a"] * 50
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert reply("a") == "a"
        print(sum("lines" in line for line in str(report(bus)).splitlines()) > 0)
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    said = [line for line in run.stdout.splitlines() if "failed" in line]
    once = "(further failures of this receiver are not logged)"
    assert len(said) == 2 and all(once in line and "OSError" in line for line in said)
    whole = [line for line in (tmp_path / "a.jsonl").read_text().splitlines() if line[-1:] == "}"]
    assert json.loads(whole[-1])["event"] == "Finished"
    assert len(json.loads((tmp_path / "a.json").read_text().rstrip(",\n") + "]")) > 3


@pytest.mark.parametrize("kind", ["jsonl", "chrome", "otel"])
def test_an_exporter_that_was_closed_is_disconnected_and_fails_where_it_is_connected_again(
    bus, tmp_path, caplog, kind
):
    make = {
        "jsonl": lambda: exporters.jsonl.JsonLines(tmp_path / "file"),
        "chrome": lambda: exporters.chrome.ChromeTrace(tmp_path / "file"),
        "otel": lambda: exporters.otel.OpenTelemetry(),
    }
    exporter = make[kind]()
    bus.events.connect(exporter, name="exporter")
    other = Bus()
    other.events.connect(exporter)
    exporter.close()
    exporter.close()
    assert not bus.events.connections() and not other.events.connections()
    with caplog.at_level(logging.DEBUG):
        assert [reply_on(bus)("a"), reply_on(other)("a")] == ["a"] * 2 and not caplog.records
        bus.events.connect(exporter, name="exporter")
        assert [reply_on(bus)("a") for _ in range(3)] == ["a"] * 3
    assert len(caplog.records) == 1 and "exporter (" in caplog.text
    with pytest.raises(HookError, match="closed"):
        exporter(bus, Finished(
            call_id=1, parent_id=None, hook="h", sender="s", at=1.0, outcome="returned", seconds=0.1
        ))  # fmt: skip


@pytest.mark.parametrize("given", [{"max_bytes": 0}, {"max_bytes": 1.5}, {"keep": 0}])
def test_a_limit_that_is_none_is_refused(tmp_path, given):
    with pytest.raises(HookError, match="must be a whole number of at least 1"):
        exporters.jsonl.JsonLines(tmp_path / "file", **given)
    assert os.listdir(tmp_path) == []


# -- the log ---------------------------------------------------------------------------------------


def test_each_call_is_one_line_of_a_level_that_says_how_it_ended(bus, caplog):
    bus.events.connect(exporters.log.Logging())
    with caplog.at_level(logging.INFO, "hookbus.calls"), baggage(session="s-1"):
        all_ways(bus)
    said = {record.getMessage().partition(" of ")[0]: record for record in caplog.records}
    levels = {name: record.levelname for name, record in said.items()}
    assert levels == {
        "agent_run ada": "INFO", "model_call m-1": "INFO", "tool_call search": "INFO",
        "tool_call breaks": "ERROR", "tool_call leak": "WARNING", "tool_call replaced": "INFO",
        "tool_call inner": "INFO", "model_stream m-1": "INFO", "model_stream m-2": "INFO",
        "waits": "INFO", "gathers": "INFO", "tool_call threaded": "INFO",
    }  # fmt: skip
    assert "SECRET" not in caplog.text
    search = said["tool_call search"].getMessage()
    assert "returned after 0.0" in search and "\n" not in search
    assert search.endswith(
        "; adds changed argument 'arguments'; shadow would have blocked: it might be"
        "; archive failed: OSError, isolated"
    )
    assert "blocked after" in said["tool_call leak"].getMessage()
    assert "no_leak blocked: it is outside" in said["tool_call leak"].getMessage()
    assert "raised LookupError after" in said["tool_call breaks"].getMessage()
    assert said["tool_call leak"].hookbus["baggage"] == {"session": "s-1"}
    assert (
        said["tool_call inner"].hookbus["parent_id"] == said["model_stream m-1"].hookbus["call_id"]
    )


def test_a_line_stays_one_line_whatever_names_and_reasons_say(bus, caplog):
    bus.events.connect(exporters.log.Logging())
    with caplog.at_level(logging.INFO, "hookbus.calls"):
        hooks_on(bus).call("a\nERROR b\x1b[2J", {}, None, None, None, None)
    assert "tool_call a\\nERROR b\\x1b[2J of" in caplog.records[0].getMessage()


def test_the_line_may_be_json_and_a_formatter_of_json_finds_the_facts(bus, capsys):
    logger = logging.Logger("own")
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)
    plain, as_json = exporters.log.Logging(logger), exporters.log.Logging(logger, json=True)
    guarded(bus)
    with bus.events.connected_to(plain), bus.events.connected_to(as_json):
        hooks_on(bus).call("pay", {}, None, None, None, None)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["hookbus"] == json.loads(second["message"])
    assert (first["hookbus"]["call"], first["hookbus"]["outcome"]) == ("tool_call pay", "returned")


def test_a_logger_of_structlog_is_given_the_facts_by_name(bus):
    with structlog.testing.capture_logs() as captured:
        bus.events.connect(exporters.log.Logging(structlog.get_logger()))
        reply_on(bus)("a")
    [line] = captured
    assert (line["hook"], line["outcome"], line["log_level"]) == ("reply", "returned", "info")


def test_an_exporter_that_is_connected_to_no_bus_is_a_finding_until_it_is_used_or_closed(bus):
    def found():
        return [each for each in report(bus).findings if "not connected to a bus" in each]

    assert found() == []
    made = exporters.log.Logging()
    [finding] = found()
    assert "the exporter Logging (" in finding and f"{__file__}:" in finding
    bus.events.connect(made)
    assert found() == []
    bus.events.disconnect(made)
    assert len(found()) == 1
    bus.events.connect(lambda bus, event: made(bus, event))
    reply_on(bus)("a")
    assert found() == []
    exporters.log.Logging().close()
    assert found() == []
    left = exporters.log.Logging()
    Bus().events.connect(left)
    gc.collect()
    assert found() == [], "its bus is gone, and it was connected"
