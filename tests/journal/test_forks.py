"""A program that forks while its threads read journals and stores of approvals."""

import os
import signal
import threading
import time

import pytest

from hookbus._external import sqlite
from hookbus.approvals import Store, _schema
from hookbus.journal import Journal, _file

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

ENOUGH = 60.0


def read_journal(folder):
    with Journal(folder / "journal.db") as journal:
        return list(journal.records())


def read_store(folder):
    return Store(folder / "approvals.db").pending()


@pytest.fixture(params=[(read_journal, _file), (read_store, _schema)], ids=["journal", "store"])
def slow_reader(request, tmp_path, monkeypatch):
    """A function that reads in a thread, until its event is set, and what reads at once."""
    read, module = request.param
    read(tmp_path)
    uri_of, is_reading, may_end = module.uri_of, threading.Event(), threading.Event()

    def slow(*values):
        if threading.current_thread() is reader:
            is_reading.set()
            may_end.wait(ENOUGH)
        return uri_of(*values)

    reader = threading.Thread(target=read, args=[tmp_path])
    monkeypatch.setattr(module, "uri_of", slow)
    reader.start()
    assert is_reading.wait(ENOUGH)
    yield may_end, lambda: read(tmp_path)
    may_end.set()
    reader.join(ENOUGH)


def fork(work):
    """Return a child that works, and ends with 1 if that fails or takes ten seconds."""
    child = os.fork()
    if child:
        return child
    signal.alarm(10)
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def test_a_fork_waits_until_no_other_thread_is_in_sqlite(slow_reader):
    # SQLite has locks of its own, and a child would wait forever for one that was held.
    may_end, read = slow_reader
    children = []
    forking = threading.Thread(target=lambda: children.append(fork(read)))
    forking.start()
    forking.join(0.2)
    has_waited = not children
    may_end.set()
    forking.join(ENOUGH)
    assert has_waited and os.waitpid(children[0], 0)[1] == 0


def test_a_fork_waits_for_a_limited_time_and_its_child_for_no_thread_of_the_parent(
    slow_reader, monkeypatch
):
    def fork_again():
        monkeypatch.setattr(sqlite, "FORK_SECONDS", ENOUGH)
        os.waitpid(fork(time.time), 0)

    monkeypatch.setattr(sqlite, "FORK_SECONDS", 0.1)
    assert os.waitpid(fork(fork_again), 0)[1] == 0
