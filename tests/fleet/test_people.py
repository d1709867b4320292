"""People of a fleet: the role of the connection says who approves, and the server counts."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from hookbus import Ask, HookBlocked, HookError, cli
from hookbus.approvals import AlreadyAnswered, ApprovalPending, Approved, Denied, Proof
from hookbus.fleet import Fleet

from ..approvals.test_people import PEOPLE, TWO, bank, parked

RACES = 999 if os.environ.get("HOOKBUS_LONG") else 30
ONE = Ask("pay?", roles=("finance",))


@pytest.fixture(scope="module")
def group(postgres):
    """A role of operators whose members are people."""
    postgres.run_sql("CREATE ROLE approvers NOLOGIN; GRANT approvers TO ada, bob, eve")
    return "approvers"


@pytest.fixture
def staffed(made, group):
    """A fleet with people, whose roles are operators as members of a group."""
    Fleet.make(
        made.server.url("owner"), schema=made.schema, operators=group, portals="portal",
        people=PEOPLE,
    )  # fmt: skip
    return made


def test_people_with_roles_of_their_own_approve_a_call(staffed):
    agent = staffed.open("agent").approvals()
    pay = bank(agent, TWO)
    id = parked(pay)
    ada, bob, eve = (staffed.open(name).approvals() for name in ("ada", "bob", "eve"))
    assert ada.person == "ada"
    ada.answer(id, Approved("ada"))
    with pytest.raises(AlreadyAnswered, match="already approved by ada: another person"):
        ada.answer(id, Approved("ada"))
    with pytest.raises(HookError, match="has none of these roles"):
        eve.answer(id, Approved("eve"))
    assert bob.get(id).approved_by == ("ada",) and parked(pay) == id
    bob.answer(id, Approved("bob"))
    assert pay(500) == 500
    assert bob.get(id).state == "used" and bob.get(id).answer.by == "ada, bob"


@pytest.mark.parametrize("name", ["bob", "BOB", "bo\u200bb"], ids=ascii)
def test_the_role_of_the_user_who_made_the_call_never_counts(staffed, name):
    id = parked(bank(staffed.open("agent").approvals(), ONE), user=name)
    with pytest.raises(HookError, match="'bob' made the call"):
        staffed.open("bob").approvals().answer(id, Approved("bob"))


def test_an_operators_role_answers_for_nobody_else(staffed):
    id = parked(bank(staffed.open("agent").approvals(), TWO))
    ada = staffed.open("ada").approvals()
    with pytest.raises(HookError, match="the name 'bob' is not proven"):
        ada.answer(id, Approved("bob"))
    with pytest.raises(HookError, match="the name 'bob' is not proven: connect as this role"):
        ada.answer(id, Approved("bob"), proof=Proof("bob", "page"))
    staffed.open("portal").approvals().answer(id, Approved("bob"), proof=Proof("bob", "page"))
    assert ada.get(id).approved_by == ("bob",)


def test_a_bare_client_of_an_operator_claims_no_other_person_and_leaves_out_none(staffed):
    schema = staffed.schema
    id = parked(bank(staffed.open("agent").approvals(), TWO))

    def say(statement, role="ada", **values):
        with psycopg.connect(staffed.server.url(role), autocommit=True) as client:
            return client.execute(f"SELECT {schema}.{statement}", {"id": id, **values}).fetchone()

    def approve(name, edited=None, **options):
        return say(
            "approve(%(id)s, %(name)s, 'x', %(edited)s, NULL, 60)", name=name, edited=edited,
            **options,
        )[0]  # fmt: skip

    approved = "answer(%(id)s, 'approved', '{\"by\": \"ada, bob\"}', false, 60)"
    assert say(approved) == (False,)
    assert approve("bob") == "unproven" and approve("eve", role="eve") == "no role"
    assert approve("ada", edited='{"amount": 1}') == "edited"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        say("answer_for_others()")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        say("approve('', 'ada', '', NULL, NULL, 60); SET SESSION AUTHORIZATION bob")
    assert approve("ada") == "counted" and approve("ada") == "twice"
    assert staffed.open("ada").approvals().get(id).state == "pending"
    for table in ("people", "approvals"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            say(f"about(), name FROM {schema}.{table}")


def test_an_agents_bare_client_neither_approves_nor_makes_rules(staffed):
    id = parked(bank(staffed.open("agent").approvals(), ONE))
    for statement in (
        f"approve('{id}', 'agent', 'x', NULL, NULL, 60)",
        f"answer_with_rule('{id}', 'agent', '{{}}', true, 60, 'r', '{{}}', 9, NULL)",
        "revoke('r', 'me')", "read_rules()", "read_person()", "is_proven('ada')",
    ):  # fmt: skip
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            staffed.server.run_sql(f"SELECT {staffed.schema}.{statement}", role="agent")


def test_a_forged_request_that_requires_nobody_approves_no_call_that_does(staffed):
    pay = bank(staffed.open("agent").approvals(), TWO)
    person = staffed.open("ada").approvals()
    request = person.get(parked(pay)).request
    table = f"{staffed.schema}.requests"
    [(text,)] = staffed.server.run_sql(f"DELETE FROM {table} RETURNING request::text")
    asked = f"SELECT {staffed.schema}.ask('forged', %s, %s, 60, '[]', '', '', true)"
    staffed.server.run_sql(asked, role="agent", values=[request.digest, text])
    assert person.get("forged").request.required == ()
    person.answer("forged", Approved("ada"))
    assert person.get("forged").state == "approved"
    assert parked(pay) != "forged"


def test_people_are_listed_by_the_owner_and_a_mistake_changes_nothing(staffed, tmp_path):
    owner, file = staffed.server.url("owner"), tmp_path / "people.toml"
    pay = bank(staffed.open("agent").approvals(), ONE)
    for text, problem in (("ada = 1", "needs a list of roles"), ("ada = []\nAda = []", "alike")):
        file.write_text(text)
        with pytest.raises(HookError, match=problem):
            Fleet.make(owner, schema=staffed.schema, people=file)
    staffed.make()  # without people=, they stay
    staffed.open("ada").approvals().answer(parked(pay), Approved("ada"))
    Fleet.make(owner, schema=staffed.schema, people={})
    with pytest.raises(HookBlocked, match="the owner of the fleet lists them with Fleet.make"):
        pay(500)


def race(*acts):
    """Call these functions at the same time, and return what they return."""
    start = threading.Barrier(len(acts))

    def act(function):
        start.wait()
        return function()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [each.result() for each in [pool.submit(act, each) for each in acts]]


def test_in_races_of_two_approvers_a_call_runs_with_both_and_once(staffed):
    agents = [bank(staffed.open("agent").approvals(), TWO) for _ in range(2)]
    ada, bob = (staffed.open(name).approvals() for name in ("ada", "bob"))

    def answered(person, id, answer):
        try:
            person.answer(id, answer)
        except AlreadyAnswered:
            return 0
        return 1

    def paid(pay, number):
        for _ in range(4):
            try:
                return int(pay(number) == number)
            except ApprovalPending:
                continue
            except HookBlocked:
                return 0
        return 0

    rounds = {
        "approved": (bob, Approved("bob")),
        "pending": (ada, Approved("ada")),
        "denied": (bob, Denied("bob", "no")),
    }
    for number in range(RACES):
        state, (other, answer) = [*rounds.items()][number % 3]
        id = parked(agents[0], number)
        _, _, *won = race(
            lambda id=id: answered(ada, id, Approved("ada")),
            lambda id=id, other=other, answer=answer: answered(other, id, answer),
            *(lambda pay=pay, number=number: paid(pay, number) for pay in agents),
        )
        ran = sum(won) + paid(agents[0], number) + paid(agents[1], number)
        assert ran == (state == "approved"), (number, state)
        assert ada.get(id).state == ("used" if state == "approved" else state)


def test_on_the_command_line_the_role_is_the_name(staffed, monkeypatch, capsys):
    id = parked(bank(staffed.open("agent").approvals(), TWO))

    def approve(role, *words):
        monkeypatch.setenv("HOOKBUS_FLEET", staffed.server.url(role))
        cli.main(["approvals", "approve", id, "--fleet", "--schema", staffed.schema, *words])
        return "".join(capsys.readouterr())

    assert "the name 'bob (typed by" in approve("ada", "--by", "bob")
    assert approve("ada").startswith("approved by ada; missing: 1 approval by a person with the")
    assert "approved: pay?" in approve("bob")
