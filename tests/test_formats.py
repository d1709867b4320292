"""Journals and stores that any version has written can be read, verified and written on.

`python -m tests.formats --write` made the files in `tests/formats/samples`. A released sample is
never written anew: where this test fails, read the old format, or migrate it.
"""

import gzip
import json

import pytest

from hookbus.approvals import Approved, Proof
from hookbus.journal import Journal, replay

from .formats import program as agent

SAMPLES = agent.SAMPLES


def samples(name):
    """Return the samples of a format, one of each version."""
    found = sorted(SAMPLES.glob(f"{name}-*.db.gz"))
    assert found, "python -m tests.formats --write"
    return [path.name.removesuffix(".db.gz") for path in found]


def unpacked(name, folder):
    """Unpack a sample, and return its path and what is known about it."""
    path = folder / f"{name}.db"
    path.write_bytes(gzip.decompress((SAMPLES / f"{name}.db.gz").read_bytes()))
    return path, json.loads((SAMPLES / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", samples("journal"))
def test_a_journal_of_any_version_is_read_verified_and_replayed(name, tmp_path):
    path, facts = unpacked(name, tmp_path)
    journal = Journal.reading(path)
    verification = journal.verify(facts["checkpoint"])
    assert verification.ok, verification
    records = list(journal.records())
    assert [record.seq for record in records] == [*range(facts["first"], facts["last"] + 1)]
    assert sorted({record.type for record in records}) == facts["types"]
    started = list(journal.records(hook="pay", type="started"))
    assert started[0].data["values"] == {"to": " ann ", "amount": 10}
    replayed = replay(journal, agent.BUS)
    assert replayed.calls > 5 and not replayed.differences, replayed


@pytest.mark.parametrize("name", samples("journal"))
def test_a_journal_of_any_version_is_written_on(name, tmp_path):
    path, facts = unpacked(name, tmp_path)
    with Journal(path) as journal:
        assert next(journal.cursor(agent.READER)).seq == facts["committed"] + 1
        agent.work(journal)
        assert journal.unfinished() == [] and journal.lost == 0
        assert journal.verify(facts["checkpoint"]).ok
        added = list(journal.records(after=facts["last"]))
    assert [record.seq for record in added][:2] == [facts["last"] + 1, facts["last"] + 2]
    assert {record.type for record in added} == {*facts["types"]} - {"hookbus.retained"}


@pytest.mark.parametrize("name", samples("approvals"))
def test_answers_in_a_store_of_any_version_are_used_by_their_calls_alone(name, tmp_path):
    path, facts = unpacked(name, tmp_path)
    store = agent.store_at(path)
    cases = dict(zip(agent.CALLS, store.history()))
    assert len(cases) == len(agent.CALLS)
    assert [case.state for case in cases.values()] == facts["states"]
    with agent.approved_by(store):
        for state, (to, amount) in agent.CALLS.items():
            assert cases[state].request.arguments == {"to": to, "amount": amount}
        assert agent.pay(*agent.CALLS["approved"]) == "paid 300 to ann"
        assert agent.pay(*agent.CALLS["approved"]) != "paid 300 to ann", "it is used once"
        assert "too much" in agent.pay(*agent.CALLS["denied"])
        for _ in range(2):
            assert agent.pay(*agent.CALLS["remembered"]) == "paid 600 to ann"
        assert agent.pay(*agent.CALLS["edited"]) == "paid 70 to bob"
        assert store.get(cases["approved"].request.id).state == "used"


@pytest.mark.parametrize("name", samples("approvals"))
def test_a_pending_request_of_any_version_can_be_answered(name, tmp_path):
    path, _ = unpacked(name, tmp_path)
    store = agent.store_at(path)
    with agent.approved_by(store):
        waiting = store.pending()[0]
        store.answer(waiting.id, Approved("ada"))
        assert agent.pay(*agent.CALLS["pending"]) == "paid 200 to ann"


@pytest.mark.parametrize("name", samples("approvals"))
def test_a_second_person_approves_in_a_store_of_any_version(name, tmp_path):
    path, facts = unpacked(name, tmp_path)
    store = agent.store_at(path)
    with agent.approved_by(store):
        assert "pending" in agent.pay(*agent.SHARED)
        shared = store.pending()[-1].id
        if "shared" in facts:  # one person has approved it, so format 4 or later
            assert shared == facts["shared"] and store.get(shared).approved_by == ("grace",)
        else:
            store.answer(shared, Approved("grace"), proof=Proof("grace", "test"))
        assert "pending" in agent.pay(*agent.SHARED)
        store.answer(shared, Approved("bob"), proof=Proof("bob", "test"))
        assert agent.pay(*agent.SHARED) == "paid 5000 to ann"
    assert format_of(path) == 4


@pytest.mark.parametrize("name", ["journal", "approvals"])
def test_there_is_a_sample_of_the_format_that_is_written_today(name, tmp_path):
    path = tmp_path / "new.db"
    if name == "journal":
        Journal(path).close()
    else:
        agent.store_at(path).close()
    assert f"{name}-{format_of(path)}" in samples(name), "python -m tests.formats --write"


def format_of(path):
    """Return the number of the format: bytes 60 to 63 of a SQLite file."""
    return int.from_bytes(path.read_bytes()[60:64], "big")


def test_the_page_on_versions_names_the_formats():
    page = (SAMPLES.parents[2] / "docs" / "explanation" / "versioning.md").read_text("utf-8")
    for name in ("journal", "approvals"):
        newest = max(int(each.rpartition("-")[2]) for each in samples(name))
        assert f"| {name} | {newest} |" in page
