"""guards.remote: anything but a well-formed permit blocks, and the reason says what was wrong."""

import socket
import time
from contextlib import suppress

import pytest

from hookbus import Block, HookBlocked
from hookbus.events import Blocked
from hookbus.guards import remote

from .policy_servers import PERMIT, answering, http, raw

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ENOUGH = 30.0
"""A deadline that no answer of these tests misses."""


def reason_of(call):
    """Return the reason and the failure of a blocked call, which its event has, too."""
    blocks = []
    call.bus.events.connect(lambda bus, event: blocks.append(event), kinds=[Blocked])
    with pytest.raises(HookBlocked) as error:
        call("pay", to="bob")
    verdict, [event] = error.value.verdict, blocks
    assert call.made == [] and verdict.code == event.code == "remote"
    assert verdict.details == event.details
    return error.value.reason, verdict.details["failure"]


BAD = {
    "status 500": (http(PERMIT, "500 Internal Server Error"), "refused", "status 500"),
    "status 401": (http(PERMIT, "401 Unauthorized"), "refused", "status 401"),
    "status 201": (http(PERMIT, "201 Created"), "refused", "status 201"),
    "status 204": (b"HTTP/1.1 204 No Content\r\n\r\n", "refused", "status 204"),
    "closed": (b"", "absent", "closed the connection without an answer"),
    "cut": (b"HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n" + PERMIT, "malformed", "cut short"),
    "cut in a chunk": (CHUNKED + b"40\r\n" + PERMIT, "malformed", "cut short"),
    "cut between chunks": (CHUNKED + b"12\r\n" + PERMIT + b"\r\n", "malformed", "cut short"),
    "cut in the headers": (b"HTTP/1.1 200 OK\r\nContent-Le", "malformed", "cannot be used"),
    "too long": (http(b" " * 9_000 + PERMIT), "malformed", "longer than max_bytes=8000"),
    "too long in chunks": (
        CHUNKED + b"4000\r\n" + b" " * 0x4000 + b"\r\n0\r\n\r\n", "malformed", "longer than",
    ),
    "a header without end": (
        b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", "malformed", "not valid HTTP",
    ),
    "no HTTP": (b"decision: true\r\n\r\n" + PERMIT, "malformed", "not valid HTTP"),
    "empty": (http(b""), "malformed", "not valid JSON"),
    "HTML": (http(b"<html>yes</html>"), "malformed", "not valid JSON"),
    "half of the JSON": (http(b'{"decision": true'), "malformed", "not valid JSON"),
    "two answers": (http(PERMIT + PERMIT), "malformed", "not valid JSON"),
    "a name twice": (
        http(b'{"decision": false, "decision": true}'), "malformed", "'decision' is duplicated",
    ),
    "NaN": (http(b'{"decision": true, "x": NaN}'), "malformed", "NaN is not valid JSON"),
    "infinity": (http(b'{"decision": true, "x": 1e999}'), "malformed", "1e999 is not valid JSON"),
    "nested": (http(b'{"decision": true, "x": ' + b"[" * 5_000), "malformed", "cannot be used"),
    "no UTF-8": (http(b'{"decision": true, "x": "\xff"}'), "malformed", "not JSON in UTF-8"),
    "UTF-16": (http(PERMIT.decode().encode("utf-16")), "malformed", "not JSON in UTF-8"),
    "compressed": (
        http(PERMIT, headers=["Content-Encoding: gzip"]), "malformed", "is compressed",
    ),
    "a list": (http(b'[{"decision": true}]'), "malformed", "not a JSON object"),
    "no decision": (http(b'{"allow": true}'), "malformed", "no decision"),
    "a text": (http(b'{"decision": "true"}'), "malformed", "no decision that is true or false"),
    "a number": (http(b'{"decision": 1}'), "malformed", "no decision that is true or false"),
    "null": (http(b'{"decision": null}'), "malformed", "no decision that is true or false"),
    "no context": (http(b'{"decision": true, "context": []}'), "malformed", "not an object"),
    "no reason": (
        http(b'{"decision": true, "context": {"reason": 1}}'), "malformed", "reason that is not",
    ),
    "a patch": (
        http(b'{"decision": true, "context": {"arguments": {}}}'), "malformed",
        "no changes were requested",
    ),
}  # fmt: skip


@pytest.mark.parametrize("answer, failure, words", BAD.values(), ids=BAD)
def test_a_bad_answer_blocks_and_the_reason_describes_it(call, bus, answer, failure, words):
    with raw(lambda peer, question: peer.sendall(answer)) as server:
        bus.register(remote(server.url, deadline=ENOUGH, max_bytes=8_000))
        reason, found = reason_of(call)
    assert words in reason and found == failure


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(call, bus, status):
    with answering(PERMIT) as elsewhere:
        moved = http(b"", f"{status} Moved", [f"Location: {elsewhere.url}/access/v1/evaluation"])
        with raw(lambda peer, question: peer.sendall(moved)) as server:
            bus.register(remote(server.url, token="t0ken", deadline=ENOUGH))
            reason, failure = reason_of(call)
    assert reason == f"the policy server answered with a redirect ({status}), which is not followed"
    assert failure == "refused" and elsewhere.connections == 0


def test_a_server_that_is_not_there_blocks(call, bus):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    bus.register(remote(f"http://127.0.0.1:{port}", deadline=ENOUGH))
    assert reason_of(call) == ("the policy server cannot be reached", "absent")


def nothing(send):
    time.sleep(0.05)


def headers(send):
    send(b"A: b\r\n")


def body(send):
    send(b" ")


def more_to_come(send):
    send(b"HTTP/1.1 100 Continue\r\n\r\n")


SLOW = {
    "silent": (b"", nothing), "a drip of headers": (b"HTTP/1.1 200 OK\r\n", headers),
    "a drip of bytes": (b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", body),
    "status 100 for ever": (b"", more_to_come),
}  # fmt: skip


@pytest.mark.parametrize("start, drip", SLOW.values(), ids=SLOW)
def test_a_late_answer_blocks_at_the_deadline_and_its_connection_is_closed(call, bus, start, drip):
    def reply(peer, question):
        peer.sendall(start)
        peer.settimeout(0.02)
        with suppress(OSError):
            while True:
                with suppress(TimeoutError):
                    if not peer.recv(1):
                        break
                drip(peer.sendall)
        ended.append(True)

    ended = []
    with raw(reply) as server:
        bus.register(remote(server.url, deadline=0.2))
        reason, failure = reason_of(call)
        until = time.monotonic() + 20
        while not ended and time.monotonic() < until:
            time.sleep(0.01)
        is_closed = bool(ended)
    assert reason == "the policy server did not answer within 0.2 seconds" and failure == "late"
    assert is_closed


def test_no_failure_is_remembered(call, bus):
    answers = [http(PERMIT, "503 Busy"), http(b"no"), http(PERMIT), http(PERMIT)]

    def reply(peer, question):
        peer.sendall(answers.pop(0))
        return True

    with raw(reply) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        for _ in range(2):
            reason_of(call)
        call("pay", to="bob")
        call("pay", to="ann")
    assert len(call.made) == 2 and len(server.questions) == 4


DENIALS = {
    "bare": (b'{"decision": false}', Block("not allowed by the policy")),
    "reason": (
        b'{"decision": false, "context": {"reason": "too much", "code": "limit"}}',
        Block("too much", code="limit"),
    ),
    "other words": (
        b'{"decision": false, "context": {"reason_user": {"en": "no"}, "reason": {"a": 1}}}',
        Block("not allowed by the policy"),
    ),
    "no context": (b'{"decision": false, "context": null}', Block("not allowed by the policy")),
    "half a character": (
        b'{"decision": false, "context": {"reason": "no \\ud800"}}', Block("no ?"),
    ),
    "a patch": (
        b'{"decision": false, "context": {"arguments": {"a": 1}, "code": "x"}}',
        Block("not allowed by the policy", code="x"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("answer, expected", DENIALS.values(), ids=DENIALS)
def test_a_denial_blocks_with_the_reason_and_code_of_the_server(call, bus, answer, expected):
    with answering(answer) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        with pytest.raises(HookBlocked) as error:
            call("pay", to="bob")
    verdict = error.value.verdict
    assert (verdict.reason, verdict.code) == (expected.reason, expected.code)
    assert verdict.details == {"server": server.url} and call.made == []
