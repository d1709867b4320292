"""The page in a real Chromium, next to other programs: another page, the agent in other processes.
"""

import signal
import subprocess
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer

from .chromium import settled, until

AGENT = """
import sys
from hookbus import Ask, HookBlocked, default_bus, hookable, signal
from hookbus.approvals import Store
from hookbus.journal import Journal

@hookable
def pay(to):
    return f"paid {to}"

signal("pre_pay").connect(lambda pay, to: Ask(f"pay {to}?"), role="guard", weak=False)
default_bus.approver(Store("approvals.db"))
with Journal("journal.db") as journal:
    journal.attach(default_bus)
    try:
        print(pay("Ada"))
    except HookBlocked as blocked:
        print(blocked.verdict.code)
"""
SERVE = "from hookbus import page; page.serve('journal.db', approvals='approvals.db')"


def test_a_yes_on_the_page_of_one_process_lets_the_agent_of_the_next_go_on(program, tmp_path):
    start = partial(subprocess.Popen, cwd=tmp_path, stdout=subprocess.PIPE, text=True)

    def run_agent():
        with start([sys.executable, "-c", AGENT]) as agent:
            return agent.communicate(timeout=60)[0].strip()

    assert run_agent() == "pending"
    with start([sys.executable, "-c", SERVE]) as serving, program.new_context() as context:
        try:
            page = context.new_page()
            page.goto(serving.stdout.readline().strip())
            settled(page)
            page.get_by_role("button", name="Approve").click()
            page.get_by_text("Approved: pay Ada?").wait_for()
            assert run_agent() == "paid Ada"
            assert "returned" in until(page, 2).first.inner_text()
        finally:
            serving.send_signal(signal.SIGINT)
    assert serving.returncode == 0


class _Elsewhere(BaseHTTPRequestHandler):
    """A page on another port of this machine, to which cookies of this machine are shown."""

    def do_GET(self):
        self.server.seen.append(self.headers.get("cookie"))
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, *_):
        pass


def test_a_page_from_elsewhere_in_the_same_browser_gets_and_does_nothing(open_page, fresh):
    request = fresh.asked("Ada", 500)
    page = open_page()
    server = HTTPServer(("127.0.0.1", 0), _Elsewhere)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        inside = page.url
        other = page.context.new_page()
        other.goto(f"http://127.0.0.1:{server.server_port}/")
        tried = other.evaluate("""async ([inside, id]) => {
            const sent = { method: "POST", credentials: "include", mode: "no-cors",
                body: JSON.stringify({ answer: "approve" }) };
            await fetch(`${inside}approvals/${id}`, sent).catch(() => null);
            const read = (address, options) => fetch(address, options).then(
                (answer) => answer.text(), (error) => error.name);
            const frame = document.createElement("iframe");
            frame.src = inside;
            document.body.append(frame);
            await new Promise((done) => { frame.onload = done; });
            const script = document.createElement("script");
            script.src = `${inside}page.js`;
            document.body.append(script);
            const loaded = await new Promise((done) => {
                script.onload = () => done("loaded"); script.onerror = () => done("refused"); });
            return [await read(inside, { credentials: "include" }), frame.contentDocument, loaded,
                await read(`${inside}calls?before=9`, { credentials: "include", mode: "no-cors" })];
        }""", [inside, request.id])
        assert tried == ["TypeError", None, "refused", "TypeError"]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert not any(server.seen)
    assert fresh.store.get(request.id).state == "pending"
