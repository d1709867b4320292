"""Standing approvals of a fleet: counted by the server, listed and revoked."""

import json

import psycopg
import pytest

from hookbus import HookError, cli
from hookbus.approvals import Approved, Between, Rule

from ..approvals.test_standing import bank, paid, parked
from .test_approvals import begin_racers, pay_on
from .test_approvals import parked as parked_plainly


def test_parallel_processes_use_a_rule_as_often_as_it_says(made, postgres, tmp_path):
    rounds, uses = 20, 25
    first, *racers = begin_racers(postgres, made.schema, tmp_path, (1, 2, 2), rounds)
    assert first.communicate("go\n", timeout=60)[0] == ""
    person = made.open("operator").approvals()
    request, *_ = person.pending()
    rule = Rule({"number": Between(0, 99)}, uses=uses)
    person.answer(request.id, Approved("operator", rule=rule))
    for each in racers:
        each.stdin.write("go\n")
        each.stdin.flush()
    ran = [each.communicate(timeout=60)[0].split() for each in racers]
    assert sum(map(len, ran)) == uses + 1  # and the call that was approved itself
    [found] = person.rules()
    assert (found.used, found.is_valid, found.by) == (uses, False, "operator")


@pytest.mark.parametrize("text", ["{}", "[1]", "null", '{"arguments": {"to": 1}, "uses": 0}'])
def test_a_rule_that_cannot_be_read_approves_nothing_and_hides_no_other(made, text):
    pay, person = bank(made.open("agent").approvals()), made.open("operator").approvals()
    given = f"'{parked(pay, 'ann@a', 10)}', 'operator', '{{}}', true, 60, 'odd', '{text}', 9, NULL"
    made.server.run_sql(f"SELECT {made.schema}.answer_with_rule({given})", role="operator")
    rule = Rule({"to": "ann@*", "amount": 10}, uses=1)
    person.answer(parked(pay, "ann@b", 10), Approved("operator", rule=rule))
    assert [each.rule for each in person.rules()] == [rule]
    assert paid(pay, "ann@c", 10) == 10
    parked(pay, "ann@d", 10)


def test_a_rule_needs_the_name_of_the_role(made):
    id = parked(bank(made.open("agent").approvals()), "ann@a", 10)
    person = made.open("operator").approvals()
    rule = Rule({"to": "ann@*", "amount": 10}, uses=1)
    with pytest.raises(HookError, match="the name 'ada' is not proven"):
        person.answer(id, Approved("ada", rule=rule))
    with pytest.raises(HookError, match="cannot be combined with arguments="):
        person.answer(id, Approved("operator", rule=rule, arguments={"to": "x", "amount": 1}))
    assert person.rules() == []
    given = f"'{id}', 'operator', '{{}}', true, 60"
    without_limit = f"answer_with_rule({given}, 'r', '{{}}', NULL, NULL)"
    for_ada = f"answer_with_rule('{id}', 'ada', '{{}}', true, 60, 'r', '{{}}', 9, NULL)"
    [(outcome,)] = made.server.run_sql(f"SELECT {made.schema}.{for_ada}", role="operator")
    assert outcome == "unproven"
    with pytest.raises(psycopg.errors.CheckViolation):
        made.server.run_sql(f"SELECT {made.schema}.{without_limit}", role="operator")
    assert person.get(id).state == "pending"


def test_rules_are_made_listed_and_revoked_on_the_command_line(made, monkeypatch, capsys):
    pay = bank(made.open("agent").approvals())
    id = parked(pay, "ann@a", 10)
    monkeypatch.setenv("HOOKBUS_FLEET", made.server.url("operator"))

    def run(*words):
        code = cli.main(["approvals", *words, "--fleet", "--schema", made.schema])
        return code, "".join(capsys.readouterr())

    assert run("approve", id, "--like", "to=ann@*", "--uses", "2")[0] == 0
    assert [paid(pay, to, 10) for to in ("ann@a", "ann@b")] == [10, 10]
    [rule] = json.loads(run("rules", "--json")[1])
    assert (rule["by"], rule["used"], rule["request"]) == ("operator", 1, id)
    assert run("revoke", rule["id"])[0] == 0
    parked(pay, "ann@c", 10)
    assert "revoked" in run("rules")[1] and run("revoke", rule["id"])[0] == 2


OLDER = """
DROP TABLE {schema}.approvals, {schema}.people, {schema}.rules CASCADE;
ALTER TABLE {schema}.requests DROP COLUMN required, DROP COLUMN asker, DROP COLUMN scope;
DROP FUNCTION {schema}.read_records, {schema}.use_rule, {schema}.approve;
DROP FUNCTION {schema}.ask;
CREATE FUNCTION {schema}.ask(text, text, text, double precision) RETURNS text
    LANGUAGE sql AS 'SELECT NULL::text';
CREATE FUNCTION {schema}.read_requests(text, boolean) RETURNS text
    LANGUAGE sql AS 'SELECT NULL::text';
"""
"""Make a schema what it was before fleets had people and rules."""


def test_a_schema_without_people_and_rules_is_updated_and_keeps_its_requests(made, postgres):
    pay = pay_on(made.open("agent").approvals())
    id = parked_plainly(pay, "bob", 500)
    postgres.run_sql(OLDER.format(schema=made.schema))
    with pytest.raises(HookError, match="a fleet of another version: the owner can"):
        pay("bob", 500)
    made.make()
    person = made.open("operator").approvals()
    assert person.get(id).state == "pending" and person.rules() == []
    person.answer(id, Approved("ada"))
    assert pay("bob", 500) == 500
    find = "SELECT proname FROM pg_proc WHERE pronamespace = %s::regnamespace AND pronargs = 4"
    assert ("ask",) not in postgres.run_sql(find, values=[made.schema])
