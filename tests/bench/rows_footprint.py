"""P9, P10 connect and P11: imports, connections and bytes."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from blinker import Signal

import hookbus
from hookbus import Bus

from .agents import hooked
from .harness import Case, Expect, Figure, Row
from .limits import LIMITS
from .parts import BARE, COLOURS, Colour, make_post, make_pre

ROOT = str(Path(hookbus.__file__).parent.parent)


def rows() -> Iterator[Row | Figure]:
    """Yield the rows, in the order of the table."""
    yield Row("P9", "import hookbus / import blinker, attrs", importing, LIMITS["P9"])
    yield Row(
        "P10 connect", "1,000 connections / blinker's connect", connecting, LIMITS["P10 connect"]
    )
    for colour in COLOURS:
        key = f"P11 {colour}"
        yield Figure(
            key, "bytes of an instance over a bare one's", partial(instance_bytes, colour), "B",
            LIMITS[key],
        )  # fmt: skip


def importing() -> dict[str, Case]:
    """Each in a process of its own, from bytecode, which the first import of each writes: as of
    what pip has installed.
    """
    bytecode = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, bytecode)
    environment = {
        **os.environ, "PYTHONPATH": ROOT, "PYTHONPYCACHEPREFIX": bytecode,
        "PYTHONDONTWRITEBYTECODE": "",
    }  # fmt: skip

    def case(names: str) -> Case:
        # The interpreter's own start is left out: the clock starts inside.
        program = (
            f"import time; t = time.perf_counter_ns(); import {names}; "
            "print(time.perf_counter_ns() - t)"
        )
        command = [sys.executable, "-c", program]

        def elapsed(n: int) -> float:
            return sum(
                int(
                    subprocess.run(
                        command, env=environment, capture_output=True, text=True, check=True
                    ).stdout
                )
                for _ in range(n)
            )

        return Case(lambda: elapsed(1) > 0, lambda n: None, Expect(0, True), elapsed=elapsed)

    return {names: case(names) for names in ("blinker, attrs", "hookbus", "blinker", "pluggy")}


def connecting() -> dict[str, Case]:
    """A fresh signal and 1,000 receivers, held strongly by both."""
    receivers = [make_pre("sync") for _ in range(1_000)]

    def connect_all(connect: Callable[..., Any], **options: Any) -> None:
        for receiver in receivers:
            connect(receiver, **options)

    def case(make: Callable[[], Any], **options: Any) -> Case:
        def once() -> int:
            signal = make()
            connect_all(signal.connect, **options)
            return len(list(signal.receivers_for(None)))

        def elapsed(n: int) -> float:
            signals = [make() for _ in range(n)]
            # The time of this thread alone: 1,000 connections take longer than the time that a
            # busy machine gives to one process without a break.
            start = time.thread_time_ns()
            for signal in signals:
                connect_all(signal.connect, **options)
            return time.thread_time_ns() - start

        return Case(once, lambda n: None, Expect(0, 1_000), unit=1_000, elapsed=elapsed)

    def signal_of_a_hookable() -> Any:
        bus = Bus()
        agents.append(hooked("sync", bus=bus))
        return bus.signal("pre_reply")

    agents: list[Any] = []
    return {"blinker": case(Signal, weak=False), "hookbus": case(signal_of_a_hookable)}


def instance_bytes(colour: Colour) -> dict[str, float]:
    """Return how many bytes an instance takes more than a bare one, both made and called, receivers
    on the class.
    """
    pre, post = make_pre("sync"), make_post("sync")
    plain = _bytes_each(BARE[colour], colour)
    return {"hookbus": _bytes_each(type(hooked(colour, pre=[pre], post=[post])), colour) - plain}


def _bytes_each(cls: Callable[[], Any], colour: Colour, number: int = 20_000) -> float:
    for _ in range(100):
        _call(cls(), colour)
    gc.collect()
    kept: list[Any] = [None] * number
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for place in range(number):
            kept[place] = agent = cls()
            _call(agent, colour)
        del agent
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / number
    finally:
        tracemalloc.stop()


def _call(agent: Any, colour: Colour) -> None:
    coroutine = agent.reply("hi", 0.7)
    if colour == "async":
        try:
            coroutine.send(None)
        except StopIteration:
            return
        raise RuntimeError("the method waits for something")

