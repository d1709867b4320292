"""`hookbus mcp` over real stdio and loopback HTTP."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time

import httpx2
import pytest
from fastmcp import Client

from hookbus import cli
from hookbus.approvals import Approved, Store
from hookbus.journal import Journal

from .proxy_parts import Bank, call

MODERN = "2026-07-28"
"""A version of the protocol without a handshake."""

REFUSED = "Error: the call was blocked by Rules.nothing_to_eve: nothing goes to eve"


@pytest.fixture
def bank(tmp_path):
    return Bank(tmp_path)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(port)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_everything_of_the_server_passes_and_the_guard_judges_its_tools(bank, mode):
    steps = []

    async def note_progress(done, total, message):
        steps.append(done)

    async with bank.host(mode=mode) as host:
        assert {each.name for each in await host.list_tools()} == {"pay", "slow", "count", "die"}
        assert (await host.read_resource("note://one"))[0].text == "a note"
        prompt = await host.get_prompt("ask", {"what": "hello"})
        assert prompt.messages[0].content.text == "say hello"
        paid = await call(host, "pay", amount=1, to="ann")
        assert paid == (False, "paid 1 to ann, ****, key-1")
        assert await call(host, "pay", amount=2, to="eve") == (True, REFUSED)
        await host.call_tool("count", {}, progress_handler=note_progress)
        assert [*map(int, steps)] == [0, 1, 2]
    assert bank.paid == ["1 to ann"]


async def test_a_cancelled_call_is_cancelled_in_the_server(bank):
    begun = asyncio.Event()

    async def note_begin(done, total, message):
        begun.set()

    async with bank.host() as host:
        running = asyncio.ensure_future(host.call_tool("slow", {}, progress_handler=note_begin))
        await asyncio.wait_for(begun.wait(), 60)
        running.cancel()
        await asyncio.wait({running})
        for _ in range(300):
            if (bank.folder / "cancelled").exists():
                break
            await asyncio.sleep(0.1)
    assert (bank.folder / "cancelled").exists()


async def test_a_server_that_hangs_or_dies_is_an_error_and_the_next_call_starts_another(bank):
    async with bank.host("--timeout", "15") as host:
        assert await call(host, "slow") == (
            True, "Error calling tool 'slow': Request 'tools/call' timed out"
        )  # fmt: skip
        is_error, text = await call(host, "die")
        assert is_error and "Error calling tool 'die'" in text
        assert (await call(host, "pay", amount=1, to="ann"))[0] is False
    async with bank.host(server=(sys.executable, "-c", "raise SystemExit(3)")) as host:
        with pytest.raises(Exception, match=r"[Cc]onnection closed"):
            await host.list_tools()


async def test_a_person_approves_in_the_store_of_the_settings_and_the_journal_has_all(bank):
    (bank.folder / "hookbus.toml").write_text('approvals = "a.db"\njournal = "j.db"\n')
    settings = str(bank.folder / "hookbus.toml")
    async with bank.host("--settings", settings) as host:
        is_error, text = await call(host, "pay", amount=500, to="ann")
        assert is_error and "approval pending" in text and bank.paid == []
        store = Store(bank.folder / "a.db")
        [request] = store.pending()
        store.answer(request.id, Approved("grace"))
        assert await call(host, "pay", amount=500, to="ann") == (
            False, "paid 500 to ann, ****, key-1"
        )  # fmt: skip
    with Journal.reading(bank.folder / "j.db") as journal:
        ended = [each.data["outcome"] for each in journal.records(type="hookbus.finished")]
    assert ended == ["blocked", "returned"] and bank.paid == ["500 to ann"]


async def test_it_serves_http_in_front_of_a_server_over_http_and_refuses_web_pages(bank):
    behind, front = free_port(), free_port()
    words = bank.words("--port", str(front), server=(f"http://127.0.0.1:{behind}/mcp",))
    options = {"cwd": bank.folder, "env": bank.environment, "stdout": subprocess.DEVNULL}
    processes = [subprocess.Popen([sys.executable, *each], **options)
                 for each in (["bank.py", str(behind)], words)]  # fmt: skip
    try:
        for port in (behind, front):
            wait_for(port)
        url = f"http://127.0.0.1:{front}/mcp"
        async with Client(url) as host:
            paid = await call(host, "pay", amount=1, to="ann")
            assert paid == (False, "paid 1 to ann, ****, key-1")
            assert await call(host, "pay", amount=2, to="eve") == (True, REFUSED)
            processes[0].kill()
            processes[0].wait()
            assert (await call(host, "pay", amount=1, to="ann"))[0] is True
        for header in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            assert httpx2.post(url, headers=header, json={}).status_code in (403, 421)
    finally:
        for each in processes:
            each.kill()
            each.wait()


# -- a proxy that would not guard does not start ---------------------------------------------------


@pytest.mark.parametrize(("shadow", "plugin", "problem"), [
    ("", "./watch", "no guard judges tool calls, so the proxy would let every call pass"),
    ('shadow = ["Rules.nothing_to_eve", "Rules.no_pins"]', "./guards",
     "no guard can block a tool call: Rules.no_pins, Rules.nothing_to_eve run in shadow"),
    ("", "./missing", "missing"),
])  # fmt: skip
def test_without_a_guard_it_does_not_start(bank, shadow, plugin, problem):
    (bank.folder / "hookbus.toml").write_text(shadow)
    words = [sys.executable, "-m", "hookbus", "mcp", plugin, "--", sys.executable, "bank.py"]
    ended = subprocess.run(words, cwd=bank.folder, env=bank.environment, capture_output=True,
                           text=True, stdin=subprocess.DEVNULL)  # fmt: skip
    assert (ended.returncode, ended.stdout) == (2, "") and problem in ended.stderr


@pytest.mark.parametrize(("words", "problem"), [
    (["rules"], "the MCP server is missing: write hookbus mcp PLUGIN... -- COMMAND ARGS"),
    (["rules", "--", "no-such-program"], "the command no-such-program does not exist"),
    (["rules", "--", "http://127.0.0.1:1/mcp", "x"], "x comes after the URL of the server"),
    (["--timeout", "0", "--", sys.executable], "--timeout 0 must be a number of seconds"),
    (["--token-env", "KEY", "--", sys.executable], "--token-env needs the URL of a server"),
    (["--token-env", "NO_KEY", "--", "http://127.0.0.1:1"], "NO_KEY: this environment variable"),
    (["--turns", "--", sys.executable, "--journal"], "--turns needs a journal"),
])  # fmt: skip
def test_a_wrong_command_line_is_named(words, problem, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["mcp", *words]) == 2
    assert problem in capsys.readouterr().err
