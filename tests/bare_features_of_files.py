"""Features to use on a system without Unix: files, people, servers, commands."""

import json
import logging
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO

from tests.bare_features import feature, reason_of, tool_on  # isort: skip - takes names away

import hookbus
from hookbus import Ask, Bus, HookError

AGENT = """
from hookbus import hookable


@hookable
def reply(msg):
    return msg


reply(1)
"""


@feature
def a_journal(folder):
    from hookbus.journal import Journal

    file = folder / "a.journal"
    tool = tool_on(bus := Bus())
    for _ in range(2):  # the second looks whether the process of the first still runs
        journal = Journal(file)
        journal.attach(bus)
        undo = journal.durable("tool_call", bus=bus)
        tool("a", {})
        journal.flush()
        assert journal.verify().ok
        undo()
    assert len(list(Journal.reading(file).records(type="outcome"))) == 2


@feature
def approvals_in_a_store(folder):
    from hookbus.approvals import Approved, Store

    tool = tool_on(bus := Bus())
    store = Store(folder / "approvals.db")
    bus.approver(store)
    bus.signal("pre_tool_call").connect(lambda sender: Ask("may it?"), role="guard", name="asks")
    reason_of(tool, "a", {})
    store.answer(store.pending()[0].id, Approved("ada"))
    assert tool("a", {}) == "a ran"


@feature
def approvals_at_the_terminal(folder):
    from hookbus.approvals import terminal

    tool = tool_on(bus := Bus())
    bus.approver(terminal)
    bus.signal("pre_tool_call").connect(lambda sender: Ask("may it?"), role="guard", name="asks")
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        os.environ.pop(name, None)  # no variable names the user, and no list of users is there
    sys.stdin, sys.stdout, before = StringIO("yes\n"), StringIO(), sys.stdout
    try:
        assert tool("a", {}) == "a ran"
    finally:
        sys.stdin, sys.stdout = sys.__stdin__, before


@feature
def approvals_told_to_a_webhook(folder):
    from hookbus.approvals import Store, notify
    from hookbus.events import Blocked

    posted = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.end_headers()
            posted.set()

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tool = tool_on(bus := Bus())
    bus.approver(Store(folder / "told.db"))
    bus.signal("pre_tool_call").connect(lambda sender: Ask("may it?"), role="guard", name="asks")
    bus.events.connect(notify(f"http://127.0.0.1:{server.server_port}/"), kinds=Blocked)
    reason_of(tool, "a", {})
    assert posted.wait(10)
    server.shutdown()
    server.server_close()


@feature
def exporters_to_files(folder):
    from hookbus.exporters.chrome import ChromeTrace
    from hookbus.exporters.jsonl import JsonLines

    tool = tool_on(bus := Bus())
    lines = JsonLines(folder / "lines.jsonl", max_bytes=400, keep=2)
    trace = ChromeTrace(folder / "trace.json")
    bus.events.connect(lines)
    bus.events.connect(trace)
    for _ in range(5):
        tool("a", {})
    lines.close()
    trace.close()
    again = JsonLines(folder / "lines.jsonl")  # which looks whether the last line is whole
    again.close()
    written = [json.loads(line) for line in (folder / "lines.jsonl.1").read_text().splitlines()]
    assert written and json.loads((folder / "trace.json").read_text())


@feature
def the_page(folder):
    from starlette.testclient import TestClient

    from hookbus import page
    from hookbus.journal import Journal
    from hookbus.page._serving import listening_on

    Journal(folder / "page.journal").close()
    token = "a-token-that-nobody-guesses"
    app = page.app(folder / "page.journal", token=token)
    client = TestClient(app, base_url="http://127.0.0.1:8000")
    assert "hookbus" in client.get(f"/?token={token}").text
    listening_on("127.0.0.1", 0).close()


def command(*words):
    """Run the command line and return its exit code and what it printed."""
    from hookbus import cli

    out, err, before = StringIO(), StringIO(), (sys.stdout, sys.stderr)
    sys.stdout, sys.stderr = out, err
    try:
        code = cli.main([str(word) for word in words])
    finally:
        sys.stdout, sys.stderr = before
    return code, out.getvalue(), err.getvalue()


@feature
def the_command_line(folder):
    from hookbus.approvals import Store
    from hookbus.journal import Journal

    (folder / "hookbus.toml").write_text('journal = "cli.journal"\napprovals = "cli.db"\n')
    (folder / "agent.py").write_text(AGENT)
    os.chdir(folder)
    code, out, err = command("run", "agent.py")
    lines = [line for line in err.splitlines() if "cannot lock files" not in line]
    assert (code, out, lines) == (0, "", [])
    end, kept = time.monotonic() + 10, Journal.reading(folder / "cli.journal")
    while not list(kept.records(type="finished")):
        assert time.monotonic() < end
        time.sleep(0.02)
    Store(folder / "cli.db").close()
    commands = ("hooks agent", "check agent", "log", "trace", "approvals list", "doctor")
    for words in map(str.split, commands):
        code, out, err = command(*words)
        assert code == 0, (words, out, err)


@feature
def attach_says_what_is_missing_and_what_works(folder):
    from hookbus._program.door import Door, listen

    code, out, err = command("attach", os.getpid(), "report")
    assert (code, out) == (2, "")
    assert "needs Linux" in err and "hookbus log and hookbus top" in err
    try:
        Door(hookbus.default_bus)
    except HookError as error:
        assert "needs Linux" in str(error)
    else:
        raise AssertionError("it listens")
    said = StringIO()
    handler = logging.StreamHandler(said)
    logging.getLogger("hookbus").addHandler(handler)
    assert listen() is None and said.getvalue() == ""  # of each program it would be noise
    logging.getLogger("hookbus").removeHandler(handler)
