"""The figures of fleets, on a Postgres of their own: `python -m tests.bench --only fleet`."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import hookbus.fleet  # loads psycopg when a fleet is made
from hookbus import Bus, HookBlocked, hookable
from hookbus.journal import Journal, Record

from .harness import Figure

EVENTS, BATCH, ROUNDS = 10_000, 1_000, 3
SECONDS = 10.0
PROCESSES, MEMBERS = 4, 250
KILLS = 20
TOKEN = "a-token-of-the-benchmark"
MOST_TIMES_OF_AN_INSERT = 2.0

SHIPPER = """
import sys
from hookbus.fleet import Fleet
from hookbus.journal import Journal
url, schema, path = sys.argv[1:]
with Fleet(url, schema=schema) as fleet, Journal(path) as journal:
    print("ready", flush=True)
    sys.stdin.readline()
    fleet.ship(journal, name=schema)
    sys.stdin.readline()
"""

# As members behind PgBouncer do: each asks twice a second, and writes its heartbeat every 5 s.
MEMBERS_PROGRAM = """
import sys, threading, time
import psycopg
url, number, members = sys.argv[1:]
ended, count = threading.Event(), int(members)
def run():
    asked, began = 0, time.perf_counter()
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as client:
        while not ended.is_set():
            member = asked % count
            client.execute('SELECT * FROM "hookbus".read_words(%s)', (0,)).fetchall()
            if asked // count % 10 == member % 10:
                name = f"{number}/{member}"
                client.execute('SELECT * FROM "hookbus".beat(%s, %s, %s)', (name, "{}", 0))
            asked += 1
            time.sleep(max(0, began + asked * 0.5 / count - time.perf_counter()))
thread = threading.Thread(target=run)
thread.start()
time.sleep(6)  # each has written its first heartbeat
print("ready", flush=True)
sys.stdin.readline()
ended.set()
thread.join()
"""

CENTRAL = """
from hookbus import default_bus, guards
default_bus.register(guards.tool_policy(allow="read", default="block"))
"""


def rows() -> Iterator[Figure]:
    """Yield the rows. Only that of the events has a limit."""
    yield Figure(
        "fleet events", "events, from a journal to a consumer / a bare INSERT of the same batches",
        lambda: {"hookbus": _events()["shipped"] / _events()["INSERT"]}, "x",
        MOST_TIMES_OF_AN_INSERT,
    )  # fmt: skip
    for name, title in (
        ("shipped", "from a journal to a consumer"), ("INSERT", "a bare INSERT"),
        ("binary INSERT", "a bare INSERT of binary arrays"),
    ):
        yield Figure(
            f"fleet events, {name}", f"events in a second, {title}",
            lambda name=name: {"hookbus": EVENTS / _events()[name]}, "/s",
        )  # fmt: skip
    for clients in (8, 64):
        yield Figure(
            f"fleet serve, {clients}", f"decisions in a second, {clients} in flight",
            lambda clients=clients: {"hookbus": _decisions(clients)}, "/s",
        )  # fmt: skip
    for name, choose in (("p50", statistics.median), ("worst", max)):
        yield Figure(
            f"fleet kill, {name}", f"from a kill to the first blocked call, {name} of {KILLS}",
            lambda choose=choose: {"hookbus": choose(_kills())}, "ms",
        )  # fmt: skip
    for name, title, unit in (
        ("commits", "transactions in a second", "/s"),
        ("written", "written heartbeats in a second", "/s"),
        ("CPU", "CPU seconds of the server in a second", "s"),
    ):
        yield Figure(
            f"fleet members, {name}", f"{PROCESSES * MEMBERS:,} members, {title}",
            lambda name=name: {"hookbus": _members()[name]}, unit,
        )  # fmt: skip


@contextmanager
def _server() -> Iterator[Any]:
    """A Postgres with a fleet, which waits for its disk."""
    from ..fleet.postgres import Postgres

    server = Postgres(fsync="on")
    try:
        _make(server, "hookbus")
        yield server
    finally:
        server.remove()


def _make(server: Any, schema: str) -> None:
    roles = {"agents": "agent", "operators": "operator"}
    hookbus.fleet.Fleet.make(server.url("owner"), schema=schema, **roles)


@contextmanager
def _program(text: str, *words: object) -> Iterator[Callable[[], None]]:
    """Run a program until it is ready. Yield what lets it go on."""
    command = [sys.executable, "-c", text, *map(str, words)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        if program.stdout is None or program.stdin is None or not program.stdout.readline():
            raise RuntimeError("a program of the benchmark did not start")

        def go_on() -> None:
            print(file=program.stdin, flush=True)

        yield go_on
        go_on()
    if program.returncode != 0:
        raise RuntimeError("a program of the benchmark failed")


@cache
def _events() -> dict[str, float]:
    """Return the seconds of each way to store the events, taken in turns: the medians."""
    times: dict[str, list[float]] = {
        "shipped": [], "INSERT": [], "binary INSERT": [],
    }  # fmt: skip
    with _server() as server, tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "agent.journal")
        batches = _fill(path)
        for number in range(ROUNDS):
            times["shipped"].append(_ship(server, path, f"round_{number}"))
            times["INSERT"].append(_insert(server, batches))
            times["binary INSERT"].append(_insert(server, batches, "%b"))
    return {name: statistics.median(each) for name, each in times.items()}


def _fill(path: Path) -> list[tuple[list[str], list[str]]]:
    """Write the journal of an agent. Return its batches: ids, and what is stored for each."""
    bus = Bus()

    @hookable("tool_call", bus=bus)
    def call(name: str, arguments: dict[str, Any]) -> str:
        return "The meeting is at ten."

    with Journal(path) as journal:
        journal.attach(bus)
        for number in range(EVENTS // 2):
            call("send", {"to": "ada@example.org", "number": number})
        journal.flush()
        records = list(journal.cursor("benchmark"))
    if len(records) != EVENTS:
        raise RuntimeError(f"the journal has {len(records)} records, not {EVENTS}")
    found = [records[place : place + BATCH] for place in range(0, EVENTS, BATCH)]
    return [([each.id for each in batch], [_body(each) for each in batch]) for batch in found]


def _body(record: Record) -> str:
    names = ("source", "type", "subject", "time", "run", "data")
    return json.dumps({name: getattr(record, name) for name in names}, separators=(",", ":"))


def _ship(server: Any, path: Path, schema: str) -> float:
    """Return the seconds until a consumer in this process has read all, from another process."""
    _make(server, schema)
    agent = server.url("agent")
    with (
        hookbus.fleet.Fleet(server.url("operator"), schema=schema) as fleet,
        _program(SHIPPER, agent, schema, path) as go_on,
    ):
        events, seen = fleet.events("consumer"), set[str]()
        began = time.perf_counter()
        go_on()
        while len(seen) < EVENTS:
            before = len(seen)
            seen.update(each.id for each in events)
            if len(seen) > before:
                events.commit()
            else:
                time.sleep(0.002)
        return time.perf_counter() - began


def _insert(
    server: Any, batches: list[tuple[list[str], list[str]]], value: str = "%s"
) -> float:
    """Return the seconds of a bare client that inserts the same batches, each a transaction."""
    import psycopg

    with psycopg.connect(server.url("owner"), autocommit=True) as client:
        client.execute("DROP TABLE IF EXISTS bare")
        client.execute("CREATE TABLE bare (id text NOT NULL UNIQUE, body json NOT NULL)")
        statement = (
            "INSERT INTO bare SELECT id, body::json "
            f"FROM unnest({value}::text[], {value}::text[]) AS given (id, body)"
        )
        began = time.perf_counter()
        for batch in batches:
            client.execute(statement, batch)
        return time.perf_counter() - began


@cache
def _decisions(clients: int) -> float:
    """Return the decisions in a second of one `hookbus fleet serve`, for bare clients."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        Path(folder, "central.py").write_text(CENTRAL)
        Path(folder, "tokens").write_text(TOKEN)
        command = [sys.executable, "-m", "hookbus", "fleet", "serve", "central.py"]
        serving = stack.enter_context(subprocess.Popen(
            [*command, "--tokens", "tokens"], cwd=folder, stdout=subprocess.PIPE, text=True
        ))  # fmt: skip
        stack.callback(serving.terminate)
        address = serving.stdout.readline() if serving.stdout is not None else ""
        return asyncio.run(_ask(int(address.strip().rstrip("/").rpartition(":")[2]), clients))


async def _ask(port: int, clients: int) -> float:
    body = json.dumps({
        "subject": {"type": "agent", "id": "anonymous", "properties": {"baggage": {}}},
        "action": {"name": "tool_call", "properties": {"arguments": {
            "name": "read", "arguments": {"path": "notes.txt"},
        }}},
        "resource": {"type": "tool", "id": "read"},
        "context": {"hookbus": 1, "phase": "pre", "deadline": 30.0},
    })  # fmt: skip
    request = (
        f"POST /access/v1/evaluation HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    until = time.perf_counter() + SECONDS / 2

    async def client() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        count = 0
        while time.perf_counter() < until:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            size = int(head.partition("content-length:")[2].split()[0])
            answer = await reader.readexactly(size)
            if json.loads(answer).get("decision") is not True:
                raise RuntimeError(f"the server of the benchmark did not permit: {answer!r}")
            count += 1
        writer.close()
        return count

    return sum(await asyncio.gather(*(client() for _ in range(clients)))) / (SECONDS / 2)


@cache
def _kills() -> tuple[float, ...]:
    """Return the milliseconds from each kill to the first call that it blocks."""
    bus, times = Bus(), []

    @hookable("tool_call", bus=bus)
    def call(name: str) -> None:
        return None

    with (
        _server() as server,
        hookbus.fleet.Fleet(server.url("agent")) as member,
        hookbus.fleet.Fleet(server.url("operator")) as operator,
    ):
        member.join(bus)
        for number in range(KILLS):
            time.sleep(0.5 * number / KILLS)  # at different moments between two questions
            began = time.perf_counter()
            operator.kill(f"tool_{number}", by="ada")
            try:
                while True:
                    call(f"tool_{number}")
                    time.sleep(0.001)
            except HookBlocked:
                times.append((time.perf_counter() - began) * 1e3)
    return tuple(times)


@cache
def _members() -> dict[str, float]:
    """Return what the members cost the server in a second, once all have written a heartbeat."""
    with _server() as server, ExitStack() as stack:
        for number in range(PROCESSES):
            stack.enter_context(_program(MEMBERS_PROGRAM, server.url("agent"), number, MEMBERS))
        before, began = _counted(server), time.perf_counter()
        time.sleep(SECONDS)
        after, seconds = _counted(server), time.perf_counter() - began
    return {name: (after[name] - before[name]) / seconds for name in after}


def _counted(server: Any) -> dict[str, float]:
    [(commits, written)] = server.run_sql(
        "SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = 'fleet'), "
        "n_tup_ins + n_tup_upd FROM pg_stat_user_tables WHERE relname = 'members'"
    )
    return {"commits": commits, "written": written, "CPU": server.cpu_seconds()}
