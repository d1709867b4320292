"""Whose a file is, before one byte of it or a file beside it changes; and files that are locked."""

import gc
import hashlib
import logging
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress

import pytest

from hookbus import HookError
from hookbus.approvals import Store
from hookbus.journal import Journal

from .conftest import Bank


def folder_of(path):
    """Return every file of a folder, as it is."""
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in path.iterdir()}


def make_foreign(path, *statements):
    db = sqlite3.connect(path, isolation_level=None)
    for each in statements:
        db.execute(each)
    return db


def plain(path):
    make_foreign(path, "CREATE TABLE mine (x)").close()


def named_by_its_program(path):
    make_foreign(path, "PRAGMA application_id = 7").close()


def with_a_version_and_no_table(path):
    make_foreign(path, "PRAGMA user_version = 1").close()


def in_wal_mode(path):
    make_foreign(path, "PRAGMA journal_mode = WAL", "CREATE TABLE mine (x)").close()


def killed_in_wal_mode(path):
    """All that was written is in the log, and no index of it is there."""
    db = make_foreign(path, "PRAGMA journal_mode = WAL", "CREATE TABLE mine (x)")
    other = path.with_name("copied")
    for end in ("", "-wal"):
        shutil.copyfile(f"{path}{end}", f"{other}{end}")
    db.close()
    for end in ("", "-wal"):
        shutil.move(f"{other}{end}", f"{path}{end}")


def killed_in_a_transaction(path):
    db = make_foreign(path, "CREATE TABLE mine (x)", "PRAGMA cache_size = 1", "BEGIN")
    db.executemany("INSERT INTO mine VALUES (?)", [["x" * 5000]] * 50)
    shutil.copyfile(path, path.with_name("copied"))
    shutil.copyfile(f"{path}-journal", path.with_name("copied-journal"))
    db.close()
    for end in ("", "-journal"):
        shutil.move(path.with_name(f"copied{end}"), f"{path}{end}")


def newer(path):
    Journal(path).close()
    make_foreign(path, "PRAGMA user_version = 7").close()


def text(path):
    path.write_text("not a database, " * 100)


def short(path):
    path.write_bytes(b"SQLite")


FOREIGN = (
    plain, named_by_its_program, with_a_version_and_no_table, in_wal_mode, killed_in_wal_mode,
    killed_in_a_transaction, newer, text, short,
)  # fmt: skip


@pytest.mark.parametrize("make", FOREIGN, ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    "opened", [Journal, Journal.reading, Store], ids=["write", "read", "store"]
)
def test_a_file_of_something_else_is_refused_without_a_changed_byte(path, tmp_path, make, opened):
    make(path)
    before = folder_of(tmp_path)
    with pytest.raises(HookError, match="another program|not an SQLite database|has schema [17]"):
        opened(path)
    assert folder_of(tmp_path) == before


def test_a_journal_of_which_all_is_still_in_the_log_is_opened(path, tmp_path):
    reader = make_foreign(path, "PRAGMA journal_mode = WAL", "SELECT 1 FROM sqlite_master")
    Journal(path).close()  # while another one has it open, the log stays
    copied = tmp_path / "copied.db"
    for end in ("", "-wal"):
        shutil.copyfile(f"{path}{end}", f"{copied}{end}")
    reader.close()
    assert Journal.reading(copied).verify().ok
    with Journal(copied) as other:
        assert other.verify().ok


def kill_while_the_log_is_copied(path):
    """Leave the file as a checkpoint does that was killed after it copied the first page."""
    log = path.with_name(f"{path.name}-wal").read_bytes()
    size = int.from_bytes(log[8:12])
    pages = [log[at : at + 24 + size] for at in range(32, len(log), 24 + size)]
    first_page = [page[24:] for page in pages if int.from_bytes(page[:4]) == 1][-1]
    with path.open("r+b") as file:
        file.write(first_page)


@pytest.mark.parametrize("opened", [Journal, Store], ids=["journal", "store"])
def test_a_file_whose_writer_was_killed_in_a_checkpoint_is_opened(path, tmp_path, opened):
    reader = make_foreign(path, "PRAGMA journal_mode = WAL", "SELECT 1 FROM sqlite_master")
    opened(path).close()
    copied = tmp_path / "copied.db"
    for end in ("", "-wal"):
        shutil.copyfile(f"{path}{end}", f"{copied}{end}")
    reader.close()
    kill_while_the_log_is_copied(copied)
    opened(copied).close()
    with closing(sqlite3.connect(copied)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


LOCKS = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = WAL") if "new" not in sys.argv else None
db.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def lock(path):
    """Return what has another process lock the file, and gives what lets it go."""
    processes = []

    def begin(*words):
        process = subprocess.Popen(
            [sys.executable, "-c", LOCKS, str(path), *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        assert process.stdout.readline() == "locked\n"
        return lambda: process.communicate("")

    yield begin
    for process in processes:
        process.communicate("")


def test_a_journal_is_opened_while_another_process_has_it_locked_and_its_records_wait(
    path, lock, monkeypatch
):
    monkeypatch.setattr("hookbus.journal._file.BUSY_SECONDS", 0.05)
    Journal(path).close()
    bank, let_go = Bank(), lock()
    with Journal(path) as journal:
        journal.attach(bank.bus)
        bank.pay("ada")
        with pytest.raises(HookError, match="is locked"):
            journal.flush()
        let_go()
        journal.flush()
        assert len(list(journal.records())) == 2 and journal.lost == 0


def test_a_journal_that_is_to_be_made_waits_for_a_lock_and_says_so_once(
    path, lock, monkeypatch, caplog
):
    monkeypatch.setattr("hookbus.journal._file.BUSY_SECONDS", 0.02)
    let_go, waits, made = lock("new"), threading.Event(), []

    class Heard(logging.Handler):
        def emit(self, record):
            waits.set()

    logging.getLogger("hookbus").addHandler(heard := Heard())
    try:
        thread = threading.Thread(target=lambda: made.append(Journal(path)))
        thread.start()
        assert waits.wait(10)
        thread.join(0.2)  # so long as it takes to try several times
        assert thread.is_alive()
        let_go()
        thread.join(10)
    finally:
        logging.getLogger("hookbus").removeHandler(heard)
    [journal] = made
    journal.close()
    said = [each for each in caplog.messages if "is locked by another process: waiting" in each]
    assert len(said) == 1


DIES = """
import os, sys
from hookbus import Bus, hookable
from hookbus.journal import Journal

bus = Bus()
journal = Journal(sys.argv[1])
journal.durable("pay", bus=bus)
journal.attach(bus)

@hookable(bus=bus)
def pay(depth):
    pay(depth - 1) if depth else os._exit(0)

@hookable(bus=bus)
def look():
    journal.flush()
    os._exit(0)

pay(int(sys.argv[2]) - 1) if sys.argv[2] != "0" else look()
"""


def open_connections():
    """Return the connections to SQLite that nobody closed, also those of a pending exception."""
    found = []
    for each in gc.get_objects():
        if isinstance(each, sqlite3.Connection):
            with suppress(sqlite3.ProgrammingError):  # it is closed, or belongs to a thread
                found.append((id(each), each.total_changes))
    return found


def test_a_file_whose_schema_is_no_text_is_refused_and_closed(path):
    Journal(path).close()
    with closing(make_foreign(path, "PRAGMA writable_schema = ON")) as db:
        db.execute("UPDATE sqlite_master SET name = CAST(x'ff' AS TEXT), sql = 'CREATE'")
    before = open_connections()
    with pytest.raises(HookError, match="is damaged") as raised:
        Journal.reading(path)
    assert open_connections() == before, raised


@pytest.mark.parametrize("attempts, unknown", [
    (0, ""),
    (1, ". The outcome of 1 attempt is unknown"),
    (2, ". The outcome of 2 attempts is unknown"),
])  # fmt: skip
def test_the_next_run_logs_that_a_run_died_and_what_is_unknown(path, caplog, attempts, unknown):
    subprocess.run([sys.executable, "-c", DIES, str(path), str(attempts)], check=True, timeout=60)
    with Journal(path) as journal:
        bank = Bank()
        journal.attach(bank.bus)
        bank.pay(1)
    [said] = [each for each in caplog.messages if "ended without closing it" in each]
    assert said.endswith(f"acknowledged records, but no unfinished writes{unknown}")
