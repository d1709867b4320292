"""A webhook hears of each request that is parked, once, and no call waits for it."""

import hmac
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hookbus import Ask, Bus, HookError, baggage, hookable
from hookbus.approvals import ApprovalPending, Parked, notify
from hookbus.events import Blocked


@contextmanager
def webhook(status=200, holds=None, location=None):
    """Serve a webhook on loopback; give its address and what was posted to it."""
    posted = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            if holds is not None:
                holds.wait(20)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posted.append((self.path, dict(self.headers), body))
            self.send_response(status)
            if location is not None:
                self.send_header("Location", location)
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", posted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def bus():
    bus = Bus()
    bus.approver(lambda request: Parked())
    bus.signal("pre_pay").connect(
        lambda sender, to, pin: Ask(f"pay {to} with {pin}?"), role="guard", weak=False
    )
    return bus


@pytest.fixture
def pay(bus):
    @hookable("pay", bus=bus)
    def pay(to, pin):
        return to

    def parked(to, pin="4711-0815"):
        with baggage(user="ada"), pytest.raises(ApprovalPending) as pending:
            pay(to, pin)
        return pending.value.id

    return parked


def connected(bus, *given, **more):
    made = notify(*given, **more)
    bus.events.connect(made, kinds=Blocked)
    return made


def test_a_parked_request_is_posted_once_signed_redacted_and_without_arguments(bus, pay):
    bus.redact(names="pin")
    with webhook() as (address, posted):
        hears = connected(bus, f"{address}/hook?key=k", secret="s3cret")
        first = pay("ann")
        assert pay("ann") == first
        second = pay("bob")
        hears.close()
    assert hears.sent == 2 and hears.failed == 0
    told = [json.loads(body) for _, _, body in posted]
    assert told[0] == {
        "id": first, "question": "pay ann with <redacted>?", "bound": {"user": "ada"},
        "hook": "pay",
    }  # fmt: skip
    assert told[1]["id"] == second
    for path, headers, body in posted:
        signature = hmac.digest(b"s3cret", body, "sha256").hex()
        assert headers["X-Hookbus-Signature"] == f"sha256={signature}"
        assert path == "/hook?key=k" and headers["Content-Type"] == "application/json"


def test_no_call_waits_for_a_server_that_is_silent(bus, pay):
    release = threading.Event()
    with webhook(holds=release) as (address, posted):
        hears = connected(bus, address)
        began = time.monotonic()
        pay("ann")
        assert time.monotonic() - began < 2 and posted == []
        release.set()
        hears.close()
    assert len(posted) == 1


def test_a_server_that_answers_a_little_at_a_time_is_given_up(bus, pay):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip():
            peer, _ = server.accept()
            with peer, suppress(OSError):
                while True:
                    peer.sendall(b"H")
                    time.sleep(0.05)

        thread = threading.Thread(target=drip)
        thread.start()
        hears = connected(bus, f"http://127.0.0.1:{server.getsockname()[1]}/", timeout=0.2)
        pay("ann")
        thread.join(10)
        assert not thread.is_alive(), "the connection was cut"
        hears.close()
    assert (hears.sent, hears.failed) == (0, 1)


@pytest.mark.parametrize("status, why", [(500, "answered 500"), (302, "answered 302")])
def test_a_server_that_does_not_take_it_is_counted_said_once_and_not_followed(
    bus, pay, caplog, status, why
):
    with webhook() as (other, elsewhere), webhook(status, location=f"{other}/x") as (address, _):
        hears = connected(bus, f"{address}/hook?key=k3y")
        pay("ann")
        pay("bob")
        hears.close()
    assert hears.failed == 2 and hears.sent == 0 and elsewhere == []
    said = [record.getMessage() for record in caplog.records if "notify" in record.getMessage()]
    assert len(said) == 1 and why in said[0] and "k3y" not in said[0] + repr(hears)


def test_where_nobody_listens_the_call_is_parked_all_the_same(bus, pay):
    with webhook() as (address, _):
        pass
    hears = connected(bus, address, timeout=0.5)
    assert pay("ann")
    hears.close()
    assert hears.failed == 1


@pytest.mark.parametrize(
    "url", ["", None, 3, "host/path", "file:///etc/passwd", "ftp://h/x", "http://", "http://a b/",
            "https://user:pass@host/", "http://h:port/", "http://h/\r\nX: 1"],
)  # fmt: skip
def test_what_is_no_address_of_a_webhook_is_refused_and_not_said(url):
    with pytest.raises(HookError, match=r"notify\(\) (needs|accepts)") as error:
        notify(url)
    assert "pass@" not in str(error.value)


@pytest.mark.parametrize(
    "wrong", [{"secret": ""}, {"secret": 3}, {"timeout": 0}, {"timeout": "5"}], ids=str
)
def test_other_wrong_settings_are_refused(wrong):
    with pytest.raises(HookError):
        notify("https://host/", **wrong)


def test_the_body_has_a_link_to_the_request_on_the_page(bus, pay):
    with webhook() as (url, posted):
        made = connected(bus, url, page="http://127.0.0.1:8765/")
        id = pay("ann")
        made.close()
    [(_, _, body)] = posted
    assert json.loads(body)["link"] == f"http://127.0.0.1:8765/#request-{id}"


@pytest.mark.parametrize(
    "page, problem",
    [("http://127.0.0.1:8765/?token=abc", "without a token"), ("https://a/#x", "without a token"),
     ("page", "page= needs the address"), (8765, "page= needs the address"),
     ("https://ada:pw@host/", "no user or password")],
)  # fmt: skip
def test_an_address_of_the_page_with_a_secret_or_without_a_host_is_refused(page, problem):
    with pytest.raises(HookError, match=problem):
        notify("http://127.0.0.1:9/", page=page)
