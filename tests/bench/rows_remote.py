"""P32: a permit of `guards.remote`, beside a bare request of `http.client` to the same server."""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from hookbus import Bus, guards, hookable

from .harness import Figure
from .limits import LIMITS
from .rows_gate import is_quiet

TIMES = 600
ARGUMENTS = {"to": "ada@example.org", "text": "The meeting is at ten, in the room upstairs."}

SERVER = """
import socket, uvicorn
ANSWER = b'{"decision": true}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"18")]
async def app(scope, receive, send):
    while (await receive()).get("more_body"): pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": ANSWER})
with socket.socket(proto=socket.IPPROTO_TCP) as listening:  # so that answers are not delayed
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(app, lifespan="off", log_level="critical", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])
"""


def rows() -> Iterator[Figure]:
    """Yield the rows: the ratio, and the times themselves."""
    yield Figure(
        "P32 remote", "guards.remote, median of a permit / a bare request of http.client",
        lambda: {"hookbus": _times()["hookbus p50"] / _times()["http.client p50"]}, "x",
        LIMITS["P32 remote"] if is_quiet() else None,
    )  # fmt: skip
    yield Figure(
        "P32 p50", "guards.remote, median of a permit",
        lambda: {"hookbus": _times()["hookbus p50"]}, "ms",
    )  # fmt: skip
    yield Figure(
        "P32 p99", "the same, the 99th percentile",
        lambda: {"hookbus": _times()["hookbus p99"]}, "ms",
    )  # fmt: skip


@cache
def _times() -> dict[str, float]:
    """Return the median and the 99th percentile of each, in milliseconds, taken in turns."""
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline()) if server.stdout is not None else 0
            found = _measured(port)
        finally:
            server.terminate()
    return {
        f"{name} p{percent}": statistics.quantiles(times, n=100)[percent - 1]
        for name, times in found.items() for percent in (50, 99)
    }  # fmt: skip


def _measured(port: int) -> dict[str, list[float]]:
    bus = Bus()
    bus.register(guards.remote(f"http://127.0.0.1:{port}", deadline=30.0))

    @hookable("tool_call", bus=bus)
    def call(name: str, arguments: dict[str, Any]) -> None:
        return None

    bare = http.client.HTTPConnection("127.0.0.1", port)
    body = json.dumps({"action": {"name": "send", "properties": ARGUMENTS}}).ljust(300).encode()

    def request() -> None:
        bare.request("POST", "/access/v1/evaluation", body)
        answer = bare.getresponse()
        if answer.status != 200 or json.loads(answer.read()) != {"decision": True}:
            raise RuntimeError("the server of the benchmark did not permit")

    cases: dict[str, Callable[[], None]] = {
        "hookbus": lambda: call("send", ARGUMENTS), "http.client": request,
    }  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        case()
    for _ in range(TIMES):
        for name, case in cases.items():
            began = time.perf_counter()
            case()
            times[name].append((time.perf_counter() - began) * 1e3)
    bare.close()
    return times
