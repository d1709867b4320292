"""hookbus on a system that has nothing of Unix: each feature works, or says what is missing."""

import ctypes
import json
import os
import socket
import subprocess
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import SimpleNamespace

import pytest

from hookbus import Bus, hookable
from hookbus._external import platform as _platform
from hookbus._external.sqlite import uri_of
from hookbus.journal import Journal

ROOT = Path(__file__).parent.parent
FEATURES = [
    "every_module_is_imported", "a_deadline_of_a_plain_guard", "a_deadline_of_an_async_guard",
    "async_receivers_of_a_plain_call", "observers_in_the_background", "ready_guards", "plugins",
    "a_journal", "approvals_in_a_store", "approvals_at_the_terminal", "approvals_told_to_a_webhook",
    "exporters_to_files", "the_page", "the_command_line",
    "attach_says_what_is_missing_and_what_works",
]  # fmt: skip


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    for package in ("rich", "starlette", "limits"):
        pytest.importorskip(package)
    ran = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "tests.on_a_bare_system",
         str(tmp_path_factory.mktemp("bare"))],
        cwd=ROOT, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="it is one")
@pytest.mark.parametrize("feature", FEATURES)
def test_without_what_only_unix_has(outcomes, feature):
    assert outcomes[feature] == "works"


@pytest.mark.skipif(sys.platform == "win32", reason="it is one")
def test_every_feature_that_was_tried_is_in_the_list(outcomes):
    assert list(outcomes) == FEATURES


@pytest.fixture
def windows(monkeypatch):
    """Have Windows answer: the handle of a process, its exit code, and why there is no handle."""
    answers = {"handle": 7, "code": 259, "error": 0, "closed": []}

    def exit_code(handle, place):
        place._obj.value = answers["code"]
        return 1

    kernel = SimpleNamespace(
        OpenProcess=lambda access, inherit, pid: answers["handle"], GetExitCodeProcess=exit_code,
        CloseHandle=lambda handle: answers["closed"].append(handle.value),
    )  # fmt: skip
    library = lambda name, use_last_error: kernel  # noqa: E731
    monkeypatch.setattr(ctypes, "WinDLL", library, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: answers["error"], raising=False)
    monkeypatch.setattr(os, "kill", lambda *given: pytest.fail("it would get Ctrl-C"))
    monkeypatch.setattr(_platform, "IS_WINDOWS", True)
    return answers


@pytest.mark.parametrize("answer, is_running", [
    ({"code": 259}, True), ({"code": 0}, False), ({"code": 1}, False),
    ({"handle": None, "error": 87}, False), ({"handle": None, "error": 6}, True),
])  # fmt: skip
def test_a_process_of_windows_is_looked_at_without_a_signal(windows, answer, is_running):
    windows.update(answer)
    assert _platform.is_process_running(4711) is is_running
    assert windows["closed"] == ([7] if windows["handle"] else [])


def test_a_process_of_another_user_of_windows_is_refused(windows):
    windows.update(handle=None, error=5)
    with pytest.raises(PermissionError, match="belongs to another user"):
        _platform.is_process_running(4711)


@pytest.mark.parametrize("path, address", [
    (PureWindowsPath("C:\\my files\\a#1.db"), "file:C%3A%5Cmy%20files%5Ca%231.db?mode=ro"),
    (PureWindowsPath("\\\\server\\share\\ä.db"), "file:%5C%5Cserver%5Cshare%5C%C3%A4.db?mode=ro"),
    (PurePosixPath("//tmp/a?b.db"), "file:%2F%2Ftmp%2Fa%3Fb.db?mode=ro"),
])  # fmt: skip
def test_sqlite_is_given_a_path_that_names_no_host_and_no_option(path, address):
    assert uri_of(path, "mode=ro") == address


def test_a_journal_whose_path_begins_with_two_slashes_is_written_and_read(tmp_path):
    path = f"/{tmp_path / 'a b%41?#.db'}"
    bus = Bus()
    with Journal(path) as journal:
        journal.attach(bus)
        hookable("reply", bus=bus)(lambda msg: msg)("hi")
    assert len(list(Journal.reading(path).records(type="finished"))) == 1
    assert [each.name for each in tmp_path.glob("*.db")] == ["a b%41?#.db"]


def test_the_page_takes_a_port_alone_on_windows(monkeypatch):
    taken = []
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)
    monkeypatch.setattr(
        socket.socket, "setsockopt", lambda self, *given: taken.append(given)
    )  # fmt: skip
    serving = pytest.importorskip("hookbus.page._serving")
    serving.listening_on("127.0.0.1", 0).close()
    assert taken == [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
