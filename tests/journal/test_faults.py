"""A file that cannot be written is never silent: durable hooks are blocked, no body runs without
its intent, and what other hooks lose is counted (G38, G40, C12).
"""

import os
import shutil
import sqlite3

import pytest

from hookbus import HookBlocked, HookError
from hookbus.journal import Journal

from .conftest import Bank

pytest.importorskip("resource", reason="limits of the size of files, by which a disk is full")

from .faults import ROWS, played  # noqa: E402

LONG = bool(os.environ.get("HOOKBUS_LONG"))
SAID = {
    "full disk": "cannot be read or written",
    "read-only file": "cannot be written",
    "locked file": "is locked by another process",
    "damaged page": "is damaged",
    "file gone": "is gone",
}


def test_in_every_fault_durable_hooks_are_blocked_and_others_go_on():
    rows = ROWS if LONG else ROWS[::3]
    assert {fault for fault, *_ in rows} == SAID.keys()
    for (fault, *_), seen in played(rows):
        assert seen["durable"].startswith(f"blocked: {SAID[fault]}"), fault
        assert (seen["body"], seen["not durable"], seen["verifies"]) == ("did not run", "ran", True)
        is_over = fault != "damaged page"  # which is refused until it is opened anew
        assert (seen["afterwards"] == "ran") == is_over
        assert seen["lost, of 2"] == 0


class Failing(sqlite3.Connection):
    """A connection of which one statement fails, the `left`-th of all."""

    left = 0

    def execute(self, *args):
        Failing.left -= 1
        if Failing.left == 0:
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(*args)


@pytest.mark.parametrize("way", ["pay", "pay_async"])
def test_whichever_statement_fails_no_body_runs_without_an_intent_and_nothing_is_silent(
    tmp_path, monkeypatch, caplog, way
):
    connect, k, failed = sqlite3.connect, 0, True

    def fragile(*args, **options):
        return connect(*args, factory=Failing, **options)

    Journal(tmp_path / "empty.db").close()
    while failed:
        k += 1
        path = shutil.copy(tmp_path / "empty.db", tmp_path / f"{k}.db")
        journal, bank = Journal(path), Bank()
        journal.attach(bank.bus)
        journal.durable("pay", bus=bank.bus)
        told, caplog_before = [], len(caplog.records)
        with monkeypatch.context() as patched:
            Failing.left = k
            patched.setattr("hookbus.journal._file.sqlite3.connect", fragile)
            for i in range(2):
                try:
                    bank.pay(f"call {i}", way=way)
                except HookBlocked:
                    told.append(f"blocked {i}")
                except HookError as error:
                    assert "ran, but its outcome could not be recorded" in str(error)
                    told.append(f"unknown {i}")
            try:
                journal.close()
            except HookError:
                told.append("closed")
            failed = Failing.left <= 0
        kept = list(Journal.reading(path).records())
        intents = sum(record.type == "hookbus.intent" for record in kept)
        outcomes = sum(record.type == "hookbus.outcome" for record in kept)
        unknown = sum(each.startswith("unknown") for each in told)
        assert len(bank.ran) <= intents and outcomes + unknown >= len(bank.ran)
        assert len(bank.ran) + sum(each.startswith("blocked") for each in told) == 2
        attached = sum(record.type in ("hookbus.started", "hookbus.finished") for record in kept)
        blocked = sum(record.type == "hookbus.blocked" for record in kept)
        assert attached + journal.lost >= 4 or "closed" in told
        assert blocked <= len(told) and Journal.reading(path).verify().ok
        assert not failed or told or len(caplog.records) > caplog_before or attached == 4
    assert k > 20
