"""Kill processes that write a journal, at random moments, and check what remains.

    python -m tests.journal.kill FILE ROUNDS [normal | full | loop]

Every process notes each acknowledgement before it continues: a body ran, a call returned, a flush
returned, or a record was passed on. A note survives a kill. With `loop`, each process makes calls
as fast as it can, and counts them in memory that its parent can read.
"""

import asyncio
import mmap
import os
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from hookbus import Bus, baggage, hookable
from hookbus.journal import Journal


class Notes:
    """A file of lines, each written by one call of the system."""

    def __init__(self, path):
        self._file = os.open(f"{path}.notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def add(self, *words):
        os.write(self._file, " ".join(map(str, words)).encode() + b"\n")


def hooks(path, durability, notes):
    bus = Bus()
    journal = Journal(path, durability=durability)
    journal.attach(bus)
    journal.durable("pay", bus=bus)

    @hookable("pay", bus=bus)
    def pay(number):
        notes.add("ran", number)

    @hookable("pay", bus=bus)
    async def pay_async(number):
        notes.add("ran", number)

    @hookable(bus=bus)
    def look(number):
        return number

    return journal, pay, pay_async, look


def numbers():
    """Yield numbers of this process's own, each around what is done with it."""
    for i in range(10**9):
        number = f"{os.getpid()}-{i}"
        with baggage(number=number):
            yield number


def write(path, durability, notes, ready):
    journal, pay, _, look = hooks(path, durability, notes)
    ready()
    for number in numbers():
        pay(number)
        notes.add("returned", number)
        for _ in range(random.randrange(5)):
            look(number)
            notes.add("looked", number)
        if random.random() < 0.3:
            look(number)
            journal.flush()
            notes.add("flushed", number)


def write_async(path, durability, notes, ready):
    _, _, pay, _ = hooks(path, durability, notes)

    async def one(number):
        with baggage(number=number):
            await pay(number)
        notes.add("returned", number)

    async def all():
        for i in range(10**9):
            await asyncio.gather(*(one(f"{os.getpid()}-{i}-{j}") for j in range(5)))

    ready()
    asyncio.run(all())


def hand_on(path, durability, notes, ready):
    journal = Journal(path, durability=durability)
    cursor = journal.cursor("outbox")
    ready()
    while True:
        for record in cursor:
            notes.add("handed", record.id)
            if random.random() < 0.01:
                cursor.commit()
        cursor.commit()


def started(role, path, durability):
    """Start a process by a fork, and wait until it works."""
    mine, its = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(mine)
        try:
            role(path, durability, Notes(path), lambda: os.close(its))
        finally:
            os._exit(1)
    os.close(its)
    os.read(mine, 1)
    os.close(mine)
    return child


def problems(path, durability):
    """Return what must not be: something acknowledged that is gone, a body without an intent."""
    with open(f"{path}.notes", "rb") as notes:
        lines = [line.decode().split() for line in notes if line.endswith(b"\n")]
    said = defaultdict(set)
    for word, number in lines:
        said[word].add(number)
    with Journal(path, durability=durability) as journal:
        found = [*journal.verify().problems]
        for record in journal.cursor("outbox"):
            said["handed"].add(record.id)
        kept = [*journal.records()]
        unfinished = {record.id for record in journal.unfinished()}
    by_type = {kind: [] for kind in ("intent", "outcome", "started", "finished")}
    for record in kept:
        by_type[record.type.removeprefix("hookbus.")].append(record)
    numbers = {kind: Counter(record.baggage["number"] for record in records)
               for kind, records in by_type.items()}  # fmt: skip
    looked = {record.baggage["number"] for record in by_type["finished"]
              if record.subject == "look"}  # fmt: skip
    intents, outcomes = numbers["intent"], numbers["outcome"]
    found += [f"{number} ran without an intent" for number in said["ran"] - intents.keys()]
    found += [f"the outcome of {number} is gone" for number in said["returned"] - outcomes.keys()]
    found += [f"{number} was flushed and is gone" for number in said["flushed"] - looked]
    found += [f"{number} was looked at and is gone" for number in said["looked"] - looked]
    found += [f"{record.id} was never handed on" for record in kept
              if record.id not in said["handed"]]  # fmt: skip
    found += [f"{number} has an outcome and no intent" for number in outcomes - intents]
    alone = {record.id for record in by_type["intent"]
             if record.baggage["number"] not in outcomes}  # fmt: skip
    if alone != unfinished:
        found.append(f"{len(alone)} intents without an outcome, {len(unfinished)} unfinished")
    if [record.seq for record in kept] != [*range(1, len(kept) + 1)]:
        found.append("the sequence has a gap")
    acknowledged = sum(len(said[word]) for word in ("ran", "returned", "looked", "flushed"))
    return found, acknowledged, len(kept), len(unfinished)


def call_in_a_loop(path, counter):
    """Call a hook as fast as possible, and count the calls that have returned."""
    bus = Bus()
    Journal(path).attach(bus)

    @hookable(bus=bus)
    def look(number):
        return number

    for number in range(1, 10**9):
        with baggage(number=number):
            look(number)
        counter[:8] = number.to_bytes(8)


def kill_loops(path, rounds):
    """Kill processes that call hooks in a loop. Return the number of calls, of records, and what
    is wrong.
    """
    calls, found = 0, []
    for number in range(rounds):
        counter = mmap.mmap(-1, 8)
        child = os.fork()
        if child == 0:
            call_in_a_loop(path, counter)
        while not any(counter[:8]):
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        returned = int.from_bytes(counter[:8])
        calls += returned
        with Journal(path) as journal:
            journal.flush()
            pid = f"/{child}"
            kept = [record.baggage["number"] for record in journal.records(type="finished")
                    if record.source.endswith(pid)]  # fmt: skip
        if kept not in ([*range(1, returned + 1)], [*range(1, returned + 2)]):
            found.append(f"round {number}: {returned} calls, {len(kept)} records, last {kept[-1:]}")
    with Journal(path) as journal:
        found += journal.verify().problems
        records = sum(1 for _ in journal.records())
    found += [f"{each.name} was left" for each in Path(path).parent.glob("*-spool-*")]
    return calls, records, found


def main(path, rounds, durability="normal"):
    Journal(path).close()
    if durability == "loop":
        calls, records, found = kill_loops(path, rounds)
        print(*found[:20], sep="\n")
        print(f"loop: {rounds} kills, {calls} calls, {records} records, {len(found)} problems")
        return 1 if found or not calls else 0
    roles = [write, write, write_async, hand_on]
    running, kills = {}, 0

    def start():
        for i, role in enumerate(roles):
            if i not in running:
                running[i] = started(role, path, durability)

    for _ in range(rounds):
        start()
        time.sleep(random.uniform(0, 0.05))
        for i in random.sample(range(len(roles)), random.randint(1, len(roles))):
            kills += 1
            gone = running.pop(i)
            os.kill(gone, signal.SIGKILL)
            os.waitpid(gone, 0)
    start()
    until = time.monotonic() + 20
    while not os.path.getsize(f"{path}.notes") and time.monotonic() < until:
        time.sleep(0.01)  # a busy machine may have let nobody acknowledge anything yet
    for each in running.values():
        os.kill(each, signal.SIGKILL)
        os.waitpid(each, 0)
    found, acknowledged, records, unfinished = problems(path, durability)
    print(*found[:20], sep="\n")
    print(f"{durability}: {rounds} rounds, {kills} kills, {acknowledged} acknowledged, "
          f"{records} records, {unfinished} unfinished, {len(found)} problems")  # fmt: skip
    return 1 if found or not acknowledged else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
