"""guards.paths_within: paths in arguments stay inside folders. The tricks stand by their class."""

import os
from pathlib import Path

import pytest

from hookbus import HookBlocked, HookError, report
from hookbus.guards import paths_within

UPS = [
    "..", "../", "../..", "../x", "a/../..", "a/../../x", "./../x", "a/b/../../../x",
    "../own/../x", ".//..//x", "a/./../../x", "..//..//etc/passwd", "../" * 20 + "etc/passwd",
    "own2/../../x",
]  # fmt: skip
ABSOLUTE = [
    "/", "/etc/passwd", "/etc", "/proc/self/environ", "/dev/null", "/root/.ssh/id_rsa", "/tmp",
    "/proc/self/root/etc/passwd", "/proc/self/cwd/../..", "//etc/passwd", "///etc/passwd",
    "//server/share/x", "/./etc/passwd", "/../etc/passwd", "/etc/./passwd", "/var/../etc",
]  # fmt: skip
HOMES = ["~", "~/x", "~root", "~root/.ssh", "~+/x", "~-/x", "~/../x"]
VARIABLES = ["$HOME", "$HOME/x", "${HOME}/x", "a/$HOME", "$(pwd)/x", "a$b", "%HOME%", "%HOME%/x",
             "%SystemRoot%/x", "a/%TEMP%/x", "$env:HOME/x"]  # fmt: skip
BACKSLASHES = [
    "..\\x", "a\\..\\..\\x", "\\etc\\passwd", "\\\\server\\share", "\\\\?\\C:\\x",
    "\\\\.\\pipe\\x", "..\\/x", "a\\b", ".\\x", "a\\", "\\", "/\\x", "..\\..\\..\\etc\\passwd",
]  # fmt: skip
DRIVES = ["C:", "C:/x", "C:x", "c:/windows/win.ini", "Z:/x", "c:\\x", "C:../x"]
ADDRESSES = [
    "file:///etc/passwd", "file:/etc/passwd", "FILE:///etc/passwd", "http://x/y", "https://x",
    "ftp://x/y", "data:text/plain,x", "jar:file:/x!/y", "smb://x/y", "php://filter/x", "zip:x",
    "gopher://x", "dict://x", "view-source:file:///etc", "s3://bucket/key", "a+b://x",
]  # fmt: skip
CODES = [
    "%2e%2e/x", "%2e%2e%2fx", "..%2fx", "%2E%2E/x", "..%5cx", "%252e%252e%252fx", "..%c0%afx",
    "..%c1%9cx", "%c0%ae%c0%ae/x", "..%u2215x", "%u002e%u002e/x", "a%00", "a%00.txt", "..%00/x",
    "%2fetc%2fpasswd", "%252fetc", "a%0a", "..%e0%80%afx", "..%25c0%25afx", "%7e/x", "a%20b",
]  # fmt: skip
LOOK_ALIKES = [
    *(f"..{slash}x" for slash in "／∕⁄⧸╱∖⧵⧹╲＼﹨"),
    "．．/x", "․․/x", "‥/x", "．./x", ".․/x", "…/x", "﹒﹒/x", "／etc／passwd", "～/x", "＄HOME",
    "a／..／..／x", "C：/x", "％2e％2e/x", "﹩HOME", "file：///etc", "︰x", "⁄etc",
    "a∕b", "．．／x",
]  # fmt: skip
CONTROLS = [
    *(f"a{char}b" for char in "\0\n\r\t\x0b\x0c\x1b\x7f\x85\u2028\u2029\u200b\u200c\u200d\u2060"),
    *(f"a{char}b" for char in "\u202e\u202d\u2066\ufeff\u00ad\u061c\ud800\udfff\x01\x08"),
    *("../x\0.txt", "x.txt\0", "\0", "\n/etc/passwd", "a\r\nb", "\ufeff/etc/passwd"),
]
BLANKS = [
    "", " ", "  ", " /etc/passwd", "/etc/passwd ", "a ", " a", "a\n", "\ta", "\u00a0a", "a\u3000",
    " ../x", "~ ", "\u2003../x",
]  # fmt: skip
LONG = ["a" * 5000, "a/" * 3000, "../" * 2000, "a" * 300, "deep/" + "b" * 300]
LINKS = [
    "out", "out/x", "out/passwd", "up", "up/x", "chain", "chain/passwd", "loop", "loop/x", "knot",
    "knot/x", "dangling", "here/../../x", "here/out/x", "here/../out", "deep/up3/x", "deep/../out",
    "link/../../x", "file.txt/../../x", "proc/root/etc/passwd", "proc/cwd/../..", "self/out",
]  # fmt: skip
KINDS = [
    7, 0, 3.5, True, False, object(), 2 + 1j, b"/etc/passwd", b"../x", Path("/etc"), Path("../x"),
    b"a\0b", Path("~/x"), b"\xff\xfe\\x", range(3),
]  # fmt: skip
TRICKS = (*UPS, *ABSOLUTE, *HOMES, *VARIABLES, *BACKSLASHES, *DRIVES, *ADDRESSES, *CODES,
          *LOOK_ALIKES, *CONTROLS, *BLANKS, *LONG, *LINKS, *KINDS)  # fmt: skip
FINE = [
    ".", "./", "a", "a/b", "a/./b", "a/../b", "file.txt", "./file.txt", "deep", "deep/er/x",
    "here", "here/file.txt", "self/file.txt", "link", "link/x", "deep/../file.txt", "new/file.txt",
    "a b.txt", "ä.txt", "日本.txt", "a-b_c.d", "a.b.c", "...", "..a", "a..b", ".hidden", "10%.txt",
    "50% off.txt", "x~", "a,b;c", "a=b", "a+b", "a@b", "(1).txt", "[1].txt", "{a}", "#1", "!",
    "a&b", "a'b", 'a"b', "e\u0301.txt", "12.30", "a*b", "a?b", Path("file.txt"), b"file.txt",
]  # fmt: skip


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with links of all kinds, which is the working directory."""
    own = tmp_path / "own"
    (own / "deep" / "er").mkdir(parents=True)
    (tmp_path / "own2").mkdir()
    (own / "file.txt").write_text("x")
    links = {"out": "/etc", "up": "..", "chain": "out", "loop": "loop", "knot": "knot2",
             "knot2": "knot", "dangling": "/nowhere/at/all", "here": ".", "link": "deep",
             "deep/up3": "../..", "proc": "/proc/self", "self": "../own"}  # fmt: skip
    for name, target in links.items():
        (own / name).symlink_to(target)
    monkeypatch.chdir(own)
    return own


def test_none_of_the_tricks_gets_out(call, bus, own):
    assert len(TRICKS) >= 200
    bus.register(paths_within(own))
    for trick in TRICKS:
        with pytest.raises(HookBlocked) as error:
            call("read", path=trick)
        assert error.value.verdict.code == "path", trick
    assert call.made == []


def test_what_is_inside_goes_through(call, bus, own):
    assert len(FINE) >= 30
    bus.register(paths_within(own))
    for path in (*FINE, *(os.path.join(own, each) for each in FINE if isinstance(each, str)), own):
        call("read", path=path)
    assert len(call.made) == len(FINE) * 2 - 1


@pytest.mark.parametrize(
    "arguments",
    [{"path": "/etc"}, {"PATH": "/etc"}, {"file_name": "/etc"}, {"outDir": "/etc"}, {"src": "/etc"},
     {"deep": [{"target_path": "/etc"}]}, {"paths": ["a", "/etc"]}, {"files": {"one": "/etc"}},
     {"a": {"b": {"cwd": "/etc"}}}, {"paths": ("a", {"x": "/etc"})}, {"files": {"/etc"}}],
    ids=repr,
)  # fmt: skip
def test_names_are_found_at_any_depth_and_what_stands_under_them(call, bus, own, arguments):
    bus.register(paths_within(own))
    with pytest.raises(HookBlocked):
        call.given("read", arguments)


def test_other_arguments_and_none_are_nobodys_path(call, bus, own):
    bus.register(paths_within(own))
    call("read", path=None, text="/etc/passwd", number=7)
    unregister = bus.register(paths_within(own, arguments="text"))
    with pytest.raises(HookBlocked, match="text is outside the allowed folders"):
        call("read", text="/etc/passwd")
    unregister()


def test_report_names_the_arguments_that_look_like_a_path_and_are_not_judged(call, bus, own):
    bus.register(paths_within(own, arguments="path"))
    call("read", path="file.txt", text="what /etc says", target="/etc/passwd", n=7, script="a/b.py")
    call("read", files=["one"], deep=[{"cwd": "here"}], target="~/x", note="either/or")
    said = "is not checked but looks as if it should be: name it in arguments="
    found = [each.rpartition(": the argument ")[2] for each in report(bus).findings if said in each]
    assert [each.split()[0] for each in found] == ["'target'", "'script'", "'files'", "'cwd'"]


def test_each_of_several_folders_counts_and_a_name_that_begins_alike_does_not(call, bus, own):
    bus.register(paths_within(own / "deep", own.parent / "own2"))
    call("read", path="deep/er")
    call("read", path=str(own.parent / "own2" / "x"))
    for outside in ("file.txt", "deeper", str(own.parent / "own22"), str(own.parent)):
        with pytest.raises(HookBlocked):
            call("read", path=outside)


def test_arguments_that_cannot_be_looked_through_are_blocked(call, bus, own):
    bus.register(paths_within(own))
    deep = {"path": "a"}
    for _ in range(100):
        deep = {"x": deep}
    for odd in (deep, {1: "/etc"}, "text", None):
        with pytest.raises(HookBlocked):
            call.given("read", odd)


def test_a_folder_that_is_none_is_refused(own):
    for wrong in ((), ("nowhere",), ("file.txt",), (None,), (3,), ("",)):
        with pytest.raises(HookError, match="paths_within"):
            paths_within(*wrong)
    for wrong in ((), "", [3], 7, {"a": 1}):
        with pytest.raises(HookError, match="arguments="):
            paths_within(own, arguments=wrong)


@pytest.mark.parametrize("bad", ['["/etc/passwd"]', '"/etc"', '{"path": "/etc"}', "[" * 4_000],
                         ids=lambda bad: bad[:20])  # fmt: skip
def test_a_path_that_a_tool_may_read_as_JSON_is_outside(call, bus, tmp_path, monkeypatch, bad):
    monkeypatch.chdir(tmp_path)
    bus.register(paths_within(tmp_path))
    call("read", path="[id].tsx")
    if bad[1] == "[":
        return
    with pytest.raises(HookBlocked, match="is JSON"):
        call("read", path=bad)


def test_a_path_below_a_link_is_where_the_link_leads(call, bus, tmp_path, monkeypatch):
    (tmp_path / "in" / "a").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    for link, leads in (("l", "../out"), ("a/b", "l5"), ("a/up", ".."), ("self", "self")):
        (tmp_path / "in" / link).symlink_to(leads)
    bus.register(paths_within(tmp_path / "in"))
    deep = "/".join(["a", "up"] * 30)
    for good in ("new/x", "a/b/x", "a/up/a/new", "a/../x", deep, f"{deep}/new"):
        call("read", path=["a/new", good])
    for bad in ("l/x", "a/up/l/new/x", "a/../l/x", f"{deep}/l/x", "self/x", "l/../x"):
        with pytest.raises(HookBlocked):
            call("read", path=["a/new", bad])
