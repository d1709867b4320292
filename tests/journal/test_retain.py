"""What is old is dropped, the chain stays whole, and no reader loses what it has not read."""

import os
import sqlite3
import time
from pathlib import Path

import attrs
import pytest

from hookbus import HookError
from hookbus.journal import Journal, Retained

from .conftest import Bank


@pytest.fixture
def journal(path, bank):
    with Journal(path) as journal:
        journal.attach(bank.bus)
        yield journal


def aged(path, seqs, days):
    """Have records be old, as far as `retain` looks."""
    db = sqlite3.connect(path)
    with db:
        db.execute(f"UPDATE chain SET time = time - {days} * 86400 WHERE seq <= {seqs}")
    db.close()


def test_what_is_older_than_so_many_days_is_dropped_and_the_rest_verifies(journal, bank, path):
    for _ in range(10):
        bank.pay("ada")
    early = journal.checkpoint()
    for _ in range(10):
        bank.pay("ada")
    late = str(journal.checkpoint())
    aged(path, 20, 40)
    assert journal.retain(days=50) == Retained(0, None)
    dropped = journal.retain(days=30)
    assert dropped == Retained(20, attrs.evolve(early, is_dropped=True))
    kept = list(journal.records())
    assert [each.seq for each in kept] == [*range(21, 42)]
    assert kept[-1].type == "hookbus.retained" and kept[-1].data["through"] == 20
    assert journal.verify(str(dropped.checkpoint), late).ok and journal.verify().records == 21
    bank.pay("ada")
    assert journal.retain(days=30).records == 0 and journal.verify(late).ok
    db = sqlite3.connect(path)
    with db:
        db.execute("DELETE FROM chain WHERE seq = 41")
    db.close()
    problems = journal.verify().problems
    assert any("no record says so" in each for each in problems)


def test_a_file_that_is_too_large_is_cut_to_about_its_size(journal, bank, path):
    for _ in range(2000):
        bank.pay("ada")
    journal.flush()
    pages = size_of(path)
    assert journal.retain(bytes=pages // 4).records > 2000
    assert size_of(path) < pages // 3
    kept = sum(1 for _ in journal.records())
    assert 300 < kept < 1500 and journal.verify().ok
    assert journal.retain(bytes=0).records == kept and journal.verify().ok
    assert [each.type for each in journal.records()] == ["hookbus.retained"]


def size_of(path):
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return path.stat().st_size


def test_a_cut_that_was_not_finished_leaves_a_whole_chain_and_is_finished_the_next_time(
    journal, bank, path, monkeypatch
):
    for _ in range(10):
        bank.pay("ada")
    with monkeypatch.context() as patched:
        patched.setattr("hookbus.journal._retain.SLICE", 4)
        transact, times = journal._writer.transact, iter(range(10))

        def killed(do):
            if next(times) == 2:
                raise KeyboardInterrupt
            transact(do)

        patched.setattr(journal._writer, "transact", killed)
        with pytest.raises(KeyboardInterrupt):
            journal.retain(days=0)
    kept = [each.seq for each in journal.records()]
    assert journal.verify().ok and kept == [*range(9, 21), 21, 22]
    assert journal.retain(days=0).records == 14 and journal.verify().ok
    assert [each.type for each in journal.records()] == ["hookbus.retained"]


def target_of(link):
    try:
        return os.readlink(link)
    except FileNotFoundError:  # the list itself had a file open
        return ""


def test_a_cursor_reads_on_where_it_was_committed_whoever_died_in_between(journal, bank, path):
    bank.pay("ada")
    cursor = journal.cursor("outbox")
    assert [each.seq for each in cursor] == [1, 2]
    bank.pay("ada")
    assert [each.seq for each in cursor] == [3, 4] and list(cursor) == []
    again = journal.cursor("outbox")
    assert [next(again).seq, next(again).seq] == [1, 2]
    again.commit()
    with Journal(path) as other:
        third = other.cursor("outbox")
        assert [each.id for each in third] == [each.id for each in journal.records(after=2)]
        third.commit()
    again.commit()  # it is behind, and takes nothing back
    assert list(journal.cursor("outbox")) == []
    assert [each.seq for each in journal.cursor("other")] == [1, 2, 3, 4]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files cannot be listed")
def test_a_cursor_of_a_closed_journal_still_commits_and_leaves_no_file_open(journal, bank, path):
    bank.pay("bob")
    cursor = journal.cursor("outbox")
    next(cursor)
    journal.close()
    cursor.commit()
    cursor.rewind()
    assert [each.seq for each in cursor] == [2]
    assert not [each for each in Path("/proc/self/fd").iterdir() if str(path) in target_of(each)]


def test_a_cursor_goes_back_to_what_was_committed_and_counts_what_was_not(journal, bank, path):
    bank.pay("ada")
    cursor = journal.cursor("outbox")
    assert cursor.lag() == 2 and next(cursor).seq == 1
    cursor.commit()
    assert next(cursor).seq == 2 and cursor.lag() == 1
    cursor.rewind()
    assert next(cursor).seq == 2
    with Journal(path) as other:
        third = other.cursor("outbox")
        list(third)
        third.commit()
    cursor.rewind()
    assert cursor.lag() == 0 and list(cursor) == []
    cursor.forget()
    cursor.rewind()
    assert cursor.lag() == 2 and next(cursor).seq == 1


def test_nothing_is_dropped_that_a_cursor_has_not_committed(journal, bank):
    for _ in range(5):
        bank.pay("ada")
    cursor = journal.cursor("outbox")
    read = [next(cursor) for _ in range(4)]
    assert journal.retain(days=0).records == 0
    cursor.commit()
    assert journal.retain(days=0).records == 4
    assert next(journal.cursor("outbox")).seq == read[-1].seq + 1
    assert next(journal.cursor("late")).seq == 5
    cursor.forget()
    journal.cursor("late").forget()
    assert journal.retain(days=0).records == 7 and journal.verify().ok


def test_odd_limits_and_names_are_refused(journal, path):
    with pytest.raises(HookError, match="pass days=, bytes= or both"):
        journal.retain()
    for odd in (-1, True, "1", float("nan"), float("inf")):
        with pytest.raises(HookError, match="days=.* must be a number"):
            journal.retain(days=odd)
    for odd in ("", None, 3):
        with pytest.raises(HookError, match="must be a non-empty string"):
            journal.cursor(odd)
    reader = Journal.reading(path)
    for refused in (lambda: reader.retain(days=1), lambda: reader.cursor("outbox")):
        with pytest.raises(HookError, match="open for reading only"):
            refused()


def test_calls_go_on_while_much_is_dropped(path):
    bank = Bank()
    with Journal(path) as journal:
        journal.attach(bank.bus)
        for _ in range(6000):
            bank.pay("ada")
        began = time.time()
        journal.durable("pay", bus=bank.bus)
        bank.during = lambda to: journal.retain(days=0)
        bank.pay("ada")
        late = [each.type for each in journal.records(since=began)]
        assert late == ["hookbus.retained"] * 3 + ["hookbus.outcome", "hookbus.finished"]
        assert journal.verify().ok
