"""guards.remote: a policy server decides, and is told exactly what would run."""

import datetime
import ipaddress
import ssl
import sys
import traceback

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hookbus import HookBlocked, HookError, baggage, hookable, report
from hookbus.events import Blocked, Failed, Invoked, Started
from hookbus.guards import remote

from .policy_servers import PERMIT, answering, http, raw

ENOUGH = 30.0


def test_a_question_is_in_the_form_of_authzen(call, bus):
    with answering(PERMIT) as server:
        bus.register(remote(f"{server.url}/pdp/", token="t0ken", deadline=ENOUGH))
        with baggage(user="ada", session="s-1"):
            call("pay", to="bob", amount=1.5, notes=["ü", None, True], more={"a": (1, 2)})
    assert server.questions == [{
        "subject": {
            "type": "agent", "id": "ada",
            "properties": {"baggage": {"user": "ada", "session": "s-1"}},
        },
        "action": {
            "name": "tool_call",
            "properties": {"arguments": {
                "name": "pay",
                "arguments": {
                    "to": "bob", "amount": 1.5, "notes": ["ü", None, True], "more": {"a": [1, 2]},
                },
            }},
        },
        "resource": {"type": "tool", "id": "pay"},
        "context": {"hookbus": 1, "phase": "pre", "deadline": ENOUGH, "patches": False},
    }]  # fmt: skip
    [headers] = server.headers
    assert headers[""] == "POST /pdp/access/v1/evaluation HTTP/1.1"
    assert headers["authorization"] == "Bearer t0ken"
    assert headers["content-type"] == headers["accept"] == "application/json"
    assert call.made[0][1]["more"] == {"a": (1, 2)}


def test_the_subject_is_the_user_or_the_session_or_anonymous(call, bus):
    with answering(PERMIT) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        with baggage(session=7):
            call("read")
        call("read")
    assert [each["subject"]["id"] for each in server.questions] == ["7", "anonymous"]


def test_a_method_is_a_hook_and_its_sender_is_not_sent(bus):
    class Bank:
        @hookable(bus=bus)
        def pay(self, to, kind, *rest, **more):
            return "paid"

    with answering(PERMIT) as server:
        bus.register(remote(server.url, deadline=ENOUGH, hook="p*"))
        bank = Bank()
        assert bank.pay("bob", "fast", 1, x=2) == "paid"
        with pytest.raises(HookBlocked, match="an object of class Bank"):
            bank.pay(bank, "fast")
    [question] = server.questions
    assert question["resource"] == {"type": "hook", "id": "pay"}
    arguments = {"to": "bob", "kind": "fast", "rest": [1], "more": {"x": 2}}
    assert question["action"] == {"name": "pay", "properties": {"arguments": arguments}}


def test_only_the_named_tools_are_asked_about(call, bus):
    bus.register(remote("http://127.0.0.1:9", deadline=ENOUGH, only=("pay_*", "send")))
    call("read")
    call("send_all")
    for name in ("pay_ann", "send"):
        with pytest.raises(HookBlocked, match="cannot be reached"):
            call(name)
    with pytest.raises(HookBlocked, match="the name of the tool is not a string"):
        call.given(7, {})
    assert [name for name, _ in call.made] == ["read", "send_all"]


SHARED = ["x"]
for _ in range(60):
    SHARED = [SHARED, SHARED]
CIRCLE = []
CIRCLE.append(CIRCLE)
UNSENT = {
    "NaN": (float("nan"), "NaN or infinity"), "infinity": (-float("inf"), "NaN or infinity"),
    "a large integer": (2**53, "beyond 2\\*\\*53"), "a set": ({1}, "an object of class set"),
    "bytes": (b"a", "an object of class bytes"), "a key": ({1: 2}, "a key in the arguments"),
    "a surrogate": ("\ud800", "lone surrogate"), "a surrogate key": ({"\ud800": 1}, "surrogate"),
    "a date": (datetime.date(2026, 1, 1), "an object of class date"),
    "shared parts": (SHARED, "nested more than|longer than max_bytes"),
    "itself": (CIRCLE, "nested more than"), "long": ("x" * 9_000, "longer than max_bytes=8000"),
    "long in bytes": ("ü" * 4_000, "longer than max_bytes=8000"),
    "many": ([0] * 9_000, "longer than max_bytes=8000"),
}  # fmt: skip


@pytest.mark.parametrize("value, words", UNSENT.values(), ids=UNSENT)
def test_what_has_no_exact_json_or_is_too_long_is_not_sent(call, bus, value, words):
    with answering(PERMIT) as server:
        bus.register(remote(server.url, deadline=ENOUGH, max_bytes=8_000))
        with pytest.raises(HookBlocked, match=f"cannot be sent to the policy server: .*({words})"):
            call("pay", secret=value)
        with baggage(other=value), pytest.raises(HookBlocked, match="cannot be sent"):
            call("pay")
    assert server.connections == 0 and call.made == []


def test_a_subclass_of_dict_cannot_show_the_server_other_arguments(call, bus):
    class Liar(dict):
        def items(self):
            return {"to": "ann"}.items()

    with answering(PERMIT) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        call("pay", inner=Liar(to="eve"))
    [question] = server.questions
    sent = question["action"]["properties"]["arguments"]["arguments"]
    assert sent == {"inner": {"to": "eve"}}


def test_the_server_gets_what_redactors_remove_from_events(call, bus):
    bus.redact(names="pin")
    with answering(PERMIT) as server:
        bus.register(remote(server.url, deadline=ENOUGH))
        call("pay", pin="4711")
    [question] = server.questions
    assert question["action"]["properties"]["arguments"]["arguments"] == {"pin": "4711"}


def certificate(folder):
    """Write a key and a certificate for 127.0.0.1, and return their paths."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "policy")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(
            [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    paths = folder / "key.pem", folder / "certificate.pem"
    pem = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    paths[0].write_bytes(key.private_bytes(pem, *plain))
    paths[1].write_bytes(made.public_bytes(pem))
    return paths


def test_over_tls_the_certificate_is_checked(call, bus, tmp_path):
    key, known = certificate(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(known, key)
    with answering(PERMIT, tls) as server:
        off = bus.register(remote(server.url, deadline=ENOUGH, ca=known))
        call("pay")
        call("pay")
        assert server.connections == 1
        off()
        bus.register(remote(server.url, deadline=ENOUGH))
        with pytest.raises(HookBlocked, match="certificate of the policy server cannot be veri"):
            call("pay")
    assert len(call.made) == 2 and len(server.questions) == 2


def test_the_token_and_the_path_are_in_no_event_error_log_or_repr(call, bus, caplog):
    caplog.set_level(0)
    events = []
    bus.events.connect(
        lambda bus, event: events.append(repr(event) + repr(event.as_dict())),
        kinds=(Blocked, Failed, Invoked, Started), weak=False,
    )  # fmt: skip
    shown = []
    for answer in (b"junk", http(PERMIT, "500 t0ken"), http(b"{"), http(b'{"decision": false}')):
        with raw(lambda peer, question, answer=answer: peer.sendall(answer)) as server:
            guard = remote(f"{server.url}/s3cret", token="t0ken", deadline=ENOUGH)
            off = bus.register(guard)
            with pytest.raises(HookBlocked) as error:
                call("pay")
            shown += [repr(guard), str(report(bus)), *traceback.format_exception(error.value)]
            off()
    everything = "".join([*shown, *events, *(each.getMessage() for each in caplog.records)])
    assert "t0ken" not in everything and "s3cret" not in everything and len(events) >= 4


URL = "https://policy.example"
WRONG = {
    "no address": ({"url": "policy.example"}, "needs the address of a policy server"),
    "no text": ({"url": 7}, "needs the address of a policy server"),
    "another scheme": ({"url": "ftp://policy.example"}, "needs the address of a policy server"),
    "a user": ({"url": "https://ada:hunter2@policy.example"}, "no user or password"),
    "a query": ({"url": f"{URL}/?key=hunter2"}, "without anything after"),
    "a fragment": ({"url": f"{URL}/#hunter2"}, "without anything after"),
    "spaces": ({"url": f"{URL}/hunter2 x"}, "ASCII address"),
    "no token": ({"token": ""}, "token="), "two lines": ({"token": "hunter2\r\nx: y"}, "token="),
    "bytes": ({"token": b"hunter2"}, "token="), "no deadline": ({"deadline": None}, "deadline="),
    "zero": ({"deadline": 0}, "deadline="), "a word": ({"deadline": "1"}, "deadline="),
    "NaN": ({"deadline": float("nan")}, "deadline="),
    "no bytes": ({"max_bytes": 0}, "max_bytes="), "half": ({"max_bytes": 1.5}, "max_bytes="),
    "no bool": ({"patches": 1}, "patches="), "only": ({"only": 7}, "only="),
    "an empty glob": ({"only": [""]}, "only="), "no file": ({"ca": "nowhere.pem"}, "ca="),
    "no path": ({"ca": 7}, "ca="), "no TLS": ({"url": "http://a", "ca": "x"}, "needs an https"),
    "a hook": ({"hook": ""}, "hook="), "unknown": ({"dedline": 1}, "did you mean 'deadline'"),
}  # fmt: skip


@pytest.mark.parametrize("settings, words", WRONG.values(), ids=WRONG)
def test_a_wrong_setting_is_refused_in_one_line_without_secrets(settings, words):
    with pytest.raises(HookError) as error:
        remote(**{"url": URL, **settings})
    message = str(error.value)
    assert words in message and "hunter2" not in message and "\n" not in message


def test_a_file_without_certificates_is_refused(tmp_path):
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(HookError, match="ca=.* is not a readable file of certificates"):
        remote(URL, ca=tmp_path / "ca.pem")


def test_without_urllib3_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "urllib3", None)
    with pytest.raises(HookError, match=r"needs the package urllib3; run: .*hookbus\[remote\]"):
        remote(URL)
