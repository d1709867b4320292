"""What a plugin or another program tried against the server of a gate: the calls are blocked, and
the next server answers again.
"""

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hookbus.gate import _hook as hook
from hookbus.gate import _install
from hookbus.gate._lock import find_holder, lock

from . import events

GUARD = """\
from hookbus import Block


def check(tool, arguments):
    {}
    return Block("rm is not for agents") if "rm" in str(arguments) else None


def register(api):
    api.connect("pre_tool_call", check, role="guard", name="check")
"""


def base(gate):
    return hook.place(str(gate.file))


def says(gate, command="rm a", number=1, seconds=10):
    answer = gate.answer("gemini", events.before("gemini", command, number), seconds=seconds)
    assert answer[0] == 2 or command == "ls", answer
    return answer[2]


def until(is_true):
    for _ in range(500):
        if is_true():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


@pytest.mark.parametrize("line", [
    "import sys; sys.exit(0)", "raise KeyboardInterrupt", "raise BaseException('secret')",
    "import asyncio; raise asyncio.CancelledError", "raise GeneratorExit",
])  # fmt: skip
def test_whatever_a_plugin_raises_at_import_is_in_the_log(gate, line):
    gate.plug(line)
    text = says(gate)
    assert "is not loaded" in text and "secret" not in text
    name = line.rpartition(" ")[2].partition("(")[0].rpartition(".")[2]
    assert ("SystemExit" if "exit" in line else name) in gate.log


def test_a_plugin_that_ends_the_server_at_import_is_not_waited_for(gate):
    gate.plug("import os; os._exit(0)")
    assert "the server did not start" in says(gate)


def test_a_plugin_that_forks_at_import_leaves_one_server(gate):
    gate.plug("import os\nos.fork()\n" + GUARD.format("pass"))
    for number in range(3):
        assert "not for agents" in says(gate, number=number)
    assert gate.stop()


def test_a_process_that_a_plugin_forked_does_not_keep_the_gate(gate):
    child = gate.folder / "child"
    gate.plug(GUARD.format(
        f"import os, signal\n    if not os.path.exists({str(child)!r}):\n"
        f"        pid = os.fork()\n        if not pid:\n            signal.pause()\n"
        f"        open({str(child)!r}, 'w').write(str(pid))"
    ))  # fmt: skip
    assert "not for agents" in says(gate)
    os.kill(find_holder(base(gate)), signal.SIGKILL)
    try:
        assert "not for agents" in says(gate, number=2)
    finally:
        os.kill(int(child.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("harm", ["removed", "replaced by a file", "replaced by a dead socket"])
def test_a_server_whose_socket_is_gone_makes_way_for_another(gate, harm):
    assert "not for agents" in says(gate)
    first, path = find_holder(base(gate)), f"{base(gate)}.sock"
    os.unlink(path)
    if harm == "replaced by a file":
        Path(path).touch()
    elif harm == "replaced by a dead socket":
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(path)
    assert "not for agents" in says(gate, number=2)
    assert find_holder(base(gate)) not in (None, first)
    assert "was removed or replaced" in gate.log


def test_a_server_does_not_take_the_socket_of_another_away(gate):
    assert "not for agents" in says(gate)
    first = find_holder(base(gate))
    os.unlink(f"{base(gate)}.lock")
    os.unlink(f"{base(gate)}.sock")
    assert "not for agents" in says(gate, number=2)
    until(lambda: not Path(f"/proc/{first}").exists() or sys.platform == "darwin")
    for number in (3, 4):
        assert "not for agents" in says(gate, number=number)


@pytest.mark.parametrize("is_at_import", [True, False])
def test_stop_ends_a_server_that_a_plugin_blocks_for_ever(gate, is_at_import, monkeypatch):
    monkeypatch.setattr(_install, "STOP_SECONDS", 0.3)
    block = "import time; time.sleep(600)"
    gate.plug(block if is_at_import else GUARD.format(block))
    assert "no answer in time" in says(gate, seconds=1)
    assert gate.stop() and not gate.stop()
    gate.plug()
    assert "not for agents" in says(gate, number=2)


SERVE = """\
import sys
from hookbus.gate import _server
from hookbus.gate import _hook as hook
from hookbus.gate._lock import lock
_server.LONGEST_BLOCK_SECONDS = 1.5
_server.serve(sys.argv[1], lock(hook.place(sys.argv[1])))
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="its clock continues in sleep")
@pytest.mark.parametrize("is_at_import", [True, False])
def test_a_server_that_a_plugin_blocks_for_ever_ends_and_logs_where(gate, is_at_import):
    block = "import time; time.sleep(600)"
    gate.plug(block if is_at_import else GUARD.format(block))
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, gate.file], stderr=subprocess.PIPE
    ) as ended:
        until(lambda: Path(f"{base(gate)}.{'lock' if is_at_import else 'sock'}").exists())
        assert ("in time" if not is_at_import else "") in says(gate, seconds=1)
        _, err = ended.communicate()
    assert ended.returncode == 1 and b"Timeout" in err and b"plugin.py" in err


def test_a_server_that_is_idle_is_not_taken_for_a_blocked_one(gate):
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, gate.file], stderr=subprocess.PIPE
    ) as ended:
        until(lambda: Path(f"{base(gate)}.sock").exists())
        time.sleep(2)
        assert "not for agents" in says(gate) and ended.poll() is None
        assert gate.stop()
        assert ended.wait() == 0


@pytest.mark.parametrize("name", ["hookbus.toml", "rules.toml", "people.toml"])
def test_a_pipe_in_place_of_settings_blocks_nothing_but_the_calls(make_gate, name):
    gate = make_gate()
    (gate.folder / "rules.toml").write_text('default = "allow"\n')
    (gate.folder / "people.toml").write_text('ada = { roles = ["finance"] }\n')
    gate.write(f'approvals = "a.db"\npeople = "people.toml"\n{gate.plug()}[gate]\n'
               'rules = "rules.toml"\n')  # fmt: skip
    (gate.folder / name).unlink()
    os.mkfifo(gate.folder / name)
    assert "is not loaded" in says(gate)
    assert f"{name} cannot be read: it is not a regular file" in gate.log


def test_a_lock_is_held_by_one_process_and_names_it(tmp_path):
    place = str(tmp_path / "gate")
    assert find_holder(place) is None
    held = lock(place)
    words = [sys.executable, "-c",
             "import sys; from hookbus.gate._lock import find_holder, lock; "
             "print([lock(sys.argv[1]), find_holder(sys.argv[1])])", place]  # fmt: skip
    assert json.loads(subprocess.check_output(words).replace(b"None", b"null")) == [
        None, os.getpid(),
    ]  # fmt: skip
    os.close(held)
    assert b"None, None" not in subprocess.check_output(words)
    assert find_holder(place) is None


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such locks")
def test_a_holder_without_an_id_of_a_process_is_nobody_who_could_be_killed(tmp_path):
    place = str(tmp_path / "gate")
    held = os.open(f"{place}.lock", os.O_RDWR | os.O_CREAT)
    own = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    fcntl.fcntl(held, fcntl.F_OFD_SETLK, own)  # its holder has the id -1
    assert lock(place) is None and find_holder(place) is None
    os.close(held)


def test_many_hooks_wait_for_a_server_that_another_hook_has_started(gate):
    gate.plug("import time; time.sleep(1.5)\n" + GUARD.format("pass"))
    found = []
    asked = [threading.Thread(target=lambda n=n: found.append(says(gate, number=n)))
             for n in range(4)]  # fmt: skip
    for each in asked:
        each.start()
    for each in asked:
        each.join()
    assert len(found) == 4 and all("not for agents" in each for each in found)
