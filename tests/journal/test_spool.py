"""A record is in a file before its call goes on, and whatever a killed process left is recovered
once, or is said to be damaged or of something else (G38, G40).
"""

import errno
import json
import operator
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading

import pytest

from hookbus import Bus, HookBlocked, HookError, baggage
from hookbus.events import Event
from hookbus.journal import Journal, _lines, _spool
from hookbus.journal._chain import row_of
from hookbus.journal._text import text_of

from .conftest import WAYS, Bank

DIES = """
import os, sys
from hookbus import baggage
from hookbus.journal import Journal
from tests.journal.conftest import Bank
bank = Bank()
journal = Journal(sys.argv[1])
journal.attach(bank.bus)
journal._writer._call_thread = lambda: None  # so that nothing reaches the chain
for i in range(int(sys.argv[2])):
    bank.pay(f"to {i}")
"""


def die(path, calls=3, then=""):
    """Run a process that makes calls and ends without closing its journal. Return its spool."""
    code = textwrap.dedent(f"{DIES}\n{then}\nos._exit(0)")
    subprocess.run([sys.executable, "-c", code, str(path), str(calls)], check=True, timeout=60)
    return next(iter(spools(path)), None)


def spools(path):
    return sorted(path.parent.glob(f"{path.name}-spool-*"))


def types(path):
    return [record.type for record in Journal.reading(path).records()]


def refuse(*args):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


CALL = ["hookbus.started", "hookbus.finished"]


# -- the next journal ------------------------------------------------------------------------------


def test_the_next_journal_recovers_what_a_killed_process_left(path, caplog):
    spool = die(path)
    assert types(path) == [] and spool.stat().st_mode & 0o777 == 0o600
    with Journal(path) as journal:
        records = list(journal.records())
        assert journal.verify().ok and journal.lost == 0
    assert [record.type for record in records] == CALL * 3 and spools(path) == []
    assert len({record.run for record in records}) == 1
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT how FROM runs").fetchall() == [("died",)]
    db.close()
    assert "6 records of" in caplog.text and "were recovered" in caplog.text


def test_what_is_in_the_chain_already_is_not_recovered_again(path):
    die(path, then="journal.flush(); bank.pay('last')")
    assert types(path) == CALL * 3
    for _ in range(2):
        Journal(path).close()
        assert types(path) == CALL * 4
    assert Journal.reading(path).verify().ok


def test_a_recovery_that_is_killed_before_it_removes_the_file_is_repeated_without_effect(path):
    spool = die(path)
    left = spool.read_bytes()
    Journal(path).close()
    spool.write_bytes(left)
    Journal(path).close()
    assert types(path) == CALL * 3 and spools(path) == []


def test_a_record_that_was_not_written_to_its_end_is_left_out(path):
    spool = die(path)
    spool.write_bytes(spool.read_bytes()[:-7])
    Journal(path).close()
    assert types(path) == (CALL * 3)[:-1] and spools(path) == []


def test_a_damaged_record_is_said_and_its_file_is_kept(path, caplog):
    spool = die(path)
    data = bytearray(spool.read_bytes())
    data[data.index(b"to 1") if b"to 1" in data else len(data) // 2] ^= 1
    spool.write_bytes(data)
    found = Journal.reading(path).verify()
    assert found.problems == (f"{spool}: the checksums of 1 records are wrong",)
    assert found.spooled == 5
    Journal(path).close()
    assert len(types(path)) == 5 and spools(path) == []
    [kept] = path.parent.glob("*-damaged-*")
    assert kept.read_bytes() == data and "1 lines are damaged" in caplog.text


def damage(spool):
    data = spool.read_bytes().replace(b'"pay"', b'"PAY"', 1)
    spool.write_bytes(data)
    return data


def test_a_damaged_spool_stays_in_its_folder_and_replaces_no_file(path, caplog):
    folder = path.parent / "my-spool-folder"
    folder.mkdir()
    path = folder / "a-spool-of-calls.db"
    spool = die(path)
    data = damage(spool)
    other = folder / f"{path.name}-damaged-{spool.name[-16:]}"
    other.write_text("mine")
    Journal(path).close()
    assert other.read_text() == "mine" and spools(path) == [] and len(types(path)) == 5
    assert (folder / f"{other.name}-2").read_bytes() == data
    assert f"the file is kept as {other.name}-2" in caplog.text


def test_a_damaged_spool_that_cannot_be_renamed_is_kept_by_every_journal(
    path, monkeypatch, caplog
):
    spool = die(path)
    data = damage(spool)
    for _ in range(2):
        with monkeypatch.context() as patched:
            patched.setattr("pathlib.Path.replace", refuse)
            Journal(path).close()
        assert spool.read_bytes() == data and list(path.parent.glob("*-damaged-*")) == []
    assert caplog.text.count("the file is kept, but cannot be renamed: Permission denied") == 2
    Journal(path).close()
    assert len(types(path)) == 5 and spools(path) == []
    assert [each.read_bytes() for each in path.parent.glob("*-damaged-*")] == [data]


def another_journal(path):
    other = path.with_name("other.db")
    die(other).rename(f"{path}-spool-{'0' * 16}")


def a_text(path):
    path.with_name(f"{path.name}-spool-{'0' * 16}").write_text("my own file\nof two lines\n")


def an_empty_file_of_another_name(path):
    path.with_name(f"{path.name}-spool-notes.txt").touch()


def a_copy_of_another_name(path):
    die(path).rename(f"{path}-spool-copy")


def the_first_byte_of_a_header(path):
    path.with_name(f"{path.name}-spool-{'0' * 16}").write_text("h")


def a_first_line_and_another(path):
    text = "hookbus-spool-1\nmy own line"
    path.with_name(f"{path.name}-spool-{'0' * 16}").write_text(text)


def a_header_without_a_run(path):
    spool = die(path)
    header = {**_lines.data_of(spool.read_bytes().split(b"\n")[1]), "run": "mine"}
    spool.write_bytes(_lines.MAGIC + _lines.line_of(json.dumps(header)))


def a_folder(path):
    path.with_name(f"{path.name}-spool-{'0' * 16}").mkdir()


def of_another_user(path):
    spool = die(path)
    os.chown(spool, 12345, -1)


def a_link(path):
    spool = die(path)
    spool.rename(path.with_name("elsewhere"))
    spool.symlink_to(path.with_name("elsewhere"))


FOREIGN = (
    another_journal, a_text, an_empty_file_of_another_name, a_copy_of_another_name,
    the_first_byte_of_a_header, a_first_line_and_another, a_header_without_a_run, a_folder,
    of_another_user, a_link,
)  # fmt: skip


@pytest.mark.parametrize("make", FOREIGN, ids=lambda make: make.__name__)
def test_a_file_that_is_no_spool_of_this_journal_is_left_as_it_is_and_said(path, make, caplog):
    if make is of_another_user and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    Journal(path).close()
    make(path)
    [foreign] = spools(path)
    before = None if foreign.is_dir() else foreign.read_bytes()
    assert [str(foreign) in each for each in Journal.reading(path).verify().problems] == [True]
    with Journal(path) as journal:
        journal.flush()
    assert spools(path) == [foreign] and f"{foreign} was left as it is" in caplog.text
    assert types(path) == [] and before == (None if foreign.is_dir() else foreign.read_bytes())


@pytest.mark.parametrize("lines", [0, 2])
def test_a_spool_whose_process_was_killed_before_its_first_record_is_removed(path, lines):
    spool = die(path)
    spool.write_bytes(b"".join(spool.read_bytes().splitlines(keepends=True)[:lines]))
    assert Journal.reading(path).verify().ok
    Journal(path).close()
    assert spools(path) == [] and types(path) == []


def test_the_command_line_recovers_before_it_lists_and_leaves_a_running_process_alone(path, bank):
    die(path)
    command = [sys.executable, "-m", "hookbus", "log", "--journal", str(path), "--json"]
    with Journal(path.with_name("other.db")) as other:
        other.attach(bank.bus)
        bank.pay("ada")
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.count('"pay"') == 3 and "6 records of" in ended.stderr
    assert types(path) == CALL * 3 and spools(path) == []


def test_while_the_journal_is_locked_the_recovery_waits(path, monkeypatch):
    monkeypatch.setattr("hookbus.journal._file.BUSY_SECONDS", 0.05)
    die(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(HookError, match="is locked"):
        Journal(path).close()
    other.close()
    assert len(spools(path)) == 1
    Journal(path).close()
    assert types(path) == CALL * 3


@pytest.mark.parametrize("end", ["close", "_writer.end"])
def test_a_spool_that_cannot_be_removed_is_not_recovered_again(
    path, bank, monkeypatch, caplog, end
):
    journal = Journal(path)
    journal.attach(bank.bus)
    bank.pay("ada")
    with monkeypatch.context() as patched:
        patched.setattr("os.unlink", refuse)
        operator.attrgetter(end)(journal)()
    [left] = spools(path)
    assert f"{left} could not be removed" in caplog.text
    Journal(path).close()
    assert types(path) == CALL and spools(path) == []


# -- while the process runs ------------------------------------------------------------------------


@pytest.fixture
def journal(path):
    """Return a journal whose records stay in the spool until they are needed."""
    journal = Journal(path)
    journal._writer._call_thread = lambda: None
    yield journal
    journal.close()


def test_a_spool_in_use_is_left_alone_by_other_journals_and_verified(path, journal, bank):
    journal.attach(bank.bus)
    bank.pay("ada")
    with Journal(path) as other:
        assert list(other.records()) == []
        assert str(other.verify()) == "0 records, nothing was changed; 2 more are in spools"
        bank.pay("bob")
    journal.flush()
    assert types(path) == CALL * 2
    journal.close()
    assert spools(path) == []


@pytest.mark.parametrize("way", WAYS)
def test_records_in_the_spool_come_before_those_that_are_waited_for(path, bank, way):
    with Journal(path) as journal:
        journal.attach(bank.bus)
        undo = journal.durable("pay", bus=bank.bus)
        bank.pay("ada", way=way)
        undo()
    kinds = [each.removeprefix("hookbus.") for each in types(path)]
    assert kinds == ["started", "intent", "outcome", "finished"]


def test_threads_and_a_small_spool_lose_and_repeat_nothing(path, monkeypatch):
    monkeypatch.setattr("hookbus.journal._spool.LARGEST", 3000)
    banks = [Bank() for _ in range(4)]
    with Journal(path) as journal:
        for bank in banks:
            journal.attach(bank.bus)

        def work(bank):
            for i in range(200):
                bank.pay("ada", i)
                if i % 30 == 0:
                    journal.flush()

        threads = [threading.Thread(target=work, args=[bank]) for bank in banks]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        journal.flush()
        assert all(each.stat().st_size < 3000 for each in spools(path))
    calls = [record.data["call_id"] for record in Journal.reading(path).records(type="finished")]
    assert len(calls) == 800 == len(set(calls)) and journal.lost == 0
    assert Journal.reading(path).verify().ok


def test_a_spool_that_was_truncated_is_recovered_from_where_it_continues(path):
    then = """
        from hookbus.journal import _spool
        _spool.LARGEST = 10
        journal.flush()
        bank.pay("later")
    """
    spool = die(path, 20, textwrap.dedent(then))
    assert spool.stat().st_size < 2000
    Journal(path).close()
    assert types(path) == CALL * 21 and Journal.reading(path).verify().ok


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_has_a_spool_of_its_own_and_the_parent_keeps_its_records(path, bank, journal):
    journal.attach(bank.bus)
    bank.pay("ada")
    child = os.fork() if hasattr(os, "fork") else pytest.skip("there are no forks")
    if not child:
        bank.pay("bob")
        os._exit(0)
    os.waitpid(child, 0)
    assert len(spools(path)) == 2
    bank.pay("ada")
    journal.close()
    assert types(path) == CALL * 2
    Journal(path).close()
    assert types(path) == CALL * 3 and spools(path) == []


def removed(spool, journal):
    spool.unlink()


def closed_by_the_program(spool, journal):
    """Close the descriptors as a daemon does, and open another file that gets one of them."""
    spool_object = journal._writer._mover.spool
    for file in (spool_object._file, spool_object._reader):
        os.close(file)
    spool.with_name("mine").touch()
    journal.opened = [open(spool.with_name("mine")) for _ in range(2)]


@pytest.mark.parametrize("harm", [removed, closed_by_the_program])
def test_a_spool_that_is_taken_away_while_it_is_used_is_replaced_without_a_loss(
    path, bank, journal, harm, caplog
):
    journal.attach(bank.bus)
    bank.pay("ada")
    harm(spools(path)[0], journal)
    journal.flush()
    bank.pay("bob")
    assert len(spools(path)) == 1
    journal.close()
    assert types(path) == CALL * 2 and "was removed, or the program closed it" in caplog.text
    assert spools(path) == [] and journal.lost == 0
    for each in getattr(journal, "opened", ()):
        assert each.read() == ""
        each.close()


def close_descriptors(journal, path):
    """Close the descriptors as a daemon does, and return a file that gets the one of the spool."""
    spool = journal._writer._mover.spool
    number = spool._file
    os.close(spool._reader)
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.dup2(file, number)
    os.close(file)
    return number


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_file_that_got_the_descriptor_of_the_spool_is_not_written(
    path, bank, journal, caplog, is_kept
):
    journal.attach(bank.bus)
    bank.pay("ada")
    file = close_descriptors(journal, path.with_name("mine"))
    bank.pay("bob")
    if not is_kept:
        spools(path)[0].unlink()
    journal.flush()
    bank.pay("eva")
    journal.close()
    os.close(file)
    assert path.with_name("mine").read_bytes() == b""
    assert len(types(path)) + journal.lost == 6 and journal.lost == (0 if is_kept else 2)
    assert "the program closed it" in caplog.text
    assert ("2 records were lost with its spool" in caplog.text) != is_kept


@pytest.mark.parametrize("is_recovered_first", [True, False])
def test_a_spool_that_another_process_recovers_is_not_used_again_and_no_record_doubles(
    path, bank, journal, monkeypatch, caplog, is_recovered_first
):
    journal.attach(bank.bus)
    bank.pay("ada")
    file = close_descriptors(journal, path.with_name("mine"))
    reader = journal._writer._mover.spool._reader
    os.dup2(file, reader)
    monkeypatch.setattr("hookbus.journal._writer.Writer._call_thread", lambda self: None)
    other = Journal(path)  # it has the lock, as a recovery of another process
    steps = [other.flush, journal.flush]
    for step in steps if is_recovered_first else reversed(steps):
        step()
    bank.pay("bob")
    journal.flush()
    bank.pay("eva")
    other.close()
    journal.close()
    os.close(file)
    os.close(reader)
    records = list(Journal.reading(path).records())
    assert [record.type for record in records] == CALL * 3 and spools(path) == []
    assert len({(record.data["call_id"], record.type) for record in records}) == 6
    assert journal.lost == 2 and "2 records were lost with its spool" in caplog.text
    assert ("another process recovers its records" in caplog.text) != is_recovered_first


class Fails:
    """`os`, of which writes of records fail: none, or only the first half is written."""

    def __init__(self, share):
        self._share = share

    def __getattr__(self, name):
        return getattr(os, name)

    def write(self, file, data):
        if data.startswith(_spool.MAGIC):
            return os.write(file, data)
        os.write(file, data[: int(len(data) * self._share)])
        if self._share:
            return int(len(data) * self._share)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("share", [0, 0.5])
def test_while_the_disk_is_full_records_wait_in_memory_in_their_order(
    path, bank, journal, monkeypatch, share
):
    journal.attach(bank.bus)
    for to in ("ada", "bob", "eva"):
        with baggage(to=to), monkeypatch.context() as patched:
            if to == "bob":
                patched.setattr("hookbus.journal._spool.os", Fails(share))
            bank.pay(to)
    journal.close()
    records = list(Journal.reading(path).records())
    assert [record.baggage["to"] for record in records] == ["ada"] * 2 + ["bob"] * 2 + ["eva"] * 2
    assert journal.lost == 0 and spools(path) == []


class FailsForHeaders(Fails):
    def write(self, file, data):
        if data.startswith(_spool.MAGIC):
            return super().write(file, data[1:])
        return os.write(file, data)


@pytest.mark.parametrize("share", [0, 0.5])
@pytest.mark.parametrize("first", [0, 20])
def test_no_record_is_written_to_a_spool_without_a_header(
    path, bank, journal, monkeypatch, caplog, share, first
):
    journal.attach(bank.bus)
    for _ in range(first):
        bank.pay("ada")
    with monkeypatch.context() as patched:
        patched.setattr("hookbus.journal._spool.LARGEST", 10)
        patched.setattr("hookbus.journal._spool.os", FailsForHeaders(share))
        journal.flush()
        bank.pay("bob")
        assert spools(path) == []
    bank.pay("eva")
    [spool] = spools(path)
    with open(spool) as opened:
        assert _lines.header_of(opened.fileno())[0]["journal"]
    assert "are queued in memory" in caplog.text
    journal.close()
    assert types(path) == CALL * (first + 2) and journal.lost == 0 and spools(path) == []
    assert Journal.reading(path).verify().ok


def test_where_no_spool_can_be_made_records_wait_in_memory_and_it_is_said_once(
    path, bank, journal, monkeypatch, caplog
):
    journal.attach(bank.bus)
    with monkeypatch.context() as patched:
        patched.setattr("hookbus.journal._spool.token_hex", lambda size: "no/folder")
        bank.pay("ada")
        bank.pay("ada")
    journal.close()
    assert types(path) == CALL * 2 and caplog.text.count("are queued in memory") == 1


def test_damaged_records_are_counted_as_lost_even_if_their_commit_is_interrupted(
    path, bank, journal, monkeypatch
):
    journal.attach(bank.bus)
    bank.pay("ada")
    damage(spools(path)[0])
    chain = journal._writer._mover.chain
    commit = chain.commit

    def commit_and_interrupt(*args, **options):
        commit(*args, **options)
        chain.is_committed = True
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(chain, "commit", commit_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            journal.flush()
    assert journal.lost == 1
    journal.close()
    assert len(types(path)) == 1 and journal.lost == 1


def has_no_locks(file):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_where_files_cannot_be_locked_no_spool_is_written_and_it_is_said_once(
    path, bank, journal, monkeypatch, caplog
):
    die(path)
    for name in ("_lock_on_posix", "_lock_on_windows"):
        monkeypatch.setattr(f"hookbus._external.platform.{name}", has_no_locks)
    journal.attach(bank.bus)
    bank.pay("ada")
    bank.pay("ada")
    assert len(spools(path)) == 1 and caplog.text.count("are queued in memory") == 1
    assert f"cannot lock files ({os.strerror(errno.ENOLCK)})" in caplog.text
    with Journal(path) as other:  # a spool is left alone if its process may be running
        assert list(other.records()) == []
    journal.close()
    assert types(path) == CALL * 2 and journal.lost == 0


# -- the text of a record --------------------------------------------------------------------------


class Text(str):
    pass


ODD = (
    None, True, 0, -(2**63), 2**63, 10**400, 1.5, float("nan"), float("inf"), "", "a\"\n\x00", "é",
    "\ud800", "x" * 100_001, Text("own"), b"bytes", object(), (1, "a"), [[]], {"a": {1: {2}}},
    {1, 2}, ValueError("x"), {"deep": [[[[[[["x" * 2_000_000]]]]]]]},
)  # fmt: skip


@pytest.mark.parametrize("values", [True, False])
def test_the_text_of_an_event_is_that_of_its_dict(values):
    events: list[Event] = []
    bus = Bus(values=values)
    bus.events.connect(lambda bus, event: events.append(event))
    bank = Bank(values=values)
    bank.bus.events.connect(lambda bus, event: events.append(event))
    for each in ODD:
        with baggage(odd=each, session="s"):
            bank.pay("ada", each)
    for to in ("eve", "nobody"):
        with pytest.raises((HookBlocked, LookupError)):
            bank.pay(to)
    for event in events:
        text = text_of(event)
        assert text == row_of(event.as_dict()).data
        assert text_of(event) == text and json.loads(text)["event"] == type(event).__name__
    assert len(events) == 2 * len(ODD) + 5
