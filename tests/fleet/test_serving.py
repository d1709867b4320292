"""`hookbus fleet serve`: the guards of a module decide for agents elsewhere."""

import signal
import subprocess
import sys

import pytest

from hookbus import Bus, HookBlocked, hookable
from hookbus.guards import remote

from ..guards.test_remote import certificate

TOKEN = "a-token-of-the-agents"
MODULE = """from hookbus import default_bus, guards
default_bus.register(guards.tool_policy(allow="read", default="block"))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "central.py").write_text(MODULE)
    (tmp_path / "tokens").write_text(f"\nanother-token-1234\n{TOKEN}\n")
    return tmp_path


def command(folder, *words, module="central.py"):
    return subprocess.Popen(
        [sys.executable, "-m", "hookbus", "fleet", "serve", module, *map(str, words)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("has_tls", [False, True], ids=["http", "https"])
def test_it_prints_its_address_answers_agents_and_ends_with_ctrl_c(folder, has_tls):
    key, known = certificate(folder) if has_tls else (None, None)
    tls = ["--certificate", known, "--key", key] if has_tls else []
    agent = Bus()

    @hookable("tool_call", bus=agent)
    def call(name, arguments):
        return "ran"

    with command(folder, "--tokens", "tokens", *tls) as serving:
        address = serving.stdout.readline().strip()
        assert "Press Ctrl-C to stop" in serving.stdout.readline()
        assert address.startswith("https://" if has_tls else "http://")
        off = agent.register(remote(address, token=TOKEN, deadline=30.0, ca=known))
        assert call("read", {}) == "ran"
        with pytest.raises(HookBlocked, match="tool 'rm' is not allowed"):
            call("rm", {})
        off()
        agent.register(remote(address, token="wrong", deadline=30.0, ca=known))
        with pytest.raises(HookBlocked, match="answered with status 401"):
            call("read", {})
        serving.send_signal(signal.SIGINT)
        output = serving.communicate(timeout=30)[0]
    assert (serving.returncode, output) == (0, "")


@pytest.mark.parametrize("words, problem", [
    (["--tokens", "nowhere"], "nowhere: No such file"),
    (["--tokens", "empty"], "empty contains no token: write one in each line"),
    (["--tokens", "short"], "tokens= must be one or more random"),
    (["--tokens", "tokens", "--port", "70000"], "must be a number from 0"),
    (["--tokens", "tokens", "--key", "tokens"], "--key needs --certificate"),
    (["--tokens", "tokens", "--certificate", "tokens"], "tokens and its key cannot be used"),
    (["--tokens", "tokens", "--hook", "pay_*"], "must be the name of a hook"),
    ([], "tokens"),
], ids=" ".join)  # fmt: skip
def test_what_cannot_be_served_is_refused_in_one_line(folder, words, problem):
    (folder / "empty").write_text("\n")
    (folder / "short").write_text("hunter2\n")
    with command(folder, *words) as serving:
        output = serving.communicate(timeout=30)[0]
    assert serving.returncode == 2 and problem in output and "hunter2" not in output
    assert output.count("\n") == 1


def test_without_uvicorn_the_extra_is_named(folder):
    program = (
        "import sys; sys.modules['uvicorn'] = None; from hookbus.cli import main; "
        "sys.argv = ['hookbus', 'fleet', 'serve', 'central.py', '--tokens', 'tokens']; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=30
    )
    assert "needs the package uvicorn; run: pip install 'hookbus[fleet]'" in ran.stderr
