"""Kill agents, shippers, consumers, approvers and the server at random moments, and check what
remains.

    python -m tests.fleet.kill --rounds 300 --seed 31 --flowing
"""

import argparse
import contextlib
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from hookbus import HookError
from hookbus.fleet import Fleet
from hookbus.journal import Journal

from .killed import DENIED, FORBIDDEN, LATE, LIMIT, patiently
from .postgres import ENOUGH, Postgres

PROCESSES = (
    ("agent", "one"), ("agent", "two"), ("consumer", "one"), ("consumer", "two"),
    ("approver", "one"), ("shipper", "one"), ("latecomer", "one"),
)  # fmt: skip
AS_OPERATOR = ("consumer", "approver")
CRASHES = ("crash", "kill", "kill_backend")


class Kill:
    """Processes around one fleet, whose schema exists already."""

    def __init__(self, postgres, schema, folder, seed, is_flowing=False):
        self.figures = Counter()
        self._is_flowing = is_flowing
        self._postgres, self._schema, self._folder = postgres, schema, Path(folder)
        self._moments = random.Random(seed)
        self._running, self._started, self._killed_tools = {}, 0, []
        self._before = {}  # for the notes of a process, the tools killed before it began
        with self._operator() as control:
            control.kill("killed_early", by="ada")

    def run(self, rounds):
        """Kill some processes in each round, and the server in a quarter of them."""
        for key in PROCESSES:
            self._start(key)
        for number in range(rounds):
            published = self._published()
            time.sleep(self._moments.uniform(0.05, 2.5))  # many live long enough to work
            if self._is_flowing:
                self._wait_for_events(published)
            self.figures["rounds with events of agents"] += self._published() > published
            for key in self._moments.sample(PROCESSES, self._moments.randint(1, 3)):
                self._kill(key)
                self._start(key)
            if number % 4 == 3:
                self._crash(CRASHES[number // 4 % len(CRASHES)])
            if number and number % (rounds // LATE + 1) == 0:
                self._kill_a_tool()
        self._wait_for_work()

    def close(self):
        """Kill all processes."""
        for key in list(self._running):
            self._kill(key)

    def check(self):
        """Publish and read what is left, and compare everything with everything."""
        self.close()
        with contextlib.ExitStack() as closing:
            agent = closing.enter_context(self._opened("agent"))
            journals = [self._folder / f"{name}.db" for name in ("one", "two")]
            for path in journals:
                ship_all(agent, path)
            control = closing.enter_context(self._operator())
            siem = control.events("siem")
            last = [each.id for each in siem]
            stream = [each.id for each in control.events("audit")]
            history = control.approvals().history()
        self._check_events(journals, stream, last)
        self._check_calls(history)

    def _check_events(self, journals, stream, last):
        assert len(stream) == len(set(stream)), "an event is twice in the stream"
        kept = [[each.id for each in Journal.reading(path).records()] for path in journals]
        place = {id: number for number, id in enumerate(stream)}
        for ids in kept:
            assert all(id in place for id in ids), "an event is lost"
            assert sorted(ids, key=place.get) == ids, "the events of a journal changed order"
        late = {words[1] for _, words in self._notes("latecomer")}
        assert late <= place.keys(), "an event of an open transaction is lost"
        others = place.keys() - {id for ids in kept for id in ids}
        assert all(id.startswith("late") for id in others), "an event is in no journal"
        runs = [last, *self._read_by_consumers()]
        for ids in runs:
            first = place[ids[0]] if ids else 0
            assert stream[first : first + len(ids)] == ids, (
                "an event overtook another, or a consumer read it twice"
            )
        assert {id for ids in runs for id in ids} == place.keys(), "a consumer has lost an event"
        self.figures.update({"events": len(stream), "events of late transactions": len(others)})

    def _check_calls(self, history):
        done, used = Counter(), Counter()
        ids = [each.request.id for each in history]
        assert len(ids) == len(set(ids))
        for each in history:
            used[int(each.request.arguments["number"])] += each.state == "used"
        for agent, words in self._notes("agent"):
            done[tuple(words)] += 1
            if words[0] == "ran":
                assert words[1] not in self._before[agent], f"{words} after its kill"
            if words[0] == "killed":
                self._before[agent].add(words[1])
        paid = {int(words[1]): times for words, times in done.items() if words[0] == "paid"}
        for number, times in paid.items():
            assert number not in (*DENIED, *FORBIDDEN), f"payment {number} passed a guard"
            assert times <= used[number], f"an approval of payment {number} was used twice"
        counted = done["counted", "search"]
        assert counted <= LIMIT, "the limit was exceeded"
        self.figures.update({
            "requests": len(history), "approvals used": used.total(),
            "payments": sum(paid.values()), "counted calls": counted,
            "calls of killed tools blocked": sum(
                times for words, times in done.items() if words[0] == "killed"
            ),
        })  # fmt: skip

    def _read_by_consumers(self):
        found = {}
        for process, words in self._notes("consumer"):
            found.setdefault(process, []).append(words[0])
        return found.values()

    def _notes(self, role):
        """Yield the file of each process of this role, and the words of each line in it."""
        for path in sorted(self._folder.glob(f"{role}-*.notes")):
            for line in path.read_text().splitlines():
                yield path, line.split()

    def _start(self, key):
        role, name = key
        self._started += 1
        notes = self._folder / f"{role}-{self._started:05}.notes"
        notes.touch()
        url = self._postgres.url("operator" if role in AS_OPERATOR else "agent")
        words = [role, name, notes, self._folder, url, self._schema]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fleet.killed", *words],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._running[key] = process, notes
        self._before[notes] = {"killed_early", *self._killed_tools}

    def _kill(self, key):
        process, _ = self._running.pop(key)
        assert process.poll() is None, f"{key} ended by itself with {process.returncode}"
        process.kill()
        process.wait()
        self.figures[f"{key[0]}s killed"] += 1

    def _crash(self, kind):
        getattr(self._postgres, kind)()
        self.figures["server killed"] += 1

    def _kill_a_tool(self):
        tool = f"late_{len(self._killed_tools)}"
        with self._operator() as control:
            patiently(lambda: control.kill(tool, by="ada"))
        self._killed_tools.append(tool)

    def _wait_for_work(self):
        """Wait until both agents make calls, and payments have been made."""
        agents = [notes for key, (_, notes) in self._running.items() if key[0] == "agent"]
        until = time.monotonic() + ENOUGH
        while not (
            all(notes.read_text() for notes in agents)
            and any(words[0] == "paid" for _, words in self._notes("agent"))
        ):
            assert time.monotonic() < until, "the processes did not come to work"
            time.sleep(0.05)

    def _wait_for_events(self, published):
        """Wait until the agents have published more events than this."""
        until = time.monotonic() + ENOUGH
        while self._published() == published:
            assert time.monotonic() < until, "the agents publish no events"
            time.sleep(0.05)

    def _published(self):
        """Return the number of events that the agents have published."""
        statement = f"SELECT count(*) FROM {self._schema}.events WHERE member <> 'late'"
        [(count,)] = self._postgres.run_sql(statement)
        return count

    def _opened(self, role):
        until = time.monotonic() + ENOUGH
        while True:
            try:
                return Fleet(self._postgres.url(role), schema=self._schema)
            except HookError:  # the server may still be starting
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def _operator(self):
        return self._opened("operator")


def ship_all(fleet, path):
    """Publish what is left in a journal."""
    with Journal(path) as journal:
        shipping = fleet.ship(journal)
        until = time.monotonic() + ENOUGH
        while shipping.lag():
            assert time.monotonic() < until, shipping.problem
            time.sleep(0.01)


def run(postgres, schema, folder, rounds, seed, is_flowing=False):
    """Kill processes in rounds, check what remains, and return what was counted."""
    kill = Kill(postgres, schema, folder, seed, is_flowing)
    try:
        kill.run(rounds)
        kill.check()
    finally:
        kill.close()
    return kill.figures


def main():
    """Run with a server of its own, and print what was counted."""
    parser = argparse.ArgumentParser(prog="python -m tests.fleet.kill")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument(
        "--flowing", action="store_true", help="in each round, wait for events of the agents"
    )
    options = parser.parse_args()
    postgres, began = Postgres(), time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            Fleet.make(
                postgres.url("owner"), schema="killed", agents="agent", operators="operator"
            )  # fmt: skip
            figures = run(
                postgres, "killed", folder, options.rounds, options.seed, options.flowing
            )  # fmt: skip
    finally:
        postgres.remove()
    print(f"{options.rounds} rounds with seed {options.seed}: {time.monotonic() - began:.0f} s")
    figures["events per round"] = figures["events"] // options.rounds
    for name, number in sorted(figures.items()):
        print(f"{number:8} {name}")
    print("0 lost, 0 doubled, 0 overtaken, 0 used twice, 0 past a guard")


if __name__ == "__main__":
    main()
