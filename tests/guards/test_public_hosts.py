"""guards.public_hosts: addresses in arguments lead to public hosts.

The tricks stand by their class. No name is looked up in earnest: the resolver here knows a few.
"""

import asyncio
import socket
import threading

import pytest

from hookbus import Block, HookBlocked, HookError, hookable, report
from hookbus.approvals import Approved, Denied
from hookbus.guards import fallback, public_hosts, tool_policy

KNOWN = {
    "example.com": ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"],
    "api.example.com": ["8.8.8.8"], "xn--mnchen-3ya.de": ["1.1.1.1"],
    "a_b.example.com": ["8.8.4.4"], "localhost": ["127.0.0.1", "::1"], "evil.test": ["10.0.0.1"],
    "half.test": ["8.8.8.8", "10.0.0.1"], "meta.test": ["169.254.169.254"],
    "mapped.test": ["::ffff:8.8.8.8"], "none.test": [], "link.test": ["fe80::1%eth0"],
    "metadata.google.internal": ["169.254.169.254"], "127.0.0.1.nip.io": ["127.0.0.1"],
    "intranet": ["192.168.1.1"], "azure.test": ["168.63.129.16"],
}  # fmt: skip

PRIVATE = [
    "127.0.0.1", "127.1.2.3", "127.255.255.255", "10.0.0.1", "10.255.255.255", "172.16.0.1",
    "172.31.255.255", "192.168.0.1", "192.168.255.255", "169.254.169.254", "169.254.170.2",
    "100.64.0.1", "100.100.100.200", "100.127.255.255", "0.0.0.0", "0.1.2.3", "192.0.0.192",
    "192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.88.99.1", "168.63.129.16",
]  # fmt: skip
PRIVATE_6 = [
    "::1", "::", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:7f00:1", "::127.0.0.1", "fe80::1",
    "fec0::1", "fc00::1", "fd00:ec2::254", "fdff::1", "ff02::1", "64:ff9b::7f00:1",
    "64:ff9b::8.8.8.8", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001:db8::1", "2001::1",
    "2001:10::1", "3fff::1", "5f00::1", "100::1", "0:0:0:0:0:0:0:1", "4000::1",
    "::ffff:0:127.0.0.1", "2001:0:7f00:1::",
]  # fmt: skip
NUMBERS = [
    "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.1", "127.0.1", "017700000001",
    "0x7f.1", "1.1", "0", "0.0", "00.0.0.0", "127.0.0.01", "0x0a.0.0.1", "10.1", "3232235777",
    "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518", "0xA9.0xFE.0xA9.0xFE",
    "425.510.425.510", "1.2.3.4.5", "256.1.1.1", "1e100.0x", "8.8.8.8.", "127.0.0.1.",
    "0x7f000001.", "4294967297", "0x17f000001", "127.0.0.1.5", "08.8.8.8", "8.8.2056",
]  # fmt: skip
USERS = [
    "example.com@127.0.0.1", "a:b@127.0.0.1", "example.com:80@10.0.0.1", "127.0.0.1@example.com",
    "example.com%40@127.0.0.1", "@127.0.0.1", "a@b@127.0.0.1", ":@127.0.0.1", "a:@example.com",
    "example.com#@127.0.0.1/",
]  # fmt: skip
PARSERS = [
    "example.com\\@127.0.0.1", "127.0.0.1\\@example.com", "example.com\\.evil.test",
    "example.com\t", "exam\tple.com", "exa\nmple.com", " example.com", "example.com ",
    "example.com/ x", "example.com\r", "example.com\0", "exam ple.com", "127.0.0.1\t", "[::1",
    "::1]", "[127.0.0.1]", "[example.com]", "[::1%25eth0]", "[fe80::1%eth0]", "[::]", "[v1.x]",
    "[]", "example.com:", "example.com:x", "example.com:999999", "example.com:-1",
    "example.com:80:80", ":80", "?x", "#x", "example..com", ".example.com", "-example.com",
    "example-.com", "example.com..", "..", ".", "*", "*.example.com", "exa%6dple.com",
    "127%2e0%2e0%2e1", "example.com%00.evil.test", "example.com%0d%0aHost:x", "a" * 64 + ".com",
    "a." * 200 + "com", "example.com|127.0.0.1", "example.com,127.0.0.1", "example.com;127.0.0.1",
    "{example.com}", "<example.com>", "example.com\x7f",
]  # fmt: skip
UNICODE = [
    "ⓔxample.com", "example。com", "127。0。0。1", "①②⑦.⓪.⓪.①", "１２７.0.0.1", "ｌocalhost",
    "münchen.de", "exаmple.com", "example.com\u200b", "\u202eexample.com", "example\u00ad.com",
    "ℋost", "K.com",
    "localhoﬆ", "127.0.0.1\u3002",
]  # fmt: skip
NAMES = [
    "localhost", "LOCALHOST", "localhost.", "evil.test", "half.test", "meta.test", "mapped.test",
    "none.test", "link.test", "metadata.google.internal", "127.0.0.1.nip.io", "intranet",
    "unknown.test", "azure.test", "Evil.Test", "evil.test.", "foo.localhost",
]  # fmt: skip
SCHEMES = [
    "file:///etc/passwd", "ftp://example.com", "gopher://example.com", "javascript:alert(1)",
    "data:text/html,x", "jar:http://example.com!/", "dict://example.com", "ldap://example.com",
    "ws://example.com", "//example.com", "///example.com", "http:example.com", "http:/example.com",
    "http:///example.com", "https:\\\\example.com", "http://", "https://", "http:",
    "://example.com", "http//example.com", "hhttp://example.com", "http ://example.com",
    " http://example.com", "http://http://127.0.0.1", "view-source:http://example.com",
    "unix:///var/run/docker.sock", "s3://example.com/x", "http+unix://x", "", "/", "/etc/passwd",
    "blob:http://example.com",
]  # fmt: skip
KINDS = [7, 2130706433, 0, True, 3.5, object(), b"http://127.0.0.1", b"\xff", 1j]
HOSTS = (*PRIVATE, *NUMBERS, *USERS, *PARSERS, *UNICODE, *NAMES)
TRICKS = (*HOSTS, *(f"http://{host}/x" for host in HOSTS if host != "8.8.8.8."),
          *(f"http://[{each}]/" for each in PRIVATE_6), *PRIVATE_6, *SCHEMES, *KINDS)  # fmt: skip
FINE = [
    "example.com", "EXAMPLE.com", "example.com.", "example.com:443", "8.8.8.8", "1.1.1.1:53",
    "http://example.com", "https://example.com", "HTTPS://example.com/",
    "https://example.com:8443/a", "https://example.com/a/b?c=d&e=f#g", "https://example.com?x",
    "https://example.com#x", "https://example.com/a@b", "https://example.com/?q=http://127.0.0.1",
    "https://example.com/%20x", "http://8.8.8.8", "http://8.8.8.8:80/x",
    "https://[2606:4700::1111]", "https://[2606:4700::1111]:443/x", "http://xn--mnchen-3ya.de/",
    "https://api.example.com/v1", "https://example.com/ä?ö=ü", "https://example.com/a:b",
    "https://example.com/~x", "https://example.com/$x", "https://example.com//a",
    "https://example.com/../a", "https://example.com/a(b)", "https://example.com/[x]",
    "http://11.0.0.1", "http://172.15.0.1", "http://172.32.0.1", "http://192.167.1.1",
    "http://a_b.example.com",
]  # fmt: skip


@pytest.fixture(autouse=True)
def resolver(monkeypatch):
    def getaddrinfo(host, port, **options):
        if host.rstrip(".") not in KNOWN:
            raise socket.gaierror(8, "unknown name")
        return [(0, 0, 0, "", (address, port)) for address in KNOWN[host.rstrip(".")]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def test_none_of_the_tricks_reaches_a_host_that_is_not_public():
    guard = public_hosts()
    assert len(TRICKS) >= 200
    passed = []
    for trick in TRICKS:
        try:
            guard.check(trick)
            passed.append(trick)
        except HookError:
            continue
    assert passed == ["8.8.8.8."]  # with its dot it is the same address


def test_public_hosts_go_through(call, bus):
    bus.register(public_hosts())
    assert len(FINE) >= 30
    for url in FINE:
        call("fetch", url=url)
    assert len(call.made) == len(FINE)


@pytest.mark.parametrize(
    "arguments",
    [{"url": "http://10.0.0.1"}, {"URL": "http://10.0.0.1"}, {"webhook_url": "http://10.0.0.1"},
     {"host": "10.0.0.1"}, {"hostname": "localhost:80"}, {"urls": ["http://example.com", "http://[::1]"]},
     {"a": {"endpoint": {"prod": "http://evil.test"}}}, {"uri": b"http://127.0.0.1"}],
    ids=repr,
)  # fmt: skip
def test_names_are_found_at_any_depth_and_what_stands_under_them(call, bus, arguments):
    bus.register(public_hosts())
    with pytest.raises(HookBlocked) as error:
        call.given("fetch", arguments)
    assert error.value.verdict.code == "host" and "10.0.0.1" not in error.value.reason
    assert call.made == []


def test_report_names_the_arguments_that_look_like_an_address_and_are_not_judged(call, bus):
    bus.register(public_hosts(arguments="url"))
    call("get", page="HTTPS://evil.test/x", server="10.0.0.1:80", text="see http://a.test", n=7)
    found = [each for each in report(bus).findings if "is not checked" in each]
    assert [each.split("argument ")[1].split()[0] for each in found] == ["'page'", "'server'"]


def test_what_the_operator_allows_is_reached(call, bus):
    bus.register(public_hosts(allow=["localhost", "10.0.0.1", "::1"]))
    for url in ("http://localhost:8080/x", "http://LOCALHOST", "http://10.0.0.1", "http://[::1]/",
                "http://evil.test"):  # fmt: skip
        call("fetch", url=url)
    for url in ("http://10.0.0.2", "http://127.0.0.1", "http://localhost.evil.test", "http://intranet"):
        with pytest.raises(HookBlocked):
            call("fetch", url=url)


def test_a_name_server_that_does_not_answer_is_a_no(call, bus, monkeypatch):
    monkeypatch.setattr("hookbus.guards._hosts.LOOKUP_SECONDS", 0.05)
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: released.wait(20))
    bus.register(public_hosts())
    with pytest.raises(HookBlocked):
        call("fetch", url="http://example.com")
    released.set()
    assert call.made == []


@pytest.mark.parametrize("wrong", [["*.example.com"], [""], [3], ["10.0.0.0/8"], 7])
def test_what_is_no_exact_name_cannot_be_allowed(wrong):
    with pytest.raises(HookError, match="allow="):
        public_hosts(allow=wrong)


@pytest.fixture
def looked_up(monkeypatch):
    found, answer = [], socket.getaddrinfo

    def getaddrinfo(host, *arguments, **options):
        found.append(host)
        return answer(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return found


@pytest.mark.parametrize("is_first", [True, False])
def test_no_name_is_looked_up_before_all_other_guards_have_agreed(call, bus, looked_up, is_first):
    if is_first:
        bus.register(public_hosts())
    bus.signal("pre_tool_call").connect(lambda sender: Block("no"), role="guard", priority=-1e9)
    if not is_first:
        bus.register(public_hosts())
    with pytest.raises(HookBlocked, match="no"):
        call("fetch", url="https://secret-data.example.com")
    assert looked_up == []


@pytest.mark.parametrize("answer", [None, Denied("ada", "no"), Approved("ada")], ids=repr)
def test_nor_before_a_person_has_approved(call, bus, looked_up, answer):
    bus.register(public_hosts())
    bus.register(tool_policy(ask="fetch"))
    if answer is not None:
        bus.approver(lambda request: answer)
    if isinstance(answer, Approved):
        call("fetch", url="https://example.com")
        assert looked_up == ["example.com"] and len(call.made) == 1
    else:
        with pytest.raises(HookBlocked):
            call("fetch", url="https://example.com")
        assert looked_up == []


def test_a_name_that_an_around_puts_in_is_looked_up_too(call, bus, looked_up):
    bus.register(public_hosts())
    bus.register(fallback({"arguments": {"url": "https://evil.test"}}))
    call.result = ValueError("down")
    with pytest.raises(HookBlocked, match="does not lead to a public host"):
        call("fetch", url="https://example.com")
    assert looked_up[-1] == "evil.test" and len(call.made) == 1
    bus.signal("around_tool_call").connect(
        lambda sender, call_next: call_next(arguments={"url": "https://intranet"}), priority=-1e9
    )
    with pytest.raises(HookBlocked, match="does not lead to a public host"):
        call("fetch", url="https://example.com")
    assert len(call.made) == 1


def test_the_loop_goes_on_while_a_name_is_looked_up(bus, monkeypatch):
    released = threading.Event()

    def getaddrinfo(host, port, **options):
        released.wait(5)
        return [(0, 0, 0, "", ("8.8.8.8", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    bus.register(public_hosts())

    @hookable("tool_call", bus=bus)
    async def fetch(name, arguments):
        return "fetched"

    async def main():
        task = asyncio.ensure_future(fetch("fetch", {"url": "https://example.com"}))
        await asyncio.sleep(0.01)
        assert not task.done()
        released.set()
        return await task

    assert asyncio.run(asyncio.wait_for(main(), 10)) == "fetched"


@pytest.mark.parametrize("url", ["https://example.com", "https://evil.test"])
def test_streams_are_judged_before_their_first_item(bus, looked_up, url):
    bus.register(public_hosts(hook=["stream", "stream_async"]))

    @hookable(bus=bus)
    def stream(url):
        yield from "ab"

    @hookable(bus=bus)
    async def stream_async(url):
        for each in "ab":
            yield each

    async def read():
        return [each async for each in stream_async(url)]

    for made in (lambda: list(stream(url)), lambda: asyncio.run(read())):
        if "evil" in url:
            with pytest.raises(HookBlocked):
                made()
        else:
            assert made() == ["a", "b"]
    assert len(looked_up) == 2
