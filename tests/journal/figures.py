"""Measure what a journal costs, each figure next to the same work by hand in one run.

    python -m tests.journal.figures [calls of the night, 1000000]

Cases alternate, and the shortest time of each counts. Only the ratios apply to other machines.
"""

import gc
import json
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

from hookbus import Block, Bus, HookBlocked, baggage, hookable
from hookbus.journal import Journal, replay
from hookbus.journal._chain import columns, row_of

ROUNDS = 5
BURSTS, BURST = 200, 200


def raw(path, synchronous):
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA synchronous = {synchronous}")
    return db


def mailbox(bus):
    class Mailbox:
        @hookable("send", bus=bus)
        def send(self, to, text):
            return {"to": to, "text": text}

    @bus.signal("pre_send").connect_via(role="guard")
    def known(mailbox, to):
        return Block("nobody knows them") if to == "eve" else None

    return Mailbox()


def events(many):
    """Return what `as_dict` makes of the events of so many calls."""
    bus, said = Bus(), []
    bus.events.connect(lambda bus, event: said.append(event.as_dict()))
    box = mailbox(bus)
    for i in range(many):
        box.send("ada", i)
    return said


def seconds(work):
    gc.collect()
    gc.disable()
    began = time.perf_counter()
    work()
    took = time.perf_counter() - began
    gc.enable()
    return took


def compared(title, ours, theirs, each, unit):
    """Print how long two take that do the same, in turns."""
    pairs = []
    for i in range(ROUNDS):
        order = (ours, theirs) if i % 2 else (theirs, ours)
        times = {work: seconds(work) for work in order}
        pairs.append((times[ours], times[theirs]))
    mine, other = (min(side) / each * 1e6 for side in zip(*pairs))
    ratio = statistics.median(b / a for a, b in pairs)
    print(f"{title}: {mine:.1f} µs a {unit}, by hand {other:.1f} µs: {ratio:.2f} of its rate")


def grouped(folder, durability):
    """Records in groups, as JSON, into the same columns with the same indexes, and without any."""
    said = events(20_000)
    schema = Path(__file__).parents[2].joinpath("hookbus/journal/tables.sql").read_text()
    synchronous = "FULL" if durability == "full" else "NORMAL"
    names = (f"grouped-{durability}-{number}.db" for number in count())
    for indexed in (True, False):

        def ours():
            with Journal(Path(folder) / next(names), durability=durability) as journal:
                for data in said:
                    journal._writer._mover.spool.append(row_of(data).data)

        def theirs(indexed=indexed):
            with closing(raw(Path(folder) / next(names), synchronous)) as db:
                for statement in schema.split(";"):
                    if "TABLE chain" in statement or (indexed and "INDEX" in statement):
                        db.execute(statement)
                insert = f"INSERT INTO chain VALUES ({', '.join('?' * 13)})"
                for at in range(0, len(said), 8192):
                    db.execute("BEGIN")
                    rows = [
                        (at + i + 1, 1, *columns(data), json.dumps(data), bytes(32))
                        for i, data in enumerate(said[at : at + 8192])
                    ]
                    db.executemany(insert, rows)
                    db.execute("COMMIT")

        what = "the same indexes" if indexed else "no index"
        compared(f"grouped, {durability}, {what}", ours, theirs, len(said), "record")


def durable(folder, durability):
    """Durable calls, and FULL commits of the record's bytes: one a call, or two where the outcome
    is to outlive a power cut, too.
    """
    bus = Bus()
    box = mailbox(bus)
    data = json.dumps(events(1)[0])
    with Journal(Path(folder) / f"durable-{durability}.db", durability=durability) as journal:
        journal.durable("send", bus=bus)
        with closing(raw(Path(folder) / f"raw-{durability}.db", "FULL")) as db:
            db.execute("CREATE TABLE records (seq INTEGER PRIMARY KEY, data TEXT)")

            def ours():
                for i in range(100):
                    box.send("ada", i)

            commits = 2 if durability == "full" else 1

            def theirs():
                for _ in range(100 * commits):
                    db.execute("INSERT INTO records (data) VALUES (?)", [data])

            title = f"durable calls, {durability}, against {commits} FULL commits"
            compared(title, ours, theirs, 100, "call")


def attached(folder):
    """What a journal adds to a call: to each of a burst of calls, with pauses between bursts."""
    buses = {"alone": Bus(), "with a listener that does nothing": Bus(), "with a journal": Bus()}
    buses["with a listener that does nothing"].events.connect(lambda bus, event: None)
    boxes = {name: mailbox(bus) for name, bus in buses.items()}
    times = {name: [] for name in boxes}
    with Journal(Path(folder) / "attached.db") as journal:
        journal.attach(buses["with a journal"])
        for _ in range(BURSTS):
            for name, box in boxes.items():
                send, began, cpu = box.send, time.perf_counter(), time.thread_time()
                for i in range(BURST):
                    send("ada", i)
                spent = time.perf_counter() - began, time.thread_time() - cpu
                times[name].append([each / BURST * 1e6 for each in spent])
                journal.flush()
    for name, rows in times.items():
        wall, cpu = (min(column) for column in zip(*rows))
        typical = statistics.median(wall for wall, _ in rows)
        print(f"a call {name}: {wall:.1f} µs at best, {typical:.1f} µs in the median, "
              f"{cpu:.1f} µs of CPU at best")  # fmt: skip


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def night(folder, calls):
    """A night's calls: how large, how long to verify, whether memory grows."""
    path, bus = Path(folder) / "night.db", Bus(values=True)
    box, grew = mailbox(bus), []
    began = time.perf_counter()
    with Journal(path) as journal:
        journal.attach(bus)
        for i in range(calls):
            with suppress(HookBlocked), baggage(session=f"s-{i // 100}"):
                box.send("eve" if i % 100 == 0 else "ada", i)
            if i % (calls // 10) == calls // 10 - 1:
                grew.append(memory())
        journal.flush()
        took, lost = time.perf_counter() - began, journal.lost
    size = path.stat().st_size
    print(
        f"a night of {calls} calls: {took:.0f} s, {size / 1e6:.0f} MB, {size / calls:.0f} bytes a "
        f"call, {lost} records lost; memory {grew[0]} MB after a tenth, {grew[-1]} MB at the end"
    )
    reader = Journal.reading(path)
    began = time.perf_counter()
    found = reader.verify()
    print(f"verified in {time.perf_counter() - began:.0f} s: {found}; memory {memory()} MB")
    for name, query in QUERIES.items():
        with closing(sqlite3.connect(path)) as db:
            began = time.perf_counter()
            rows = len(db.execute(query).fetchall())
            print(f"  {time.perf_counter() - began:6.3f} s  {name} ({rows} rows)")
    return reader


QUERIES = {
    "calls by hook and outcome": "SELECT * FROM hooks",
    "all calls counted": "SELECT count(*) FROM calls",
    "the last 50 calls": "SELECT * FROM calls ORDER BY time DESC LIMIT 50",
    "the last 50 blocked calls":
        "SELECT * FROM calls WHERE outcome = 'blocked' ORDER BY time DESC LIMIT 50",
    "the last 50 calls of a hook":
        "SELECT * FROM calls WHERE hook = 'send' ORDER BY time DESC LIMIT 50",
    "the calls of a session": "SELECT * FROM calls WHERE session = 's-7' ORDER BY time",
    "one call":
        "SELECT * FROM calls WHERE run = (SELECT id FROM runs) "
        "AND call_id = (SELECT call_id FROM chain WHERE seq = 77777)",
    "calls that did not end": "SELECT * FROM calls WHERE outcome IS NULL",
    "what each receiver did": "SELECT * FROM receivers",
    "attempts without an outcome": "SELECT * FROM attempts WHERE outcome IS NULL",
}  # fmt: skip


def replayed(folder, calls=100_000):
    """A night's calls under a guard that has changed."""
    bus = Bus(values=True)
    box = mailbox(bus)
    with Journal(Path(folder) / "replayed.db") as journal:
        journal.attach(bus)
        for i in range(calls):
            box.send("ada", i)
            if i % 1000 == 0:
                journal.flush()
        new = Bus()
        new.signal("pre_send").connect(
            lambda box, text: Block("odd") if text % 1000 == 7 else None, role="guard", name="new"
        )
        began = time.perf_counter()
        found = replay(journal, new)
        took = time.perf_counter() - began
    exact = [each.arguments["text"] for each in found.differences] == [*range(7, calls, 1000)]
    print(
        f"replayed {found.calls} calls in {took:.0f} s: {len(found.differences)} differences, "
        f"{'exactly those' if exact else 'NOT those'} of the guard; memory {memory()} MB"
    )


def main(calls=1_000_000):
    with tempfile.TemporaryDirectory() as folder:
        for durability in ("normal", "full"):
            grouped(folder, durability)
        for durability in ("normal", "full"):
            durable(folder, durability)
        attached(folder)
        replayed(folder)
        night(folder, calls)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
