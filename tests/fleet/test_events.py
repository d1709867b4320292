"""Fleet.ship and Fleet.events: the journal is the outbox, and no event is lost, doubled, overtaken.
"""

import signal
import subprocess
import sys
import threading
import time

import psycopg
import pytest

from hookbus import Bus, HookError, baggage, hookable
from hookbus.journal import Journal

from .postgres import ENOUGH

AGENT = """
import sys, time
from hookbus import default_bus, hookable
from hookbus.fleet import Fleet
from hookbus.journal import Journal

path, url, schema, ships = sys.argv[1:]
journal = Journal(path)
journal.attach(default_bus)
if ships == "ships":
    Fleet(url, schema=schema).ship(journal)

@hookable
def step(number):
    return number

print("ready", flush=True)
for number in range(100_000):
    step(number)
    if number % 20 == 0:
        time.sleep(0.002)
        print(number, flush=True)
"""


def steps_of(journal):
    """Return a function whose calls are in the journal."""
    bus = Bus(values=True)
    journal.attach(bus)
    return hookable("step", bus=bus)(lambda text: text)


def until(condition):
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < ENOUGH, "it never became true"
        time.sleep(0.01)


def ids_of(records):
    return [each.id for each in records]


def test_what_is_in_the_journal_is_in_the_stream_once_and_in_order(made, journal):
    step = steps_of(journal)
    shipping = made.open("agent").ship(journal)
    with baggage(session="s1"):
        for number in range(700):
            step(str(number))
    until(lambda: shipping.lag() == 0)
    events, kept = list(made.open("operator").events("siem")), list(journal.records())
    assert ids_of(events) == ids_of(kept)
    for name in ("source", "type", "subject", "time", "run", "data", "baggage"):
        assert [getattr(each, name) for each in events] == [getattr(each, name) for each in kept]
    assert [each.seq for each in events] == sorted(each.seq for each in events)
    assert shipping.shipped == len(kept) and shipping.problem is None


def test_nul_and_lone_surrogates_pass(made, journal):
    step = steps_of(journal)
    shipping = made.open("agent").ship(journal)
    for text in ("a\0b", "\ud800", "\u2028", "\x7f\U0001f600"):
        step(text)
    until(lambda: shipping.lag() == 0)
    events = list(made.open("operator").events("siem"))
    assert [each.data for each in events] == [each.data for each in journal.records()]


def test_a_reader_continues_after_what_it_committed_from_any_machine(made, journal):
    step, operator = steps_of(journal), made.open("operator")
    shipping = made.open("agent").ship(journal)
    for number in range(5):
        step(str(number))
    until(lambda: shipping.lag() == 0)
    whole = ids_of(operator.events("other"))
    first = operator.events("siem")
    assert [next(first).id, next(first).id] == whole[:2]
    first.commit()
    assert next(first).id == whole[2]
    second = made.open("operator").events("siem")
    assert second.lag() == len(whole) - 2
    assert ids_of(second) == whole[2:]
    second.commit()
    first.rewind()
    assert list(first) == [] and first.lag() == 0
    step("later")
    until(lambda: shipping.lag() == 0)
    assert ids_of(first) == ids_of(second) != []
    second.forget()
    assert ids_of(operator.events("siem"))[: len(whole)] == whole


def test_a_transaction_that_commits_later_is_not_overtaken(made, postgres):
    events = made.open("operator").events("siem")
    body = (
        '{"source":"s","type":"hookbus.started","subject":"h","time":1,"run":"r","data":{"n":%d}}'
    )
    publish = f"SELECT {made.schema}.publish('m', %s, %s, %s)"
    with (
        psycopg.connect(postgres.url("agent")) as early,
        psycopg.connect(postgres.url("agent")) as late,
    ):
        early.execute(publish, ["one", ["r-1"], [body % 1]])
        late.execute(publish, ["two", ["r-2"], [body % 2]])
        late.commit()
        assert list(events) == []
        events.commit()
        early.commit()
    assert [each.data["n"] for each in events] == [1, 2]


def test_two_processes_that_ship_one_journal_keep_its_order(made, postgres):
    """A second writer of a journal waits before it gets a number of a transaction."""
    body = '{"source":"s","type":"t","subject":"h","time":1,"run":"r","data":{}}'
    publish = f"SELECT {made.schema}.publish('m', 'one', %s, %s)"
    with psycopg.connect(postgres.url("agent")) as first:
        first.execute(publish, [["r-1", "r-2"], [body] * 2])

        def ship_all():
            with psycopg.connect(postgres.url("agent")) as second:
                second.execute(publish, [["r-1", "r-2", "r-3"], [body] * 3])

        thread = threading.Thread(target=ship_all)
        thread.start()
        waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        until(lambda: postgres.run_sql(waiting))
        first.commit()
    thread.join()
    assert ids_of(made.open("operator").events("siem")) == ["r-1", "r-2", "r-3"]


def test_no_call_waits_while_the_server_stands_still_and_the_lag_is_shipped_later(
    made, postgres, journal
):
    step = steps_of(journal)
    shipping = made.open("agent").ship(journal)
    postgres.hold()
    try:
        for number in range(100):
            step(str(number))
        until(lambda: shipping.problem)
        assert "did not answer within 5 seconds" in shipping.problem
        assert shipping.lag() == len(list(journal.records())) > 100
    finally:
        postgres.release()
    until(lambda: shipping.lag() == 0)
    until(lambda: shipping.problem is None)
    assert ids_of(made.open("operator").events("siem")) == ids_of(journal.records())


def test_closing_publishes_what_is_left_and_without_a_server_the_journal_keeps_it(
    made, postgres, journal
):
    step, agent = steps_of(journal), made.open("agent")
    shipping = agent.ship(journal)
    step("one")
    shipping.close()
    assert shipping.lag() == 0
    again = agent.ship(journal)
    postgres.stop()
    step("two")
    again.close()
    kept = again.lag()
    postgres.start()
    assert kept > 0 and "cannot be used" in again.problem
    third = made.open("agent").ship(journal)
    until(lambda: third.lag() == 0)
    events = made.open("operator").events("siem")
    assert ids_of(events) == ids_of(journal.records())


def test_a_journal_may_be_closed_before_its_shipping(made, tmp_path):
    journal = Journal(tmp_path / "journal.db")
    step, agent = steps_of(journal), made.open("agent")
    agent.ship(journal)
    for number in range(50):
        step(str(number))
    journal.close()
    agent.close()
    kept = ids_of(Journal.reading(journal.path).records())
    assert ids_of(made.open("operator").events("siem")) == kept != []


def test_what_killed_agents_left_is_shipped_by_the_next_process(made, postgres, tmp_path):
    path = tmp_path / "journal.db"
    words = [str(path), postgres.url("agent"), made.schema]
    for ships in ("ships", "no", "ships"):
        agent = subprocess.Popen(
            [sys.executable, "-c", AGENT, *words, ships], stdout=subprocess.PIPE, text=True
        )
        for line in agent.stdout:
            if line.strip() == "400":
                break
        agent.send_signal(signal.SIGKILL)
        agent.wait()
        agent.stdout.close()
    events = made.open("operator").events("siem")
    with Journal(path) as journal:
        shipping = made.open("agent").ship(journal)
        until(lambda: shipping.lag() == 0)
        kept = [each.id for each in journal.records()]
    seen = ids_of(events)
    assert len(seen) == len(set(seen)) and seen == kept
    assert len({each.rpartition("-")[0] for each in seen}) >= 3


def test_an_agents_rights_are_enough_and_an_agent_reads_nothing(made, journal):
    agent = made.open("agent")
    agent.ship(journal).close()
    for act in (lambda: agent.events("siem"), lambda: agent.retain(1)):
        with pytest.raises(HookError, match="the role agent has no right"):
            act()


def test_an_event_that_cannot_be_read_does_not_stop_a_reader(made, postgres, journal):
    for number, body in enumerate(("{}", "[1]", '{"data": 3}')):
        publish = f"SELECT {made.schema}.publish('m', 'j', ARRAY['odd {number}'], ARRAY[%s])"
        postgres.run_sql(publish, role="agent", values=[body])
    step, shipping = steps_of(journal), made.open("agent").ship(journal)
    step("one")
    until(lambda: shipping.lag() == 0)
    seen = []
    events = made.open("operator").events("siem")
    until(lambda: seen.extend(events) or len(seen) > 3)
    assert [each.type for each in seen[:3]] == ["hookbus.unreadable"] * 3
    assert seen[1].data == {"body": "[1]"} and seen[3].type == "hookbus.started"


def test_a_reader_without_a_name_gets_all_events_and_has_no_position(made, journal):
    step, agent, operator = steps_of(journal), made.open("agent"), made.open("operator")
    shipping = agent.ship(journal)
    step("one")
    until(lambda: shipping.lag() == 0)
    whole = ids_of(journal.records())
    nameless = operator.events()
    assert ids_of(nameless) == whole and ids_of(nameless) == []
    nameless.rewind()
    assert ids_of(nameless) == whole
    for act in (nameless.commit, nameless.lag, nameless.forget):
        with pytest.raises(HookError, match="has no name"):
            act()
    assert ids_of(operator.events("siem")) == whole


def test_retain_drops_only_what_all_readers_have_committed(made, journal):
    step, operator = steps_of(journal), made.open("operator")
    shipping = made.open("agent").ship(journal)
    for number in range(5):
        step(str(number))
    until(lambda: shipping.lag() == 0)
    events, other = operator.events("siem"), operator.events("other")
    whole = ids_of(events)
    events.commit()
    assert operator.retain(0) == 0
    next(other)
    next(other)
    other.commit()
    assert operator.retain(1) == 0
    assert operator.retain(0) == 2
    assert ids_of(operator.events("new")) == whole[2:]


def test_bad_input_gets_one_clear_line(made, journal, tmp_path):
    operator, agent = made.open("operator"), made.open("agent")
    for act, word in (
        (lambda: agent.ship(3), "pass a Journal"),
        (lambda: agent.ship(journal, name=""), "name"),
        (lambda: operator.events(""), "name="),
        (lambda: operator.events("a\0"), "name="),
        (lambda: operator.retain(-1), "days="),
        (lambda: operator.retain("1"), "days="),
        (lambda: agent.ship(Journal.reading(journal.path)), "reading only"),
    ):
        with pytest.raises(HookError, match=word) as found:
            act()
        assert "\n" not in str(found.value)
