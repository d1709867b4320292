"""A third-party program under `hookbus run`, with only its model scripted.

One of its tools is blocked. Another one waits until a person approves it on the live page.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hookbus.approvals import Store
from hookbus.journal import Journal

from .install import ROOT
from .scripted import Turn, scripted

HOOKS = ["pre_tool_call", "around_tool_call"]
MANIFEST = f'format = 1\nid = "rules"\nversion = "1.0"\nhooks = {HOOKS}\n'
RULES = """
from hookbus import guards

def register(api):
    api.register(guards.tool_policy({rules}, default="block"))
"""
FILES = ("--journal", "night.journal", "--approvals", "approvals.db")


class Told(NamedTuple):
    """What there is afterwards.

    Attributes:
        out: what the program printed.
        calls: its calls, as `hookbus log --json` lists them.
        trace: its calls, as the trace has them.
        shown: what the person was shown.
        read: what the model was told.
    """

    out: str
    calls: list[dict[str, Any]]
    trace: list[dict[str, Any]]
    shown: dict[str, Any]
    read: str

    def outcomes(self) -> list[tuple[str, str]]:
        """Return the tools that were called, and how each call ended."""
        tools = [call for call in self.calls if call["hook"] == "tool_call"]
        return [(call["labels"]["name"], call["outcome"]) for call in tools]

    def of(self, tool: str) -> dict[str, Any]:
        """Return the call of a tool."""
        [call] = [call for call in self.calls if (call["labels"] or {}).get("name") == tool]
        return call


def says_yes(address: str) -> dict[str, Any]:
    """Open the page, wait until something waits for a yes, say it as the page does; return what was
    shown.
    """
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(address) as page:
        inside = page.url
    with opener.open(f"{inside}stream", timeout=60) as stream:
        told, name, last = [], "", time.monotonic() + 30
        while not told:
            assert time.monotonic() < last, "no request is pending"
            field, _, value = stream.readline().decode().rstrip("\n").partition(": ")
            name = value if field == "event" else name
            told = json.loads(value) if (field, name) == ("data", "approvals") else []
    host = inside.partition("//")[2].partition("/")[0]
    yes = urllib.request.Request(
        f"{inside}approvals/{told[0]['id']}", json.dumps({"answer": "approve"}).encode(),
        {"origin": f"http://{host}", "x-hookbus": "1", "content-type": "application/json"},
    )  # fmt: skip
    opener.open(yes).close()
    return dict(told[0])


def play(
    folder: Path, words: Sequence[str], turns: Sequence[Turn], *, rules: str,
    options: Sequence[str] = (), plugin: str = RULES, person: Callable[[str], Any] = says_yes,
) -> Told:  # fmt: skip
    """Run a program with a model that takes these turns, and answer on the page what it asks."""
    (folder / "plugins" / "rules").mkdir(parents=True)
    (folder / "plugins" / "rules" / "hookbus-plugin.toml").write_text(MANIFEST)
    (folder / "plugins" / "rules" / "plugin.py").write_text(plugin.format(rules=rules))
    Journal(folder / "night.journal").close()
    Store(folder / "approvals.db").close()
    with scripted(*turns) as (environment, asked):
        begun = _begun(
            folder, "run", *FILES, "--trace", "trace.json", "--wait", "60", "--plugin",
            "plugins/rules", *options, *words, **environment,
        )  # fmt: skip
        with begun, _page(folder) as address:
            try:
                shown = person(address)
                out, err = begun.communicate(timeout=60)
            except BaseException as error:
                begun.kill()
                error.add_note("\n".join(begun.communicate()))
                raise
    assert begun.returncode == 0, err
    log = subprocess.check_output(
        [sys.executable, "-m", "hookbus", "log", "--json", *FILES[:2]], cwd=folder, env=_env()
    )
    calls = [json.loads(line) for line in log.splitlines()]
    trace = json.loads((folder / "trace.json").read_text())
    return Told(out, calls, trace, shown, "\n".join(asked))


def _env(**more: str) -> dict[str, str]:
    own = {
        "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "AGNO_TELEMETRY": "false",
        "OPENAI_AGENTS_DISABLE_TRACING": "1", "EXAMPLES_INTERACTIVE_MODE": "auto",
    }  # fmt: skip
    return {**os.environ, **own, **more}


def _begun(folder: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hookbus", *words], cwd=folder, env=_env(**more),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@contextmanager
def _page(folder: Path) -> Iterator[str]:
    """Serve the live page, and give its address."""
    with _begun(folder, "serve", *FILES) as serving:
        try:
            yield serving.stdout.readline().strip()  # type: ignore[union-attr]
        finally:
            serving.send_signal(signal.SIGINT)
            serving.communicate(timeout=20)


def source(folder: Path) -> Path:
    """Unpack the source distribution that this environment keeps, and return its folder."""
    kept = sorted((Path(sys.prefix) / "sources").glob("*.tar.gz"))
    if not kept:
        pytest.fail("no source distribution is kept here: python -m tests.systems.install")
    with tarfile.open(kept[-1]) as packed:
        packed.extractall(folder, filter="data")
    return folder / kept[-1].name.removesuffix(".tar.gz")


def check(told: Told, *, blocked: str, approved: str) -> None:
    """Look whether journal, trace, model and person know of the blocked and the approved call."""
    by = told.of(approved)["receivers"][-1]
    assert (by["event"], by["answer"]) == ("Invoked", "approved")
    assert told.of(approved)["outcome"] == "returned"
    block = told.of(blocked)["receivers"][-1]
    assert (block["event"], block["receiver"]) == ("Blocked", "tool_policy")
    assert f"tool '{blocked}' is not allowed" in told.read
    assert told.shown["question"] == f"call '{approved}'?"
    spans = [each for each in told.trace if each["ph"] == "X" and each["cat"] == "tool_call"]
    assert len(spans) == len(told.outcomes())
