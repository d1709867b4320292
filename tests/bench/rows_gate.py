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

P95_RATIO, FIRST_RATIO = 1.5, 50.0
"""Where a bare interpreter starts in 8 ms, these are 12 ms and 400 ms."""

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
        "P29 p95", "the hook of the gate, with a server, to a bare interpreter: 95 of 100",
        lambda: {"hookbus": _hooks()["p95"]}, "x", P95_RATIO if is_long() else None,
    )  # fmt: skip
    yield Figure(
        "P30 first", "the first event, which starts the server, to a bare interpreter",
        lambda: {"hookbus": _hooks()["first"]}, "x", FIRST_RATIO if is_long() else None,
    )  # fmt: skip


def is_long() -> bool:
    """Return whether times of the clock are judged: only in long runs, because other jobs may
    begin during a run.
    """
    return bool(os.environ.get("HOOKBUS_LONG"))


@cache
def is_quiet() -> bool:
    """Return whether the run is long and the machine idle, for times that are no ratios."""
    if not is_long():
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
    """Return what hooks cost, with a server of their own: processor time in milliseconds, and
    times of the clock as ratios to a bare interpreter that is started in turn with them.
    """
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
            times, bare, seconds = list[float](), list[float](), 0.0
            for each in others:
                bare.append(_timed([sys.executable, "-I", "-S", "-c", ""], b""))
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                times.append(_timed(command, each, code=hook.GO))
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                seconds += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        finally:
            _install.stop(settings)
    return {
        "processor": seconds * 1000 / TIMES,
        "p95": statistics.quantiles(times, n=20)[-1] / statistics.quantiles(bare, n=20)[-1],
        "first": first_ms / statistics.median(bare),
    }
