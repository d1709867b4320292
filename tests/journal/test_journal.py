"""A journal keeps what happened on a bus, in one file, for whoever reads it, and loses nothing that
it acknowledged.
"""

import json
import logging
import os
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest

from hookbus import Bus, HookBlocked, HookError, baggage, hookspec, modes
from hookbus.journal import Journal, Record

from .conftest import WAYS, Bank


def run(code, *args, **environment):
    """Run a program that imports hookbus, and return what it prints."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(
        command, stdout=subprocess.PIPE, text=True, timeout=60, check=True,
        env={**os.environ, **environment},
    ).stdout  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_happens_is_kept_in_order_with_everything_that_json_can_say(path, bank, way):
    with Journal(path) as journal, baggage(session="s-1"):
        journal.attach(bank.bus)
        bank.pay("ada", way=way)
        with pytest.raises(HookBlocked):
            bank.pay("eve", way=way)
        with pytest.raises(LookupError):
            bank.pay("nobody", way=way)
    kept = list(Journal.reading(path).records())
    assert [record.type for record in kept] == [
        "hookbus.started", "hookbus.finished", "hookbus.started", "hookbus.blocked",
        "hookbus.finished", "hookbus.started", "hookbus.finished",
    ]  # fmt: skip
    assert [record.seq for record in kept] == [1, 2, 3, 4, 5, 6, 7]
    assert {record.subject for record in kept} == {"pay"}
    assert {record.baggage["session"] for record in kept} == {"s-1"}
    assert len({record.id for record in kept}) == 7 and len({record.run for record in kept}) == 1
    assert all(abs(record.time - time.time()) < 60 for record in kept)
    blocked = kept[3].data
    assert blocked["reason"] == "eve is not paid" and blocked["receiver"].endswith("not_eve")
    assert kept[6].data["error"]["type"] == "LookupError"
    assert "secret" not in path.read_bytes().decode("latin-1")
    assert isinstance(kept[0], Record) and kept[0].data["arguments"] == ["to", "amount"]


@pytest.mark.parametrize("mode", [modes.firstresult, modes.broadcast, modes.void])
def test_of_a_question_it_is_kept_who_answered_and_of_a_call_not_who_agreed(path, bank, mode):
    @hookspec(mode, bus=bank.bus)
    def who(name):
        """Who is it?"""

    who.connect(lambda name: None, name="silent")
    who.connect(lambda name: name, name="first", priority=-1)
    who.connect(lambda name: name, name="second", priority=-2)
    with Journal(path) as journal:
        journal.attach(bank.bus)
        who("ada")
        bank.pay("ada")
    with sqlite3.connect(path) as db:
        turns = db.execute("SELECT receiver, did, answer, role, phase FROM turns").fetchall()
    db.close()
    answered = {modes.firstresult: ["first"], modes.broadcast: ["first", "second"], modes.void: []}
    assert turns == [(name, "invoked", "answered", "answer", "answer") for name in answered[mode]]


def test_records_are_looked_for_by_hook_type_time_number_and_call(path, bank):
    with Journal(path) as journal:
        journal.attach(bank.bus)
        bank.pay("ada")
        between = time.time()
        bank.pay("bob")
        kept = list(journal.records())
        assert [record.seq for record in journal.records(type="started")] == [1, 3]
        assert [record.seq for record in journal.records(type="hookbus.finished")] == [2, 4]
        assert [record.seq for record in journal.records(since=between)] == [3, 4]
        assert [record.seq for record in journal.records(after=3)] == [4]
        assert list(journal.records(hook="other")) == []
        for odd, said in (
            ({"type": "finishd"}, "did you mean 'finished'"), ({"since": "today"}, "a Unix time"),
        ):  # fmt: skip
            with pytest.raises(HookError, match=said):
                journal.records(**odd)
        call = kept[2].run, kept[2].data["call_id"]
        assert [record.seq for record in journal.records(call=call)] == [3, 4]


def test_a_journal_that_is_only_read_writes_nothing_and_is_read_while_others_write(path, bank):
    with pytest.raises(HookError, match="does not exist"):
        Journal.reading(path)
    assert not path.exists()
    with Journal(path) as journal:
        journal.attach(bank.bus)
        reader = Journal.reading(path)
        assert list(reader.records()) == []
        for i in range(3):
            bank.pay("ada")
            journal.flush()
            assert len(list(reader.records())) == 2 * (i + 1)
        for refused in (lambda: reader.attach(bank.bus), reader.flush):
            with pytest.raises(HookError, match="open for reading only"):
                refused()
        reader.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (1,)
    db.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there modes say nothing")
def test_what_nobody_may_write_is_read(bank):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        with Journal(path) as journal:
            journal.attach(bank.bus)
            bank.pay("ada")
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        is_root = os.geteuid() == 0
        try:
            if is_root:
                os.seteuid(65534)
            reader = Journal.reading(path)
            assert len(list(reader.records())) == 2 and reader.verify().ok
            with pytest.raises(HookError, match="cannot be written"):
                Journal(path)
        finally:
            if is_root:
                os.seteuid(0)
            Path(folder).chmod(0o755)


def test_detached_closed_or_attached_twice_it_hears_what_it_should(path, bank):
    journal = Journal(path)
    detach = journal.attach(bank.bus)
    journal.attach(bank.bus)
    bank.pay("ada")
    assert len(list(journal.records())) == 2
    detach()
    bank.pay("ada")
    assert len(list(journal.records())) == 2 and not bank.bus._switchboard.is_observed
    journal.attach(bank.bus)
    journal.close()
    journal.close()
    bank.pay("ada")
    assert journal.lost == 0 and len(list(journal.records())) == 2
    with pytest.raises(HookError, match="is closed"):
        journal.attach(bank.bus)


def test_values_are_kept_only_where_the_bus_says_so(path):
    for values in (False, True):
        bank = Bank(values=values)
        with Journal(path) as journal:
            journal.attach(bank.bus)
            bank.pay("ada", 4711)
            *_, started, finished = journal.records()
        assert started.data.get("values") == ({"to": "ada", "amount": 4711} if values else None)
        assert finished.data.get("result") == (4711 if values else None)


def test_what_has_no_json_or_too_much_becomes_a_placeholder_and_the_call_goes_on(path):
    bank = Bank(values=True)
    nested = []
    for _ in range(5000):
        nested = [nested]
    odd = [object(), {1: {2}}, float("nan"), "\ud800", b"\xff", nested, "x" * 3_000_000, 10**4000]
    with Journal(path) as journal:
        journal.attach(bank.bus)
        for each in odd:
            bank.pay("ada", each)
        kept = list(journal.records())
    assert len(kept) == 2 * len(odd) and journal.lost == 0
    assert all(len(json.dumps(record.data)) <= 1_000_200 for record in kept)


def test_threads_and_processes_append_to_one_chain_without_a_gap(path, bank):
    code = """
        import sys
        from hookbus.journal import Journal
        from tests.journal.conftest import Bank
        bank = Bank()
        with Journal(sys.argv[1]) as journal:
            journal.attach(bank.bus)
            for i in range(200):
                bank.pay("ada")
                if i % 20 == 0:
                    journal.flush()
    """
    processes = [threading.Thread(target=run, args=(code, path)) for _ in range(3)]
    with Journal(path) as journal:
        journal.attach(bank.bus)

        def pay():
            for _ in range(100):
                bank.pay("ada")

        threads = [threading.Thread(target=pay) for _ in range(3)]
        for each in (*processes, *threads):
            each.start()
        for each in (*processes, *threads):
            each.join()
    kept = list(Journal.reading(path).records())
    assert [record.seq for record in kept] == list(range(1, 1801))
    assert sorted(map([record.run for record in kept].count, {r.run for r in kept})) == [
        400, 400, 400, 600
    ]  # fmt: skip


def test_the_end_of_the_program_writes_what_waits_and_what_comes_later(path):
    run(
        """
        import atexit, sys
        from tests.journal.conftest import Bank
        bank = Bank()
        atexit.register(bank.pay, "later")
        from hookbus.journal import Journal
        Journal(sys.argv[1]).attach(bank.bus)
        bank.pay("ada")
        """,
        path,
    )
    assert len(list(Journal.reading(path).records())) == 4


def test_a_program_is_given_a_journal_by_the_environment_or_told_why_not(path, tmp_path):
    code = """
        from hookbus import default_bus, hookable
        assert default_bus._switchboard.is_observed
        @hookable
        def nap(): return 1
        nap()
    """
    run(code, HOOKBUS_JOURNAL=str(path))
    assert [each.subject for each in Journal.reading(path).records()] == ["nap", "nap"]
    for wrong in (tmp_path / "none" / "x.db", tmp_path):
        with pytest.raises(subprocess.CalledProcessError):
            run(code, HOOKBUS_JOURNAL=str(wrong))


def test_processes_that_make_one_file_at_once_all_get_it(tmp_path):
    said = run(
        """
        import os, sys, time
        from hookbus.journal import Journal
        bad = 0
        for i in range(8):
            start, children = time.time() + 0.02, []
            for _ in range(8):
                child = os.fork()
                if not child:
                    while time.time() < start:
                        pass
                    Journal(f"{sys.argv[1]}/{i}.db").close()
                    os._exit(0)
                children.append(child)
            bad += sum(os.waitpid(child, 0)[1] != 0 for child in children)
        print(bad)
        """,
        tmp_path,
    )
    assert said == "0\n"


def test_what_looks_damaged_while_it_is_written_is_read_again(tmp_path, monkeypatch):
    whole, path = tmp_path / "whole.db", tmp_path / "a.db"
    Journal(whole).close()
    path.write_bytes(whole.read_bytes()[:3000])
    with pytest.raises(HookError, match="is damaged"):
        Journal(path)
    # Another process has written the rest meanwhile.
    monkeypatch.setattr("hookbus._external.sqlite.time.sleep", lambda seconds: whole.replace(path))
    Journal(path).close()


def test_a_fork_goes_on_as_a_run_of_its_own(path):
    run(
        """
        import os, sys
        from hookbus.journal import Journal
        from tests.journal.conftest import Bank
        bank = Bank()
        journal = Journal(sys.argv[1])
        journal.attach(bank.bus)
        for _ in range(100):
            bank.pay("ada")
        children = []
        for _ in range(4):
            child = os.fork()
            if not child:
                bank.pay("bob")
                journal.flush()
                os._exit(0)
            children.append(child)
        bank.pay("ada")
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
        journal.close()
        """,
        path,
    )
    kept = list(Journal.reading(path).records())
    runs = {record.run for record in kept}
    assert sorted(sum(record.run == run for record in kept) for run in runs) == [2, 2, 2, 2, 202]


# -- files that cannot be used ---------------------------------------------------------------------


def test_a_file_that_is_no_journal_is_refused_where_it_is_opened(path, tmp_path):
    for odd in (":memory:", "", 3, None):
        with pytest.raises(HookError, match="pass (a|the) path"):
            Journal(odd)
    with pytest.raises(HookError, match="the folder .* does not exist"):
        Journal(tmp_path / "none" / "journal.db")
    with pytest.raises(HookError, match="durability='safe' must be 'normal' or 'full'"):
        Journal(path, durability="safe")
    assert not path.exists()
    text = tmp_path / "notes.txt"
    text.write_text("not a database, " * 100)
    own = sqlite3.connect(tmp_path / "own.db")
    own.execute("CREATE TABLE mine (x)")
    own.close()
    for opened in (Journal, Journal.reading):
        with pytest.raises(HookError, match="notes.txt is not an SQLite database"):
            opened(text)
        with pytest.raises(HookError, match="a database of another program"):
            opened(tmp_path / "own.db")
    with pytest.raises(HookError, match="pass a bus"):
        Journal(path).attach(None)


@pytest.mark.parametrize("schema, other", [(7, "a newer"), (2, "an older")])
def test_another_schema_is_refused(path, schema, other):
    Journal(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {schema}")
    db.close()
    said = f"has schema {schema}, but this hookbus reads schema 3: open it with {other} hookbus"
    for opened in (Journal, Journal.reading):
        with pytest.raises(HookError, match=said):
            opened(path)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("hookbus.journal._file.BUSY_SECONDS", 0.05)


def test_while_the_file_is_locked_calls_go_on_and_their_records_wait(
    path, bank, impatient, caplog
):
    journal = Journal(path)
    journal.attach(bank.bus)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    bank.pay("ada")
    for _ in range(2):
        with pytest.raises(HookError, match="is locked by another process"):
            journal.flush()
    said = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert len(said) == 1 and "is locked" in said[0].getMessage()
    other.close()
    journal.close()
    assert len(list(journal.records())) == 2 and journal.lost == 0


def test_what_cannot_be_written_until_the_end_is_said_and_written_by_the_next_journal(
    path, bank, impatient, caplog
):
    journal = Journal(path)
    journal.attach(bank.bus)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    bank.pay("ada")
    with pytest.raises(HookError, match="is locked .*2 records stay in .*journal.db-spool-"):
        journal.close()
    assert journal.lost == 0 and "2 records stay in" in caplog.text
    other.close()
    with Journal(path) as journal:
        assert len(list(journal.records())) == 2
    with pytest.raises(ZeroDivisionError), Journal(path) as journal:
        1 / 0


def test_where_more_wait_than_there_is_room_for_the_rest_is_counted(
    path, bank, impatient, monkeypatch, caplog
):
    monkeypatch.setattr("hookbus.journal._queue.LIMIT", 10)
    journal = Journal(path)
    journal.attach(bank.bus)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    bank.pay("ada")
    with pytest.raises(HookError, match="is locked"):
        journal.flush()
    for _ in range(19):
        bank.pay("ada")
    other.close()
    journal.close()
    kept = len(list(journal.records()))
    assert kept >= 10 and kept + journal.lost == 40
    assert caplog.text.count("some are lost") == 1


@pytest.mark.parametrize("harm", ["gone", "another", "damaged"])
def test_a_file_that_went_or_was_replaced_is_not_written_past(path, bank, harm):
    journal = Journal(path)
    journal.attach(bank.bus)
    bank.pay("ada")
    journal.flush()
    if harm == "damaged":
        Journal(path).close()
        db = sqlite3.connect(path)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        path.write_bytes(path.read_bytes()[:100] + os.urandom(path.stat().st_size - 100))
    else:
        path.rename(path.with_suffix(".old"))
    if harm == "another":
        Journal(path).close()
    words = {"gone": "is gone", "another": "was replaced by another file", "damaged": "is damaged"}
    bank.pay("ada")
    with pytest.raises(HookError, match=words[harm]):
        journal.flush()
    with pytest.raises(HookError, match="2 records stay in .*-spool-"):
        journal.close()


def test_a_journal_needs_no_bus_of_its_own_and_hears_several(path):
    with Journal(path) as journal:
        banks = [Bank(), Bank()]
        for bank in banks:
            journal.attach(bank.bus)
            bank.pay("ada")
        journal.attach(Bus())
        assert [record.type for record in journal.records()] == [
            "hookbus.started", "hookbus.finished"
        ] * 2  # fmt: skip
