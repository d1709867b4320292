"""Measure how long each query of a night's journal takes, each as a separate command.

    python -m tests.cli.night FILE             make the night of 1,000,000 calls, if it is missing
    python -m tests.cli.night FILE CALLS       make it with this number of calls

Each command runs three times. Its shortest time counts, from the start of its process to its end.
Then calls arrive at 10,000 events a second, and `hookbus log --follow` must keep up. The exit code
is 1 if it was too late, or if a query took a processor for more than two seconds.
"""

import itertools
import os
import resource
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

from hookbus import Block, Bus, HookBlocked, baggage, hookable
from hookbus.journal import Journal

from .conftest import environment

ROUNDS = 3
EVENTS_A_SECOND, SECONDS = 10_000, 20
MOST_SECONDS = 2.0

QUESTIONS = {
    "which hooks ran, how did they end?": "log",
    "the same, of a hook": "log --hook send",
    "the same, of a session": "log --session s-7",
    "the same, of the last hours": "log --since 8h --limit 1000",
    "in what order, and who changed this argument?": "log show {call}",
    "which calls did it change?": "log --receiver redact",
    "why was this blocked?": "log --outcome blocked",
    "the same, in a session": "log --outcome blocked --session s-7",
    "what broke?": "log --outcome failed",
    "the same, of one receiver": "log --receiver archive --outcome failed",
    "what did the methods raise?": "log --outcome raised",
    "what has not ended?": "log --outcome unfinished",
    "a receiver that did nothing": "log --receiver nobody",
}


def agents(bus):
    """Return what runs at night: of a hundred calls one is blocked and two are changed; in one of
    a thousand an observer breaks, one of five thousand raises.
    """

    @hookable("send", bus=bus)
    def send(to, number):
        if number % 5_000 == 4_999:
            raise ValueError(number)
        return {"to": to}

    @bus.signal("pre_send").connect_via(name="redact")
    def redact(send, to):
        return {"to": "bob"} if to == "carl" else None

    @bus.signal("pre_send").connect_via(role="guard", name="known")
    def known(send, to):
        return Block("nobody knows them") if to == "eve" else None

    @bus.signal("post_send").connect_via(role="observe", name="archive")
    def archive(send, number):
        if number % 1_000 == 999:
            raise OSError("full")

    return send, (redact, known, archive)


def played(send, number):
    """Make one call."""
    to = {0: "eve", 50: "carl", 51: "carl"}.get(number % 100, "ada")
    with suppress(HookBlocked, ValueError), baggage(session=f"s-{number // 100}"):
        send(to, number)


def night(path, calls):
    """Write a night's calls."""
    bus = Bus(values=True)
    send, receivers = agents(bus)
    with Journal(path) as journal:
        journal.attach(bus)
        for number in range(calls):
            played(send, number)
            if number % 1_000 == 0:
                journal.flush()
        assert journal.lost == 0
        del receivers


def asked(words, path):
    """Run a command, and return its wall and processor seconds, and how many lines it printed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-m", "hookbus", *words, "--journal", path], env=environment(),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, used, ran.stdout.count("\n")


def questions(path):
    """Ask each question, and print how long that takes; return whether none took too long."""
    with closing(sqlite3.connect(path)) as db:
        [(call,)] = db.execute("SELECT max(call_id) FROM turns WHERE did = 'mutated'")
    longest = 0.0
    for question, words in QUESTIONS.items():
        runs = [asked(words.format(call=call).split(), path) for _ in range(ROUNDS)]
        wall, used, lines = min(runs)
        longest = max(used, longest)
        print(f"{wall:5.2f} s, {used:4.2f} of a processor, {lines:4} lines: {question}"
              f"  hookbus {words.format(call=call)}", flush=True)  # fmt: skip
    return longest < MOST_SECONDS


def followed(path):
    """Have calls come in at a pace, and print how far behind `log --follow` is; return whether it
    kept up.
    """
    bus = Bus()
    send, receivers = agents(bus)
    follows = subprocess.Popen(
        [sys.executable, "-m", "hookbus", "log", "--follow", "--limit", "0", "--journal", path],
        env=environment(), stdout=subprocess.PIPE,
    )  # fmt: skip
    time.sleep(3)
    calls = EVENTS_A_SECOND * SECONDS // 2
    with follows, Journal(path) as journal:
        journal.attach(bus)
        os.set_blocking(follows.stdout.fileno(), False)
        seen, began = 0, time.perf_counter()
        for number in itertools.count(1):
            if number <= calls:
                played(send, number)
            if number % 500 == 0 or number > calls:
                journal.flush()
                seen += (follows.stdout.read() or b"").count(b"\n")
                due = began + min(number, calls) / (EVENTS_A_SECOND / 2)
                time.sleep(max(0.01, due - time.perf_counter()))
            if number == calls:
                wrote, behind = time.perf_counter() - began, calls - seen
            if seen >= calls:
                break
        caught_up = time.perf_counter() - began - wrote
        follows.terminate()
    print(f"{2 * calls:,} events in {wrote:.1f} s, {2 * calls / wrote:,.0f} a second: log --follow "
          f"was {behind} calls behind at their end, and had them all {caught_up:.1f} s later")
    del receivers
    return caught_up < MOST_SECONDS


def main(file, calls=1_000_000):
    path = Path(file)
    if not path.exists():
        night(path, int(calls))
    print(f"{path.stat().st_size / 1e6:,.0f} MB; load {os.getloadavg()[0]:.1f}")
    is_fast, keeps_up = questions(path), followed(path)
    return int(not (is_fast and keeps_up))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
