"""P28 to P30: the hook of `hookbus gate`, which an agent starts for every event."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .harness import Figure
from .limits import LIMITS

TIMES = 60
QUIET_MS = 12.0
"""A bare interpreter starts within this time on a machine that has nothing else to do."""

P95_MS, FIRST_MS = 15.0, 400.0

EVENT = {
    "hook_event_name": "PreToolUse", "session_id": "bench", "cwd": "/tmp", "tool_name": "Bash",
    "tool_input": {"command": "ls"},
}  # fmt: skip


def rows() -> Iterator[Figure]:
    """Yield the rows, in the order of the table; the gate does not run on Windows."""
    if os.name == "nt":
        return
    yield Figure(
        "P28 processor", "the hook of the gate: its processor time",
        lambda: {"hookbus": _hooks_anew()["processor"]}, "ms", LIMITS["P28 processor"],
    )  # fmt: skip
    yield Figure(
        "P29 p95", "the hook of the gate, with a server: 95 of 100 calls",
        lambda: {"hookbus": _hooks()["p95"]}, "ms", P95_MS if is_quiet() else None,
    )  # fmt: skip
    yield Figure(
        "P30 first", "the first event, which starts the server",
        lambda: {"hookbus": _hooks()["first"]}, "ms", FIRST_MS if is_quiet() else None,
    )  # fmt: skip


@cache
def is_quiet() -> bool:
    """Return whether the machine is idle. Only then, and only in long runs, is a wall-clock time
    judged, because other jobs may begin during a run.
    """
    if not os.environ.get("HOOKBUS_LONG"):
        return False
    starts = [_timed([sys.executable, "-I", "-S", "-c", ""], b"") for _ in range(20)]
    return statistics.quantiles(starts, n=20)[-1] < QUIET_MS


def _timed(command: list[str], given: bytes, *, code: int = 0) -> float:
    began = time.perf_counter()
    ended = subprocess.run(
        command, input=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    seconds = time.perf_counter() - began
    if ended.returncode != code:
        raise RuntimeError(f"the exit code was {ended.returncode}, not {code}")
    return seconds * 1000


def _hooks_anew() -> dict[str, float]:
    """Measure again, because a row that missed its limit is measured twice."""
    _hooks.cache_clear()
    return _hooks()


@cache
def _hooks() -> dict[str, float]:
    """Return what hooks cost in milliseconds, with a server of their own."""
    import resource

    from hookbus.gate import _hook as hook
    from hookbus.gate import _install

    with tempfile.TemporaryDirectory() as made:
        settings = Path(made) / "hookbus.toml"
        settings.write_text("[gate]\nrate_limit = 1000000\nlost = 'fresh'\n")
        words = ["codex", str(settings), "10", "PreToolUse"]
        command = [sys.executable, "-I", "-S", hook.FILE, *words]
        first, *others = (
            json.dumps(EVENT | {"tool_use_id": f"t{number}"}).encode()
            for number in range(TIMES + 1)
        )
        try:
            first_ms = _timed(command, first, code=hook.GO)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            times = [_timed(command, each, code=hook.GO) for each in others]
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        finally:
            _install.stop(settings)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "processor": seconds * 1000 / TIMES, "p95": statistics.quantiles(times, n=20)[-1],
        "first": first_ms,
    }  # fmt: skip
