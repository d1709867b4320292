"""Fleet.approvals across machines. The checks of approvals.Store are in test_as_store_*."""

import itertools
import os
import subprocess
import sys
import threading
import time

import pytest

from hookbus import HookBlocked, HookError
from hookbus.approvals import ApprovalPending, Approved, Denied

from ..approvals.test_store import bank, parked
from .as_store.conftest import MOMENTS


def pay_on(approver):
    """Return a payment on a bus of its own, as on another machine."""
    return bank(approver)


def test_a_request_of_one_machine_is_answered_from_another(made):
    pay, other = (pay_on(made.open("agent").approvals()) for _ in range(2))
    id = parked(pay, "bob", 500)
    operator = made.open("operator")
    person = operator.approvals()
    assert operator.status().pending == 1
    [request] = person.pending()
    assert request.id == id and abs(request.deadline - time.time() - 86400) < 3600
    person.answer(id, Approved("ada"))
    assert operator.status().pending == 0
    assert other("bob", 500) == 500
    assert parked(pay, "bob", 500) != id


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_nul_in_arguments_and_in_edited_arguments_passes(made, kind):
    approver = made.open("agent").approvals()
    plain = pay_on(approver)
    pay = plain if kind == "plain" else plain.later
    id = parked(pay, "b\0b", 500)
    person = made.open("operator").approvals()
    assert person.get(id).request.arguments["to"] == "b\0b"
    person.answer(id, Approved("a\0da", arguments={"to": "\0", "amount": 7}))
    assert pay("b\0b", 500) == 7
    assert person.get(id).state == "used" and person.get(id).answer.by == "a\0da"


def test_of_many_threads_one_uses_an_approval(made):
    agent = made.open("agent")
    person = made.open("operator").approvals()
    payments = [pay_on(agent.approvals()) for _ in range(6)]
    for amount in range(500, 505):
        person.answer(parked(payments[0], "bob", amount), Approved("ada"))
        won, start = [], threading.Barrier(len(payments))

        def use(pay, amount=amount, won=won, start=start):
            start.wait()
            try:
                won.append(pay("bob", amount))
            except ApprovalPending:
                return

        threads = [threading.Thread(target=use, args=(pay,)) for pay in payments]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert won == [amount]


RACER = """
import os
import sys
from hookbus import Ask, Bus, hookable
from hookbus.approvals import ApprovalPending
from hookbus.fleet import Fleet

url, schema, rounds, processes = sys.argv[1:]
bus = Bus()
bus.approver(Fleet(url, schema=schema, program="racer").approvals())
bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)

@hookable(bus=bus)
def pay(number):
    return number

print("ready", flush=True)
sys.stdin.readline()
children = []
for _ in range(int(processes) - 1):
    children.append(os.fork())
    if not children[-1]:
        break
for number in range(int(rounds)):
    try:
        os.write(1, f"{pay(number)}\\n".encode())  # whole, because the processes share it
    except ApprovalPending:
        pass
for child in filter(None, children if children and children[-1] else []):
    assert os.waitpid(child, 0)[1] == 0
"""


def begin_racers(postgres, schema, folder, processes, rounds):
    """Start programs in different folders that make the same calls, each after a line of input and
    in this number of processes.
    """
    racers = []
    for number, count in enumerate(processes):
        file = folder / str(number) / "agent.py"
        file.parent.mkdir()
        file.write_text(RACER)
        racers.append(subprocess.Popen(
            [sys.executable, str(file), postgres.url("agent"), schema, str(rounds), str(count)],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ))  # fmt: skip
    assert [each.stdout.readline() for each in racers] == ["ready\n"] * len(racers)
    return racers


def test_of_8_processes_that_race_for_an_approval_exactly_one_uses_it(made, postgres, tmp_path):
    rounds = 1000 if os.environ.get("HOOKBUS_LONG") else 20
    first, *racers = begin_racers(postgres, made.schema, tmp_path, (1, 4, 4), rounds)
    assert first.communicate("go\n", timeout=600)[0] == ""
    person = made.open("operator").approvals()
    assert len(person.pending()) == rounds
    for request in person.pending():
        person.answer(request.id, Approved("ada"))
    for each in racers:
        each.stdin.write("go\n")
        each.stdin.flush()
    won = [each.communicate(timeout=600)[0].split() for each in racers]
    assert [each.returncode for each in racers] == [0, 0]
    assert sorted(map(int, itertools.chain(*won))) == [*range(rounds)]
    states = [each.state for each in person.history()]
    assert states.count("used") == rounds and states.count("approved") == 0


def test_an_agents_role_cannot_answer_or_read(made, postgres):
    approver = made.open("agent").approvals()
    id = parked(pay_on(approver), "bob", 500)
    for act in (
        approver.pending, approver.history, lambda: approver.get(id),
        lambda: approver.answer(id, Approved("me")),
    ):  # fmt: skip
        with pytest.raises(HookError, match="the role agent has no right"):
            act()
    refused = f"SELECT {made.schema}.answer('{id}', 'approved', '{{}}', false, 60)"
    with pytest.raises(Exception, match="permission denied"):
        postgres.run_sql(refused, role="agent")
    assert made.open("operator").approvals().get(id).state == "pending"


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_without_a_server_the_call_is_blocked_and_goes_on_after_a_restart(made, postgres, kind):
    approver = made.open("agent").approvals()
    plain = pay_on(approver)
    pay = plain if kind == "plain" else plain.later
    id = parked(pay, "bob", 500)
    made.open("operator").approvals().answer(id, Approved("ada"))
    postgres.stop()
    try:
        with pytest.raises(HookBlocked, match="the fleet at .* cannot be used") as found:
            pay("bob", 500)
        assert not isinstance(found.value, ApprovalPending)
    finally:
        postgres.start()
    assert pay("bob", 500) == 500
    approver.close()
    with pytest.raises(HookBlocked, match="are closed"):
        pay("bob", 500)


def test_a_request_that_was_not_answered_in_time_has_expired(made, postgres):
    pay = pay_on(made.open("agent").approvals(answer_within=60))
    id = parked(pay, "bob", 500)
    past = "answer_by = answer_by - interval '61 s'"
    postgres.run_sql(f"UPDATE {made.schema}.requests SET {past}")
    person = made.open("operator").approvals()
    assert person.pending() == [] and person.get(id).state == "expired"
    with pytest.raises(HookError, match="has expired"):
        person.answer(id, Denied("ada", "late"))
    assert parked(pay, "bob", 500) != id


@pytest.mark.parametrize("text", ["{}", "[1]", "null", '{"id": "x", "nonsense": 1}', "[" * 5000])
def test_a_request_that_cannot_be_read_hides_no_other_and_cannot_be_approved(
    made, postgres, text, caplog
):
    body = text + "]" * text.count("[") if text.startswith("[[") else text
    asked = f"SELECT {made.schema}.ask('odd', 'digest', %s, 60, '[]', '', '', true)"
    postgres.run_sql(asked, role="agent", values=[body])
    id = parked(pay_on(made.open("agent").approvals()), "bob", 500)
    person = made.open("operator").approvals()
    assert [each.id for each in person.pending()] == [id]
    assert "1 requests in the fleet cannot be read" in caplog.text
    with pytest.raises(HookError, match="has no request 'odd'"):
        person.answer("odd", Approved("ada"))


def test_a_request_whose_text_names_another_is_listed_under_its_own_id(made, postgres):
    id = parked(pay_on(made.open("agent").approvals()), "bob", 500)
    [(text,)] = postgres.run_sql(f"SELECT request::text FROM {made.schema}.requests")
    asked = f"SELECT {made.schema}.ask('odd', 'digest', %s, 60, '[]', '', '', true)"
    postgres.run_sql(asked, role="agent", values=[text.replace("500", "5")])
    pending = made.open("operator").approvals().pending()
    assert [(each.id, each.arguments["amount"]) for each in pending] == [(id, 500), ("odd", 5)]


def test_retain_drops_requests_that_have_ended_and_no_others(made, postgres):
    operator = made.open("operator")
    person, pay = operator.approvals(), pay_on(made.open("agent").approvals())
    used, denied, late, valid, pending = (parked(pay, "bob", 500 + each) for each in range(5))
    for id in (used, valid):
        person.answer(id, Approved("ada"))
    person.answer(denied, Denied("ada", "no"))
    assert pay("bob", 500) == 500
    moved = ", ".join(f"{each} = {each} - interval '3 days'" for each in MOMENTS)
    ended = f"('{used}', '{denied}', '{late}')"
    postgres.run_sql(f"UPDATE {made.schema}.requests SET {moved} WHERE id IN {ended}")
    postgres.run_sql(f"UPDATE {made.schema}.requests SET asked = asked - interval '3 days'")
    operator.retain(4)
    assert len(person.history()) == 5
    operator.retain(1)
    assert [each.request.id for each in person.history()] == [valid, pending]
    assert pay("bob", 503) == 503


@pytest.mark.parametrize("name", ["expires", "answer_within"])
def test_a_bad_number_of_seconds_is_refused(made, name):
    for seconds in (0, -1, True, "1", None):
        with pytest.raises(HookError, match=f"{name}="):
            made.open("agent").approvals(**{name: seconds})
