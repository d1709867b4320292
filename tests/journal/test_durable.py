"""A durable hook's body starts only when it is on the disk that it is about to (G37, C12)."""

import asyncio
import sqlite3
import threading

import pytest

from hookbus import Block, Bus, HookBlocked, HookError, Replace, baggage, hookable
from hookbus.events import Finished
from hookbus.guards import retry
from hookbus.journal import Journal
from hookbus.testing import record

from .conftest import WAYS, Bank


def kept(journal):
    return [(each.type.removeprefix("hookbus."), each.data.get("outcome"), each.data["attempt"])
            for each in journal.records() if "attempt" in each.data]  # fmt: skip


@pytest.fixture
def journal(path):
    with Journal(path) as journal:
        yield journal


@pytest.mark.parametrize("way", WAYS)
def test_an_intent_is_on_the_disk_before_the_body_and_an_outcome_after_it(journal, bank, way, path):
    reader = Journal.reading(path)
    journal.durable("pay", bus=bank.bus)
    seen = []
    bank.during = lambda to: seen.append([each.type for each in reader.records()])
    assert bank.pay("ada", 7, way=way) == 7
    assert seen == [["hookbus.intent"]]
    intent, outcome = reader.records()
    assert (intent.type, outcome.type) == ("hookbus.intent", "hookbus.outcome")
    assert intent.data["arguments"] == ["to", "amount"] and intent.data["hook"] == "pay"
    assert intent.data["call_id"] == outcome.data["call_id"] and outcome.data["seconds"] > 0
    assert outcome.data["outcome"] == "returned" and journal.unfinished() == []


@pytest.mark.parametrize("way", WAYS)
def test_every_exit_of_the_body_has_an_outcome_and_a_call_that_is_blocked_before_has_no_intent(
    journal, bank, way
):
    journal.durable("pay", bus=bank.bus)
    with pytest.raises(LookupError) as raised:
        bank.pay("nobody", way=way)
    assert not hasattr(raised.value, "__notes__")
    with pytest.raises(HookBlocked, match="eve is not paid"):
        bank.pay("eve", way=way)
    assert kept(journal) == [("intent", None, 1), ("outcome", "raised", 1)]
    assert list(journal.records())[1].data["error"]["type"] == "LookupError"


@pytest.mark.parametrize("way", ["pay_stream", "pay_async_stream"])
def test_a_stream_that_is_left_ends_as_cancelled_and_send_and_throw_reach_the_body(
    journal, bank, way
):
    journal.durable("pay", bus=bank.bus)

    async def play():
        stream = getattr(bank.teller, way)("ada")
        if way == "pay_async_stream":
            assert await anext(stream) == 1 and await stream.asend("sent") == "sent"
            await stream.aclose()
            other = bank.teller.pay_async_stream("ada")
            await anext(other)
            with pytest.raises(KeyError):
                await other.athrow(KeyError())
            return
        assert next(stream) == 1 and stream.send("sent") == "sent"
        stream.close()
        other = bank.teller.pay_stream("ada")
        next(other)
        with pytest.raises(KeyError):
            other.throw(KeyError())

    asyncio.run(play())
    assert [outcome for _, outcome, _ in kept(journal)] == [None, "cancelled", None, "raised"]


def test_a_cancelled_call_passes_the_cancellation_on_and_is_kept(journal, bank):
    journal.durable("wait", bus=bank.bus)

    @hookable(bus=bank.bus)
    async def wait(seconds):
        await asyncio.sleep(seconds)

    async def play():
        task = asyncio.create_task(wait(60))
        while not list(journal.records()):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(50):  # cancelled while the intent is being written, or before
            task = asyncio.create_task(wait(0))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(play())
    ends = kept(journal)
    assert ends[:2] == [("intent", None, 1), ("outcome", "cancelled", 1)]
    assert sum(kind == "intent" for kind, *_ in ends) * 2 == len(ends)
    assert journal.unfinished() == []


@pytest.mark.parametrize("way", ["pay", "pay_async"])
def test_each_attempt_has_an_intent_and_an_outcome_of_its_own(journal, bank, way):
    journal.durable("pay", bus=bank.bus)
    bank.bus.register(retry(LookupError, attempts=3, wait_initial=0.001, hook="pay"))
    with pytest.raises(LookupError):
        bank.pay("nobody", way=way)
    assert kept(journal) == [
        (kind, outcome, number)
        for number in (1, 2, 3)
        for kind, outcome in (("intent", None), ("outcome", "raised"))
    ]
    assert len(bank.ran) == 3


def test_where_no_body_runs_there_is_no_intent_and_an_attempt_that_is_blocked_says_so(
    journal, bank
):
    journal.durable("pay", bus=bank.bus)
    with bank.bus.signal("pre_pay").connected_to(lambda teller: Replace(0)):
        assert bank.pay("ada") == 0
    assert kept(journal) == []

    def twice(teller, call_next):
        call_next()
        return call_next(to="eve")

    bank.bus.signal("around_pay").connect(twice)
    with pytest.raises(HookBlocked, match="eve is not paid"):
        bank.pay("ada")
    assert [outcome for _, outcome, _ in kept(journal)] == [None, "returned", None, "blocked"]
    assert bank.ran == ["ada"]


class Lies(Exception):
    __class__ = HookBlocked


def test_whatever_a_body_raises_its_outcome_is_that_it_raised(journal):
    bus, blocks = Bus(), []

    class Agent:
        @hookable("go", bus=bus)
        def go(self, error):
            if error is not None:
                raise error
            Agent().go("inner")

    bus.signal("pre_go").connect(
        lambda agent, error: Block("no") if error == "inner" else None, role="guard", weak=False
    )
    journal.durable("go", bus=bus)
    for error in (HookBlocked("made by hand"), Lies("x"), None):
        try:
            Agent().go(error)
        except BaseException as left:
            blocks.append(type(left))
    assert blocks == [HookBlocked, Lies, HookBlocked] and journal.unfinished() == []
    assert kept(journal) == [("intent", None, 1), ("outcome", "raised", 1)] * 3


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("harm", ["locked", "closed", "gone"])
def test_where_the_intent_cannot_be_written_the_call_is_blocked_and_the_next_one_tries_again(
    journal, bank, way, harm, path, monkeypatch
):
    monkeypatch.setattr("hookbus.journal._file.BUSY_SECONDS", 0.05)
    journal.durable("pay", bus=bank.bus)
    other = sqlite3.connect(path, isolation_level=None)
    if harm == "locked":
        other.execute("BEGIN IMMEDIATE")
    elif harm == "closed":
        journal.close()
    else:
        path.rename(path.with_suffix(".old"))
    with record(bank.bus) as events, pytest.raises(HookBlocked) as blocked:
        bank.pay("ada", way=way)
    words = {"locked": "is locked by another process", "closed": "is closed", "gone": "is gone"}
    assert words[harm] in blocked.value.reason and blocked.value.receiver == "durable journal"
    assert bank.ran == [] and [event.outcome for event in events.of(Finished)] == ["blocked"]
    other.close()
    if harm == "gone":
        path.with_suffix(".old").rename(path)
    if harm == "closed":
        return
    bank.pay("ada", way=way)
    assert kept(journal) == [("intent", None, 1), ("outcome", "returned", 1)]


@pytest.mark.parametrize("way", WAYS)
def test_where_only_the_outcome_cannot_be_written_the_caller_is_told_so(
    journal, bank, way, path, monkeypatch
):
    monkeypatch.setattr("hookbus.journal._file.BUSY_SECONDS", 0.05)
    journal.durable("pay", bus=bank.bus)
    other = sqlite3.connect(path, isolation_level=None)
    bank.during = lambda to: other.execute("BEGIN IMMEDIATE")
    journal._writer._mover.chain.disconnect()  # so that it waits no longer than this test says
    with pytest.raises(HookError, match="pay ran, but its outcome could not be recorded: .*locked"):
        bank.pay("ada", way=way)
    other.execute("COMMIT")
    with pytest.raises(LookupError) as raised:
        bank.pay("nobody", way=way)
    other.close()
    assert "its outcome could not be recorded" in raised.value.__notes__[0]
    assert [each.data["attempt"] for each in journal.unfinished()] == [1, 1]


def test_intents_and_outcomes_say_no_more_than_the_redactors_of_the_bus_leave(
    journal, bank, monkeypatch
):
    journal.durable("pay", bus=bank.bus)
    bank.bus.redact(names="*secret*", patterns="canary-[0-9]+")
    with baggage(session="canary-17", my_secret="canary", user="ada"):
        bank.pay("canary-4711", "canary")
    bank.bus.redact(function=lambda name, value: 1 / 0)
    with baggage(user="canary"):
        bank.pay("ada")
        monkeypatch.setattr("hookbus._outgoing.redaction.redacted", lambda *_: 1 / 0)
        bank.pay("ada")
    said = [each.baggage for each in journal.records()]
    assert said[0] == {"session": "<redacted>", "my_secret": "<redacted>", "user": "ada"}
    assert said[2] == {"user": "<could not be redacted>"}
    assert said[4] == said[5] == {} and [*journal.records()][5].data["sender"] == "unknown"
    journal.flush()
    for file in journal.path.parent.iterdir():
        assert b"canary" not in file.read_bytes()


@pytest.mark.parametrize("way", WAYS)
def test_an_intent_on_a_bus_with_values_has_what_this_attempt_is_called_with(path, way):
    bank = Bank(values=True)
    bank.bus.redact(names="to")
    bank.bus.signal("around_pay").connect(doubles_of(way))
    with Journal(path) as journal:
        journal.durable("pay", bus=bank.bus)
        bank.pay("ada", [1], way)
        intents = [each.data for each in journal.records(type="intent")]
        outcomes = [each.data for each in journal.records(type="outcome")]
    assert [each["values"] for each in intents] == [
        {"to": "<redacted>", "amount": [1]}, {"to": "<redacted>", "amount": [1, 1]},
    ]  # fmt: skip
    assert intents[0]["arguments"] == ["to", "amount"]
    assert all({"arguments", "values"}.isdisjoint(each) for each in outcomes)


def doubles_of(way):
    """Return an around that has the body run again, with twice of what it was given."""

    def doubles(teller, amount, call_next):
        call_next()
        return call_next(amount=amount * 2)

    async def doubles_async(teller, amount, call_next):
        await call_next()
        return await call_next(amount=amount * 2)

    def doubles_stream(teller, amount, call_next):
        yield from call_next()
        yield from call_next(amount=amount * 2)

    async def doubles_async_stream(teller, amount, call_next):
        async for item in call_next():
            yield item
        async for item in call_next(amount=amount * 2):
            yield item

    return dict(zip(WAYS, (doubles, doubles_async, doubles_stream, doubles_async_stream)))[way]


class Told(sqlite3.Connection):
    """A connection that says how safe each of its commits was."""

    synchronous, commits = "", []

    def execute(self, statement, *values):
        if statement.startswith("PRAGMA synchronous"):
            self.synchronous = statement.split()[-1]
        if statement == "COMMIT":
            Told.commits.append(self.synchronous)
        return super().execute(statement, *values)


@pytest.mark.parametrize(
    ("durability", "commits"), [("normal", ["FULL", "NORMAL"]), ("full", ["FULL", "FULL"])]
)
@pytest.mark.parametrize("way", ["pay", "pay_async"])
def test_an_intent_outlives_a_power_cut_and_an_outcome_does_in_full(
    path, bank, way, durability, commits, monkeypatch
):
    connect = sqlite3.connect
    with Journal(path, durability=durability) as journal, monkeypatch.context() as patched:
        patched.setattr("hookbus.journal._file.sqlite3.connect",
                        lambda *args, **options: connect(*args, factory=Told, **options))
        journal.durable("pay", bus=bank.bus)
        bank.pay("ada", way=way)
        Told.commits.clear()
        bank.pay("ada", way=way)
        assert Told.commits == commits


def test_hooks_may_be_durable_before_they_are_there_and_are_until_the_last_undo(path, bank):
    with Journal(path) as journal:
        undo, again = journal.durable("later", "pay", bus=bank.bus), journal.durable(
            "later", "later", bus=bank.bus
        )

        @hookable(bus=bank.bus)
        def later():
            return 1

        later()
        undo()
        undo()
        later()
        bank.pay("ada")
        again()
        later()
        assert len(kept(journal)) == 4
        for odd in ((), ("no name",), (3,), ("later", "")):
            with pytest.raises(HookError, match="pass names of hooks"):
                journal.durable(*odd, bus=bank.bus)
    for refused in (journal, Journal.reading(path)):
        with pytest.raises(HookError, match="is closed|open for reading only"):
            refused.durable("pay", bus=bank.bus)


def test_the_innermost_around_is_the_journal_whatever_came_before_or_after(journal, bank):
    order = []

    def outer(teller, call_next):
        order.append(len(kept(journal)))
        return call_next()

    journal.durable("pay", bus=bank.bus)
    bank.bus.signal("around_pay").connect(outer, bank.teller, priority=-1e9)
    bank.pay("ada")
    assert order == [0] and len(kept(journal)) == 2


def test_intents_of_many_threads_and_tasks_share_commits_and_pair_up(path):
    bus, calls = Bus(), 40

    @hookable("pay", bus=bus)
    def pay(i):
        return i

    @hookable("pay", bus=bus)
    async def pay_async(i):
        await asyncio.sleep(0)
        return i

    async def play():
        assert await asyncio.gather(*map(pay_async, range(calls))) == [*range(calls)]

    with Journal(path, durability="full") as journal:
        journal.durable("pay", bus=bus)
        journal.attach(bus)
        threads = [threading.Thread(target=lambda: [pay(i) for i in range(10)]) for _ in range(4)]
        threads.append(threading.Thread(target=asyncio.run, args=(play(),)))
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        by_type = [each.type for each in journal.records()]
        assert {kind: by_type.count(kind) for kind in by_type} == dict.fromkeys(
            ("hookbus.started", "hookbus.intent", "hookbus.outcome", "hookbus.finished"), 80
        )
        assert journal.unfinished() == []
