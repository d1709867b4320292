"""Fleet.ship in a program that forks."""

import os
import threading

from hookbus.fleet import _shipping

from .postgres import ENOUGH
from .test_events import steps_of, until


def test_a_forked_process_ships_what_it_does(made, journal):
    step = steps_of(journal)
    made.open("agent").ship(journal)
    step("parent")
    child = os.fork()
    if child == 0:
        try:
            step("child")
            journal.flush()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    events = made.open("operator").events("siem")
    seen = []
    until(lambda: seen.extend(events) or len({each.run for each in seen}) == 2)


def test_a_fork_waits_until_no_thread_reads_a_journal(made, journal, monkeypatch):
    # SQLite has locks of its own, and a child would wait forever for one that was held.
    body, is_reading, may_end = _shipping._body, threading.Event(), threading.Event()
    children = []

    def slow(record):
        is_reading.set()
        may_end.wait(ENOUGH)
        return body(record)

    def fork():
        children.append(os.fork() or os._exit(0))

    monkeypatch.setattr(_shipping, "_body", slow)
    made.open("agent").ship(journal)
    steps_of(journal)("parent")
    assert is_reading.wait(ENOUGH)
    forking = threading.Thread(target=fork)
    forking.start()
    forking.join(0.2)
    has_waited = not children
    may_end.set()
    forking.join(ENOUGH)
    assert has_waited and os.waitpid(children[0], 0)[1] == 0
