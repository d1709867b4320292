"""A webhook that hears of requests that wait, tried with a real server on loopback."""

import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from hookbus import Ask, Bus, HookBlocked, HookError, hookable, surrounding
from hookbus.approvals import Approved, Store, notify
from hookbus.events import Blocked


class Server:
    """Takes what is posted, and answers with a status."""

    def __init__(self):
        server, self.taken, self.status = self, [], 204

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.taken.append((body, self.headers))
                self.send_response(server.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *given):
                pass

        self._http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/hook"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def bus(tmp_path):
    bus = Bus()
    store = bus.approver(Store(tmp_path / "approvals.db"))
    yield bus
    store.close()


@pytest.fixture
def pay(bus):
    bus.signal("pre_pay").connect(
        lambda sender, to, pin: Ask(f"pay {to} with {pin}?"), role="guard", weak=False
    )

    @hookable("pay", bus=bus, identity=lambda sender: "bank")
    def pay(to, pin):
        return "paid"

    def ask(*given):
        with surrounding(user="ada"), pytest.raises(HookBlocked):
            pay(*given)

    return ask


def test_each_parked_request_is_posted_once_signed_and_without_arguments(bus, pay, server):
    posts = notify(server.url, secret="key")
    bus.redact(patterns="4711")
    bus.events.connect(posts, kinds=Blocked)
    pay("ann", "4711")
    pay("ann", "4711")
    pay("bob", "4711")
    posts.close()
    assert (posts.sent, posts.failed, len(server.taken)) == (2, 0, 2)
    bodies = [json.loads(body) for body, _ in server.taken]
    assert all(body.keys() == {"id", "question", "bound", "hook"} for body in bodies)
    assert bodies[0]["bound"] == {"user": "ada"} and "pay ann" in bodies[0]["question"]
    assert bodies[0]["hook"] == "pay" and bodies[0]["id"] != bodies[1]["id"]
    body, headers = server.taken[0]
    assert headers["X-Hookbus-Signature"] == f"sha256={hmac.digest(b'key', body, 'sha256').hex()}"
    assert b"4711" not in body


@pytest.mark.parametrize("status", [500, 302])
def test_what_a_server_does_not_take_is_counted_and_holds_no_call_up(
    bus, pay, server, status, caplog
):
    server.status = status
    posts = notify(server.url)
    bus.events.connect(posts, kinds=Blocked)
    pay("ann", "1")
    posts.close()
    assert (posts.sent, posts.failed) == (0, 1) and len(server.taken) == 1
    assert f"the server answered {status}" in caplog.text


def test_a_block_that_waits_for_nobody_is_not_posted(bus, server):
    posts = notify(server.url)
    bus.events.connect(posts, kinds=Blocked)
    bus.approver(None)
    bus.approver(lambda request: Approved("grace"))
    bus.signal("pre_pay").connect(lambda sender: 1 / 0, role="guard", weak=False)
    with pytest.raises(HookBlocked):
        hookable("pay", bus=bus)(lambda: None)()
    posts.close()
    assert not server.taken


@pytest.mark.parametrize(
    "url", ["", None, "ftp://host", "https://", "http://ada:pin@host/", "http://host/a b", "host"]
)
def test_what_is_no_address_of_a_webhook_is_refused_without_its_password(url):
    with pytest.raises(HookError) as refused:
        notify(url)
    assert "pin" not in str(refused.value)
