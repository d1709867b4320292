"""Whatever is done to a record afterwards is found, and said with its number (G39)."""

import os
import random
import sqlite3
import subprocess
import sys

import pytest

from hookbus import HookBlocked, HookError, baggage
from hookbus.journal import Checkpoint, Journal

from .conftest import Bank

LONG = bool(os.environ.get("HOOKBUS_LONG"))


def written(path, calls=3):
    """Make a journal in which something of everything has happened."""
    bank = Bank(values=True)
    with Journal(path) as journal, baggage(session="ä"):
        journal.attach(bank.bus)
        journal.durable("pay", bus=bank.bus)
        for i in range(calls):
            bank.pay("ada", i)
        with pytest.raises(HookBlocked):
            bank.pay("eve")
        with pytest.raises(LookupError):
            bank.pay("nobody")
        return str(journal.checkpoint())


def changed(path, *statements):
    db = sqlite3.connect(path)
    with db:
        for statement in statements:
            db.execute(statement)
    db.close()


def verified(path, *checkpoints, **options):
    return Journal.reading(path).verify(*checkpoints, **options)


@pytest.fixture
def checkpoint(path):
    return written(path)


def others_of(value):
    """Yield what a value may be turned into: by one bit of any byte, and by another type."""
    if isinstance(value, (str, bytes)):
        raw = value.encode() if isinstance(value, str) else value
        for i in range(len(raw)):
            other = raw[:i] + bytes([raw[i] ^ 1 << random.randrange(8)]) + raw[i + 1 :]
            yield other if isinstance(value, bytes) else other.decode("utf-8", "surrogateescape")
        yield None
        yield raw if isinstance(value, str) else "text"
        yield value[:-1]
        yield value + value[:1]
    elif value is None:
        yield from (0, 1, "", b"")
    else:
        yield from (value + 1, -value - 1, None, str(value))


def test_what_nobody_changed_is_found_to_be_so(path, checkpoint):
    found = verified(path, checkpoint)
    assert found.ok and found.problems == () and found.records == 19
    assert str(found) == "19 records, nothing was changed"
    with Journal(path) as journal:
        assert journal.verify(checkpoint, journal.checkpoint()).ok


def test_every_byte_of_every_column_of_every_record_counts(path, checkpoint):
    db = sqlite3.connect(path, isolation_level=None)
    names = [name for _, name, *_ in db.execute("PRAGMA table_info(chain)")][1:]
    rows = db.execute("SELECT * FROM chain").fetchall()
    changes = [(row[0], name, value, other) for row in rows for name, value in zip(names, row[1:])
               for other in others_of(value)]  # fmt: skip
    if not LONG:
        changes = random.Random(4).sample(changes, 250)
    missed, tried = [], 0
    for seq, name, value, other in changes:
        try:
            raw = other.encode("utf-8", "surrogateescape") if isinstance(other, str) else other
            cast = "CAST(? AS TEXT)" if isinstance(other, str) else "?"
            db.execute(f"UPDATE chain SET {name} = {cast} WHERE seq = ?", [raw, seq])
        except sqlite3.IntegrityError:
            continue  # NOT NULL
        tried += db.execute(f"SELECT {name} IS NOT ? FROM chain WHERE seq = ?",
                            [value, seq]).fetchone()[0]  # fmt: skip
        is_same = not db.execute(f"SELECT {name} IS NOT ? FROM chain WHERE seq = ?",
                                 [value, seq]).fetchone()[0]  # fmt: skip
        problems = verified(path).problems
        if not is_same and not any(f"record {seq} " in each for each in problems):
            missed.append((seq, name, other))
        db.execute(f"UPDATE chain SET {name} = ? WHERE seq = ?", [value, seq])
    db.close()
    assert missed == [] and tried > 0.8 * len(changes) - 50
    assert verified(path, checkpoint).ok


def test_a_file_with_a_changed_byte_is_read_as_before_or_found_to_be_changed(path, checkpoint):
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    before = [*Journal.reading(path).records()]
    whole, missed, found = path.read_bytes(), [], 0
    pick = random.Random(5)
    for _ in range(100_000 if LONG else 300):
        at = pick.randrange(100, len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << pick.randrange(8)]) + whole[at + 1 :])
        try:
            journal = Journal.reading(path)
        except HookError:
            continue
        ok = journal.verify().ok
        found += not ok
        try:
            after = [*journal.records()]
        except HookError:
            after = None
        if ok and after != before:
            missed.append(at)
    assert missed == [] and found > 20


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (["DELETE FROM chain WHERE seq = 5"], "record 5 is missing"),
        (["DELETE FROM chain WHERE seq <= 5"], "records 1 to 5 are missing"),
        (["DELETE FROM chain WHERE seq > 10"], "records 11 to 19 are missing: the end was removed"),
        (["DELETE FROM chain"], "records 1 to 19 are missing"),
        (["UPDATE chain SET seq = -seq WHERE seq IN (5, 9)",
          "UPDATE chain SET seq = 14 + seq WHERE seq < 0"], "record 5 was changed"),
        (["DELETE FROM chain WHERE seq = 5", "UPDATE chain SET seq = -seq WHERE seq > 5",
          "UPDATE chain SET seq = -seq - 1 WHERE seq < 0"], "record 5 was changed"),
        (["INSERT INTO chain SELECT 20, run, type, hook, time, call_id, outcome, receiver, seconds,"
          " attempt, session, data, hash FROM chain WHERE seq = 19"], "record 20 was changed"),
        (["DELETE FROM chain WHERE seq <= 5", "UPDATE head SET expired = 5, expired_hash = "
          "(SELECT x'00')"], "records 1 to 5 are missing, and no record says so"),
        (["UPDATE runs SET source = '//elsewhere'"], "record 1 was changed"),
        (["UPDATE runs SET id = 'other'"], "record 1 was changed"),
        (["DELETE FROM runs"], "record 1 was changed"),
        (["DELETE FROM head"], "the head of the chain is missing"),
        (["UPDATE head SET seq = 'nineteen'"], "the head of the chain is missing"),
        (["UPDATE head SET hash = x'00'"], "is not the last record"),
        (["ALTER TABLE chain RENAME COLUMN data TO dada"], "no such column: data"),
        (["DROP INDEX by_call", "CREATE INDEX by_call ON chain (time)"],
         "the index by_call was changed"),
        (["DROP INDEX by_call"], "the index by_call is missing"),
        (["CREATE INDEX mine ON chain (data)"], "the index mine was added"),
        (["CREATE TRIGGER hide AFTER INSERT ON chain WHEN new.type = 'blocked' BEGIN "
          "DELETE FROM chain WHERE seq = new.seq; END"], "the trigger hide was added"),
        (["DROP VIEW calls", "CREATE VIEW calls AS SELECT * FROM chain WHERE outcome <> 'blocked'"],
         "the view calls was changed"),
        (["PRAGMA writable_schema = 1", "UPDATE sqlite_master SET sql = replace(sql, 'attempt IS "
          "NULL AND', 'attempt IS NULL AND coalesce(outcome, 1) <> ''blocked'' AND') "
          "WHERE name = 'calls'"], "the view calls was changed"),
        (["DROP VIEW hooks", "CREATE TABLE hooks (hook)"], "the view hooks is missing"),
        (["ALTER TABLE runs ADD COLUMN more"], "the table runs was changed"),
        (["INSERT INTO chain SELECT -1, run, type, hook, time, call_id, outcome, receiver, seconds,"
          " attempt, session, data, hash FROM chain WHERE seq = 1"], "record -1 was inserted"),
    ],
)  # fmt: skip
def test_what_was_dropped_swapped_put_in_or_cut_off_is_found(path, checkpoint, harm, said):
    changed(path, *harm)
    problems = verified(path, checkpoint).problems
    assert any(said in each for each in problems), problems
    assert len(str(verified(path)).splitlines()) > 1
    if "head of the chain is missing" in said:
        with pytest.raises(HookError, match="has lost the head of its chain"):
            Journal.reading(path).checkpoint()


def test_a_chain_that_was_cut_off_and_mended_or_written_anew_does_not_fit_its_checkpoint(
    path, checkpoint, tmp_path
):
    last = "SELECT hash FROM chain WHERE seq = 10"
    changed(
        path, "DELETE FROM chain WHERE seq > 10", f"UPDATE head SET seq = 10, hash = ({last})"
    )
    assert verified(path).ok
    assert verified(path, checkpoint).problems == (
        "record 19 is missing: a checkpoint refers to it",
    )
    bank = Bank()
    with Journal(path) as journal:
        journal.attach(bank.bus)
        for _ in range(10):
            bank.pay("ada")
        assert journal.verify().ok
        assert "record 19 was changed" in journal.verify(checkpoint).problems[0]
    written(tmp_path / "other.db")
    assert "a checkpoint is of journal" in verified(tmp_path / "other.db", checkpoint).problems[0]


def test_a_journal_written_anew_does_not_pass_a_checkpoint_that_it_says_was_dropped(
    path, checkpoint
):
    first = str(Journal.reading(path).checkpoint())
    bank = Bank()
    with Journal(path) as journal:
        journal.attach(bank.bus)
        for _ in range(10):
            bank.pay("ada")
        dropped = journal.retain(days=0)
        bank.pay("ada")
        assert journal.verify().ok and journal.verify(dropped.checkpoint).ok
        assert str(journal.verify()) == (
            "3 records, nothing was changed; records 1 to 39 were dropped earlier"
        )
        (problem,) = journal.verify(first, dropped.checkpoint).problems
    assert problem.startswith("record 19 cannot be compared with its checkpoint: records 1 to 39")


def test_a_made_up_drop_up_to_the_very_record_of_a_checkpoint_does_not_pass_it(path, checkpoint):
    with Journal(path) as journal:
        journal.retain(days=0)  # whoever can write the file can do that, or the like by hand
        assert journal.verify().ok
        (problem,) = journal.verify(checkpoint).problems
    assert problem.startswith("record 19 cannot be compared with its checkpoint: records 1 to 19")


def test_a_record_that_was_put_in_before_what_is_kept_is_found(path, checkpoint):
    with Journal(path) as journal:
        journal.retain(days=0)
    changed(
        path,
        "INSERT INTO chain SELECT 19, run, type, hook, time, call_id, outcome, receiver, seconds,"
        " attempt, session, '{\"event\": \"made up\"}', (SELECT expired_hash FROM head) FROM chain",
    )
    (problem,) = verified(path).problems
    assert problem == "record 19 was inserted before record 20, the first"


def test_a_damaged_page_is_a_problem_and_no_exception(path):
    written(path, calls=200)
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    whole = path.read_bytes()
    for page in (1, 2, 5, 20, len(whole) // size - 1):
        path.write_bytes(whole[: page * size] + b"\xff" * size + whole[(page + 1) * size :])
        assert not verified(path).ok
    journal = Journal.reading(path)
    path.write_bytes(b"\xff" * len(whole))
    assert "after record 0" in journal.verify().problems[0]


def test_a_checkpoint_may_be_signed_and_must_be_where_a_key_is_given(path, checkpoint):
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    forms = pytest.importorskip("cryptography.hazmat.primitives.serialization")

    def pair():
        key = ed25519.Ed25519PrivateKey.generate()
        private = key.private_bytes(
            forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()
        )
        public = key.public_key().public_bytes(
            forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo
        )
        return private, public.decode()

    (private, public), (_, other) = pair(), pair()
    journal = Journal.reading(path)
    signed = str(journal.checkpoint(private))
    assert journal.verify(signed, key=public).ok and journal.verify(signed).ok
    for wrong in (signed[:-8] + "AAAAAA==", checkpoint, signed[:-4] + "!!!!"):
        (problem,) = journal.verify(wrong, key=public).problems
        assert problem == "the checkpoint of record 19 is not signed by this key"
    assert not journal.verify(signed, key=other).ok
    with Journal(path) as writing:
        with pytest.raises(HookError, match="must be an Ed25519PrivateKey in PEM"):
            writing.retain(days=0, key=public)
        dropped = writing.retain(days=0, key=private)
        assert dropped.records == 19 and dropped.checkpoint.is_signed_by(public)
        assert writing.verify(str(dropped.checkpoint)).ok
        assert "cannot be compared" in str(writing.verify(signed, key=public))
        assert writing.verify(dropped.checkpoint, key=public).ok
    for key in ("no key", b"", public):
        with pytest.raises(HookError, match="must be an Ed25519PrivateKey in PEM"):
            journal.checkpoint(key)
    with pytest.raises(HookError, match="must be an Ed25519PublicKey in PEM"):
        journal.verify(signed, key=private)


@pytest.mark.parametrize(
    "odd", ["", "hello", "hookbus-journal-1:a:b:c", "hookbus-journal-2:a:1:b", None, 5, b"x", ["a"]]
)
def test_what_is_no_checkpoint_is_refused(path, checkpoint, odd):
    with pytest.raises(HookError, match="is not a checkpoint"):
        verified(path, odd)
    assert Checkpoint.read(f" {checkpoint}\n") == Journal.reading(path).checkpoint()


def test_without_cryptography_signing_says_what_is_missing(path, checkpoint):
    code = (
        "import sys; sys.modules['cryptography'] = None; from hookbus.journal import Journal; "
        f"j = Journal.reading({str(path)!r}); print(j.verify().ok); j.checkpoint('key')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout == "True\n" and "pip install 'hookbus[journal]'" in ended.stderr


def test_a_checkpoint_of_a_journal_without_records_fits_what_came_after(path):
    with Journal(path) as journal:
        empty = str(journal.checkpoint())
        assert journal.verify(empty).ok
    written(path)
    assert verified(path, empty).ok
    other = Checkpoint(Checkpoint.read(empty).file, 0, "0" * 64)
    assert not verified(path, other).ok


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    for open_it in (Journal, Journal.reading):
        with pytest.raises(HookError, match="pass (a|the) path"):
            open_it(str(tmp_path / "a\0b"))
