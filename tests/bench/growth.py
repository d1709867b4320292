"""How costs grow: with the receivers of one signal, and with instances that have own receivers."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hookbus import Bus

from .agents import hooked
from .harness import Bench, CheckFailed, Row
from .parts import Function, make_pre
from .rows import without_rivals
from .rows_many import very_many
from .table import nanoseconds, number, show

Record = dict[str, float]

RECEIVERS = (1, 10, 100, 1_000, 10_000)
INSTANCES = (1, 10, 100, 1_000, 10_000, 100_000)
INSTANCES_LONG = (*INSTANCES, 1_000_000)


def clocked(work: Callable[[], Any]) -> float:
    start = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - start


def by_receivers(bench: Bench, numbers: Sequence[int] = RECEIVERS) -> list[Record]:
    """Return, per number of receivers: a call, next to a loop by hand, and what coming and going
    costs. Sync, one class.
    """
    records = []
    for size in numbers:
        measured = bench.measure(
            without_rivals(Row(f"{size:,} receivers", "", partial(very_many, "sync", size)))
        )
        if measured.failed:
            raise CheckFailed(f"{measured.key}: {measured.failed}")
        lives = [_life_of_receivers(size) for _ in range(max(3, min(50, 3_000 // size)))]
        fastest = {name: min(life[name] for life in lives) for name in lives[0]}
        records.append(
            {
                "receivers": size, "call": measured.ns["hookbus"],
                "ratio": measured.ratios["hookbus"], **fastest,
            }
        )  # fmt: skip
    return records


def _life_of_receivers(size: int) -> Record:
    """Connect all, call, and disconnect all; the first call has the plan to build."""
    bus = Bus()
    agent, pres = hooked("sync", bus=bus), [make_pre("sync") for _ in range(size)]
    signal, cls = bus.signal("pre_reply"), type(agent)

    def each(work: Callable[..., Any]) -> float:
        return clocked(lambda: [work(pre, cls) for pre in pres]) / size

    def call() -> float:
        return clocked(lambda: agent.reply("hi", 0.7))

    connect, first = each(signal.connect), call()
    second = min(call() for _ in range(3))
    return {
        "connect": connect, "build": max(0.0, first - second),
        "disconnect": each(signal.disconnect),
    }  # fmt: skip


def by_instances(numbers: Sequence[int] = INSTANCES, traced: int = 10_000) -> list[Record]:
    """Return, per number of instances with a receiver of their own each: times, and bytes over
    instances without.

    The bytes of more than `traced` instances are those of so many: to trace every allocation is
    slow.
    """
    gc.disable()  # a million instances are looked through again and again otherwise
    try:
        return [
            {**_life_of_instances(size), "bytes": _bytes_each(min(size, traced))}
            for size in numbers
        ]
    finally:
        gc.enable()


def _agents(size: int) -> tuple[Any, list[Any], Function]:
    bus = Bus()
    cls = type(hooked("sync", bus=bus))
    return bus.signal("pre_reply"), [cls() for _ in range(size)], make_pre("sync")


def _life_of_instances(size: int) -> Record:
    signal, agents, pre = _agents(size)
    connect = clocked(lambda: [signal.connect(pre, agent) for agent in agents])
    first = clocked(lambda: [agent.reply("hi", 0.7) for agent in agents])
    some = agents[:: max(1, size // 1_000)]
    call = min(clocked(lambda: [agent.reply("hi", 0.7) for agent in some]) for _ in range(5))
    disconnect = clocked(lambda: [signal.disconnect(pre, agent) for agent in agents])
    return {
        "instances": size, "connect": connect / size, "first": first / size,
        "call": call / len(some),
        "disconnect": disconnect / size,
    }  # fmt: skip


def _bytes_each(size: int) -> float:
    """Return what a receiver of its own, and one call, add to an instance."""
    signal, agents, pre = _agents(size)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for agent in agents:
            signal.connect(pre, agent)
            agent.reply("hi", 0.7)
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / size
    finally:
        tracemalloc.stop()


def print_receivers(records: Sequence[Record]) -> None:
    head = [
        "receivers", "call", "per receiver", "/ loop", "first call: plan build", "connect, each",
        "disconnect, each",
    ]  # fmt: skip
    rows = [
        [f"{r['receivers']:,.0f}", nanoseconds(r["call"]), nanoseconds(r["call"] / r["receivers"]),
         number(r["ratio"]), nanoseconds(r["build"]), nanoseconds(r["connect"]),
         nanoseconds(r["disconnect"])]
        for r in records
    ]  # fmt: skip
    show("Growth: receivers of one class", head, rows, left=0)


def print_instances(records: Sequence[Record]) -> None:
    head = ["instances", "call", "first call", "connect", "disconnect", "bytes each"]
    rows = [
        [f"{r['instances']:,.0f}", nanoseconds(r["call"]), nanoseconds(r["first"]),
         nanoseconds(r["connect"]), nanoseconds(r["disconnect"]), f"{r['bytes']:,.0f}"]
        for r in records
    ]  # fmt: skip
    show("Growth: instances with a receiver of their own each", head, rows, left=0)
