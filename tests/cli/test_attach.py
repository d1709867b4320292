"""`hookbus attach`: a program that runs is asked, and its receivers are switched."""

import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time

import pytest

from hookbus import Block, HookBlocked, HookError, default_bus, hookable, signal
from hookbus._program import door
from hookbus._program.door import Door, socket_of
from hookbus.journal import Journal
from tests.cli.conftest import environment


@pytest.fixture
def program(folder):
    """A program that listens, as `hookbus run` makes one: this process."""
    door = Door(default_bus)
    yield str(os.getpid())
    door.close()
    assert not socket_of(os.getpid()).exists()


@pytest.fixture
def pay(folder):
    @hookable
    def pay(amount):
        return amount

    return pay


def small(pay, amount):
    return Block("too much") if amount > 100 else None


def test_a_program_says_who_listens_and_what_is_wrong(program, hookbus, pay):
    signal("pre_pay").connect(small, role="guard", locked=True)
    signal("pre_pya").connect(small, role="guard")
    code, out, err = hookbus("attach", program, "report")
    assert (code, err) == (0, "")
    assert "small" in out and "nothing emits pre_pya" in out
    report = json.loads(hookbus("attach", program, "report", "--json")[1])["report"]
    assert "pay" in [row["hook"] for row in report["hooks"]]
    assert [row["locked"] for row in report["receivers"]] == [True, None]


def test_a_receiver_is_switched_off_and_on_and_it_is_in_the_journal(
    program, hookbus, pay, folder
):
    signal("pre_pay").connect(small, role="guard")
    with Journal(folder / "night.journal") as journal:
        detach = journal.attach(default_bus)
        assert hookbus("attach", program, "disable", "small")[0] == 0
        assert pay(500) == 500
        assert hookbus("attach", program, "shadow", "small")[0] == 0
        assert pay(500) == 500
        assert hookbus("attach", program, "enable", "small")[0] == 0
        with pytest.raises(HookBlocked):
            pay(500)
        detach()
        switched = [record.data for record in journal.records(type="switched")]
    assert [each["act"] for each in switched] == ["disable", "shadow", "enable"]
    assert all(f"(pid {os.getpid()})" in each["by"] for each in switched)
    _, out, _ = hookbus("log", "--journal", "night.journal")
    assert "small of pay: disable, by " in out


@pytest.mark.parametrize("words, more", [
    (["script.py"], {"HOOKBUS_JOURNAL": "night.journal"}),
    (["-m", "hookbus", "run", "--journal", "night.journal", "script.py"], {}),
], ids=["by its environment", "by hookbus run"])  # fmt: skip
def test_a_program_nobody_changed_is_asked_and_leaves_nothing(hookbus, folder, words, more):
    (folder / "script.py").write_text(
        "import hookbus\n@hookbus.hookable\ndef ring(): return 1\n"
        "print(ring(), flush=True)\ninput()\n"
    )
    with subprocess.Popen(
        [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=folder, env=environment(**more),
    ) as begun:  # fmt: skip
        assert begun.stdout.readline() == "1\n"
        code, out, _ = hookbus("attach", begun.pid, "report", "--json")
        begun.communicate("\n", timeout=20)
    assert code == 0
    assert [row["hook"] for row in json.loads(out)["report"]["hooks"]] == ["ring"]
    assert begun.returncode == 0
    assert not socket_of(begun.pid).exists()
    assert [r.type for r in Journal.reading(folder / "night.journal").records()] == [
        "hookbus.started", "hookbus.finished",
    ]  # fmt: skip


def test_a_locked_guard_cannot_be_switched_off(program, hookbus, pay):
    signal("pre_pay").connect(small, role="guard", locked=True)
    code, out, err = hookbus("attach", program, "disable", "small")
    assert (code, out) == (2, "")
    assert err.startswith("hookbus: small (")
    assert "has locked=True, so it cannot be switched off" in err
    with pytest.raises(HookBlocked):
        pay(500)


def heard(pid, question, lines):
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(5)
        line.connect(str(socket_of(pid)))
        line.sendall(question + b"\n")
        with line.makefile("rb") as answers:
            return [json.loads(answers.readline()) for _ in range(lines)]


def test_a_program_tells_what_happens_until_the_one_who_asked_is_gone(program, pay):
    calling = threading.Event()

    def call():
        while not calling.wait(0.01):
            pay(3)

    thread = threading.Thread(target=call)
    thread.start()
    told = heard(int(program), b'{"act": "tail"}', 3)
    calling.set()
    thread.join()
    assert told[0] == {"listening": True}
    assert {each["event"]["event"] for each in told[1:]} == {"Started", "Finished"}
    deadline = time.monotonic() + 5
    while default_bus.events.receivers and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not default_bus.events.receivers


@pytest.mark.parametrize("question, problem", [
    (b"nonsense", "the request is not valid JSON"),
    (b"[1]", "None is not a valid request"),
    (b'{"act": "explode"}', "'explode' is not a valid request"),
    (b'{"act": "disable"}', "no receiver is connected as 'None'"),
    (b'{"act": "enable", "receiver": "small"}', "no receiver is connected as 'small'"),
])  # fmt: skip
def test_what_cannot_be_asked_is_refused_and_the_program_listens_on(program, question, problem):
    [answer] = heard(int(program), question, 1)
    assert problem in answer["error"]
    assert "report" in heard(int(program), b'{"act": "report"}', 1)[0]


def test_who_comes_when_there_are_too_many_is_sent_away_until_one_leaves(program, monkeypatch):
    monkeypatch.setattr(door, "MOST_CALLERS", 1)
    with socket.socket(socket.AF_UNIX) as first:
        first.connect(str(socket_of(int(program))))
        first.sendall(b'{"act": "tail"}\n')
        assert first.recv(100) == b'{"listening": true}\n'
        with pytest.raises((ValueError, ConnectionError)):  # nothing, or the end
            heard(int(program), b'{"act": "report"}', 1)
    deadline = time.monotonic() + 5
    while default_bus.events.receivers and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert "report" in heard(int(program), b'{"act": "report"}', 1)[0]


def test_another_user_gets_no_answer(program, monkeypatch):
    ours = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: ours + 1)
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(5)
        line.connect(f"/tmp/hookbus-{ours}/{program}.sock")
        try:
            line.sendall(b'{"act": "report"}\n')
            said = line.recv(100)
        except (BrokenPipeError, ConnectionResetError):
            said = b""
    monkeypatch.undo()
    assert said == b""


def test_the_folder_and_the_socket_are_of_this_user_alone(program):
    path = socket_of(int(program))
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_others_can_look_into_is_not_used(program):
    place = socket_of(int(program)).parent
    place.chmod(0o755)
    try:
        with pytest.raises(HookError, match="must be a folder that only you can access"):
            socket_of(int(program))
    finally:
        place.chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_process_that_was_forked_is_asked_for_itself(program, hookbus):
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(into)
        os.read(out, 1)
        os._exit(0)
    deadline = time.monotonic() + 5
    while not socket_of(child).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        assert "report" in heard(child, b'{"act": "report"}', 1)[0]
        assert "report" in heard(int(program), b'{"act": "report"}', 1)[0]
    finally:
        os.close(into)
        os.waitpid(child, 0)
        os.close(out)
    code, _, err = hookbus("attach", child, "report")
    assert (code, err) == (2, f"hookbus: process {child} does not exist\n")
    Door(default_bus).close()
    assert not socket_of(child).exists(), "who comes next cleans up after who was killed"
