"""A store: approvals that outlive the process, for several processes, each used once."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys

import pytest

from hookbus import Ask, Bus, HookBlocked, HookError, hookable
from hookbus.approvals import ApprovalPending, Approved, Denied, Store
from hookbus.events import Failed
from hookbus.testing import record

from .race import prepare


@pytest.fixture
def path(tmp_path):
    return tmp_path / "approvals.db"


def bank(store):
    """A new process, as far as the store can tell: another bus, another guard, another function."""
    bus = Bus()
    bus.approver(store)

    @bus.signal("pre_pay").connect_via(role="guard")
    def large(sender, amount):
        return Ask(f"pay {amount}?", details={"why": object}) if amount > 100 else None

    @hookable("pay", bus=bus, identity=lambda sender: "the bank")
    def pay(to, amount):
        return amount

    @hookable("pay", bus=bus, identity=lambda sender: "the bank")
    async def pay_async(to, amount):
        return amount

    pay.bus = bus
    pay.later = lambda *given: asyncio.run(pay_async(*given))
    return pay


def parked(pay, *given):
    with pytest.raises(ApprovalPending) as error:
        pay(*given)
    return error.value.id


@pytest.mark.parametrize("way", ["plain", "async"])
def test_the_same_call_made_again_after_the_yes_passes_once(stores, way):
    def again():
        pay = bank(stores.open())
        return pay if way == "plain" else pay.later

    first = parked(again(), "bob", 500)
    assert parked(again(), "bob", 500) == first
    person = stores.open()
    (request,) = person.pending()
    assert request.id == first and request.arguments == {"to": "bob", "amount": 500}
    person.answer(first, Approved("ada"))
    assert person.pending() == [] and person.get(first).state == "approved"
    assert parked(again(), "eve", 500) != first
    assert again()("bob", 500) == 500
    assert person.get(first).state == "used" and person.get(first).answer == Approved("ada")
    assert parked(again(), "bob", 500) != first
    assert [case.state for case in person.history()] == ["used", "pending", "pending"]


def test_an_edited_yes_runs_what_the_person_wrote(stores):
    pay = bank(stores.open())
    stores.open().answer(
        parked(pay, "bob", 500), Approved("ada", arguments={"to": "bob", "amount": 200})
    )
    assert pay("bob", 500) == 200
    parked(pay, "bob", 500)


def test_a_no_holds_until_it_expires(stores):
    store = stores.open(expires=60)
    pay = bank(store)
    id = parked(pay, "bob", 500)
    store.answer(id, Denied("ada", "not today"))
    for _ in range(2):
        with pytest.raises(HookBlocked, match="denied by ada: not today") as error:
            pay("bob", 500)
        assert not isinstance(error.value, ApprovalPending)
    stores.let_pass(61)
    assert store.get(id).state == "expired" and parked(pay, "bob", 500) != id


def test_a_yes_expires_counted_from_when_it_was_said(stores):
    store = stores.open(expires=60)
    pay = bank(store)
    id = parked(pay, "bob", 500)
    stores.let_pass(61)
    store.answer(id, Approved("ada"))
    assert pay("bob", 500) == 500
    store.answer(parked(pay, "bob", 500), Approved("ada"))
    stores.let_pass(61)
    parked(pay, "bob", 500)


def test_a_remembered_yes_is_for_as_long_as_the_person_said(stores):
    store = stores.open(expires=60)
    pay = bank(store)
    id = parked(pay, "bob", 500)
    store.answer(id, Approved("ada", remember=120))
    assert [pay("bob", 500) for _ in range(3)] == [500] * 3
    stores.let_pass(121)
    parked(pay, "bob", 500)


def test_the_first_answer_is_final(stores):
    store = stores.open()
    id = parked(bank(store), "bob", 500)
    store.answer(id, Denied("ada", "no"))
    with pytest.raises(HookError, match=f"request {id} is already denied"):
        store.answer(id, Approved("eve"))
    assert store.get(id).answer == Denied("ada", "no")


@pytest.mark.parametrize(
    "wrong", [Approved, "yes", None, Approved(""), Approved("ada", arguments={"to": "bob"}),
              Approved("ada", arguments={"to": "bob", "amount": {1}}), Approved("ada", remember=0)],
    ids=repr,
)  # fmt: skip
def test_what_is_no_answer_is_refused_and_changes_nothing(stores, wrong):
    store = stores.open()
    id = parked(bank(store), "bob", 500)
    with pytest.raises(HookError):
        store.answer(id, wrong)
    assert store.get(id).state == "pending"


def test_a_request_nobody_made_is_said_with_the_nearest(stores):
    store = stores.open()
    id = parked(bank(store), "bob", 500)
    with pytest.raises(HookError, match=f"no request .* did you mean '{id}'"):
        store.answer(id[:-1] + "x", Approved("ada"))


def test_two_stores_do_not_know_each_others_digests(stores):
    opened = [stores.open(), stores.open("other")]
    one, other = (parked(bank(store), "a", 500) for store in opened)
    assert one != other
    digests = {store.pending()[0].digest for store in opened}
    assert len(digests) == 2


# -- a file that cannot be used --------------------------------------------------------------------


def test_a_file_that_is_no_store_is_refused_where_it_is_opened(path, tmp_path):
    with pytest.raises(HookError, match="the folder .* does not exist"):
        Store(tmp_path / "none" / "approvals.db")
    for odd in (":memory:", "", 3, None):
        with pytest.raises(HookError, match="pass (a|the) path"):
            Store(odd)
    for seconds in (0, -1, True, "1", None):
        with pytest.raises(HookError, match="expires="):
            Store(path, expires=seconds)
    text = tmp_path / "notes.txt"
    text.write_text("not a database, " * 100)
    with pytest.raises(HookError, match=r"notes.txt is not an SQLite database"):
        Store(text)
    assert text.read_text() == "not a database, " * 100
    with sqlite3.connect(tmp_path / "own.db") as own:
        own.execute("CREATE TABLE mine (x)")
    own.close()
    with pytest.raises(HookError, match="a database of another program"):
        Store(tmp_path / "own.db")


@pytest.mark.parametrize("schema, other", [(7, "a newer"), (2, "an older")])
def test_another_schema_is_refused(path, schema, other):
    Store(path)
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {schema}")
    db.close()
    said = f"has schema {schema}, but this hookbus reads schema 4: open it with {other} hookbus"
    with pytest.raises(HookError, match=said):
        Store(path)


@pytest.mark.parametrize("way", ["plain", "async"])
@pytest.mark.parametrize("harm", ["damaged", "closed", "gone", "locked"])
def test_a_store_that_cannot_be_used_blocks_and_says_why(path, way, harm, monkeypatch):
    store = Store(path)
    pay = bank(store)
    other = None
    if harm == "damaged":
        Store(path)
        size = path.stat().st_size
        path.write_bytes(path.read_bytes()[:100] + os.urandom(size - 100))
    elif harm == "closed":
        store.close()
    elif harm == "gone":
        path.unlink()
        path.mkdir()
    else:
        monkeypatch.setattr("hookbus.approvals._schema.BUSY_SECONDS", 0.05)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
    with record(pay.bus) as events, pytest.raises(HookBlocked) as error:
        (pay if way == "plain" else pay.later)("bob", 500)
    words = {"damaged": "damaged", "closed": "is closed", "gone": "cannot be opened",
             "locked": "is locked by another process: try again"}  # fmt: skip
    assert words[harm] in error.value.reason and not isinstance(error.value, ApprovalPending)
    assert [event.action for event in events.of(Failed)] == ["blocked"]
    if other is not None:
        other.close()


@pytest.mark.skipif(
    sys.platform != "win32" and os.geteuid() == 0, reason="root may write everywhere"
)
def test_a_file_that_may_not_be_written_is_said(path):
    Store(path)
    path.chmod(stat.S_IRUSR)
    with pytest.raises(HookError, match="cannot be written"):
        Store(path)


# -- several processes -----------------------------------------------------------------------------


def test_of_processes_that_race_for_one_yes_one_wins(path):
    rounds = 10_000 if os.environ.get("HOOKBUS_LONG") else 100
    prepare(path, rounds)
    command = [sys.executable, "-m", "tests.approvals.race", str(path), str(rounds)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * 2
    path.with_name(f"{path.name}.go").touch()
    won = [racer.communicate(timeout=1200)[0].split() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0]
    assert sorted(map(int, won[0] + won[1])) == [*range(rounds)]
    states = [case.state for case in Store(path).history()]
    assert states.count("used") == rounds


def test_whoever_is_killed_no_yes_is_lost_or_used_twice_or_for_something_else(path):
    rounds = 300 if os.environ.get("HOOKBUS_LONG") else 5
    command = [sys.executable, "-m", "tests.approvals.kill", str(path), str(rounds)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=2400, check=False)
    assert ended.returncode == 0, ended.stdout
    assert f"{rounds} rounds, 0 problems" in ended.stdout
