"""Fleet.make and Fleet(url): roles, rights, and one clear line for whatever cannot be used."""

import os
import signal
import threading
import time

import psycopg
import pytest

from hookbus import HookError
from hookbus.fleet import Fleet

from .postgres import PASSWORDS


def refusal(function, *args, **options):
    """Return the one line of a refusal, which holds no password."""
    with pytest.raises(HookError) as found:
        function(*args, **options)
    text = str(found.value)
    assert "\n" not in text
    assert not any(word in text for word in PASSWORDS.values())
    assert found.value.__context__ is None or found.value.__suppress_context__
    return text


def test_making_a_fleet_again_keeps_what_it_holds(made):
    made.open("operator").kill("pay_*", by="ada")
    made.make()
    [word] = made.open("operator").status().words
    assert word["name"] == "pay_*"


def test_many_owners_may_make_the_same_fleet_at_once(postgres):
    problems = []

    def make():
        try:
            Fleet.make(postgres.url("owner"), schema="at_once", agents="agent")
        except HookError as error:
            problems.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert problems == []
    Fleet(postgres.url("agent"), schema="at_once").close()


def test_an_agents_role_is_refused_everything_by_a_bare_client(made, postgres):
    schema = made.schema
    tables = postgres.run_sql(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'",
        values=[schema],
    )
    assert ("events",) in tables and ("words",) in tables
    statements = [f"SELECT * FROM {schema}.{table}" for (table,) in tables]
    statements += [f"DELETE FROM {schema}.{table}" for (table,) in tables]
    statements += [
        f"SELECT {schema}.set_word('kill', '*', 'tool_call', 'kill', 'me', '')",
        f"SELECT {schema}.revive('pay', 'tool_call', 'me')",
        f"SELECT {schema}.read_events('0', 0, 10)",
        f"SELECT {schema}.open_reader('mine')",
        f"SELECT {schema}.commit_reader('siem', '9', 9)",
        f"SELECT {schema}.retain(0)",
        f"SELECT {schema}.read_members()",
        f"CREATE TABLE {schema}.mine (x int)",
        f"CREATE FUNCTION {schema}.now() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        f"CREATE OR REPLACE FUNCTION {schema}.about() RETURNS int LANGUAGE sql AS 'SELECT 9'",
        f"DROP SCHEMA {schema} CASCADE",
    ]
    for statement in statements:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            postgres.run_sql(statement, role="agent")


def test_functions_use_no_table_of_the_caller(made, postgres):
    with psycopg.connect(postgres.url("agent"), autocommit=True) as client:
        client.execute("CREATE TEMPORARY TABLE fleet (version int, words bigint)")
        client.execute("INSERT INTO fleet VALUES (99, 99)")
        client.execute("SET search_path = pg_temp")
        assert client.execute(f"SELECT {made.schema}.about()").fetchone() == (1,)


def test_a_stranger_and_an_agent_of_another_fleet_have_no_rights(made, postgres):
    text = refusal(made.open, "stranger")
    assert "the role stranger has no right" in text and "Fleet.make(agents=" in text
    Fleet.make(postgres.url("owner"), schema="another")
    assert "no right" in refusal(Fleet, postgres.url("agent"), schema="another")


def test_an_agents_role_cannot_switch_and_is_told_so(made):
    agent = made.open("agent")
    for act in (
        lambda: agent.kill("*", by="me"), lambda: agent.revive("*", by="me"),
        lambda: agent.switch("no_keys", "disable", by="me"), agent.status,
    ):  # fmt: skip
        assert "the role agent has no right" in refusal(act)


NO_URLS = {
    "none": None, "number": 3, "empty": "", "redis": "redis://agent:agent-hunter3@host",
    "words": "host=x password=agent-hunter3",
    "option": "postgresql://agent:agent-hunter3@host/db?nonsense=1",
    "bracket": "postgresql://a:agent-hunter3@[::1/db",
    "several": "postgresql://agent:agent-hunter3@one,two/db",
    "port": "postgresql://agent:agent-hunter3@h:port/db",
}  # fmt: skip


@pytest.mark.parametrize("url", NO_URLS.values(), ids=NO_URLS)
def test_what_is_no_url_of_postgres_is_refused_without_being_shown(url):
    assert "URL of " in refusal(Fleet, url)
    assert "URL of " in refusal(Fleet.make, url)


def test_a_server_or_database_that_refuses_is_named_in_one_line(postgres):
    assert "password authentication failed" in refusal(Fleet, postgres.url("agent", password="no"))
    assert "does not exist" in refusal(Fleet, postgres.url("agent", database="nowhere"))
    assert "cannot be used" in refusal(Fleet, postgres.url("agent", port=1))
    text = refusal(Fleet, postgres.url("agent"), schema="nothing")
    assert text.startswith("the schema nothing at ") and "has no fleet" in text
    assert "no right" in refusal(Fleet.make, postgres.url("agent"), schema="mine")


@pytest.mark.parametrize("schema", ["", "Fleet", "a b", 'x"y', "pg_fleet", "a" * 64, None, "1a"])
def test_a_bad_name_of_a_schema_is_refused(schema, postgres):
    assert "schema=" in refusal(Fleet, postgres.url("agent"), schema=schema)
    assert "schema=" in refusal(Fleet.make, postgres.url("owner"), schema=schema)


@pytest.mark.parametrize("options", [
    {"blind": 0}, {"blind": True}, {"blind": float("nan")}, {"blind": "60"}, {"member": ""},
    {"member": "a\0b"}, {"member": "\ud800"}, {"program": 3}, {"member": "x" * 2000},
], ids=str)  # fmt: skip
def test_bad_options_are_refused(options, postgres):
    [name] = options
    assert f"{name}=" in refusal(Fleet, postgres.url("agent"), **options)


def test_roles_that_cannot_be_agents_are_refused(postgres):
    owner = postgres.url("owner")
    assert "no role 'nobody'" in refusal(Fleet.make, owner, schema="roles", agents="nobody")
    assert "cannot be an agent's" in refusal(Fleet.make, owner, schema="roles", agents="owner")
    both = {"agents": "agent", "operators": ["operator", "agent"]}
    assert "cannot be an agent and an operator" in refusal(Fleet.make, owner, **both)
    assert "agents=" in refusal(Fleet.make, owner, agents=3)
    postgres.run_sql("CREATE ROLE insider LOGIN; GRANT operator TO insider")
    for masters in ("operators", "portals"):
        roles = {"agents": "insider", masters: "operator"}
        assert "the rights of 'operator'" in refusal(Fleet.make, owner, schema="roles", **roles)
    assert "has no fleet" in refusal(Fleet, owner, schema="roles")


def test_the_tables_of_another_program_are_left_alone(postgres):
    postgres.run_sql("CREATE SCHEMA theirs; CREATE TABLE theirs.orders (id int)", role="owner")
    text = refusal(Fleet.make, postgres.url("owner"), schema="theirs")
    assert "tables of another program" in text
    assert postgres.run_sql("SELECT * FROM theirs.orders") == []


def test_a_fleet_of_a_newer_version_is_refused(made, postgres):
    postgres.run_sql(f"UPDATE {made.schema}.fleet SET version = 99")
    assert "version 99" in refusal(made.open, "agent")
    assert "version 99" in refusal(made.make)


def test_a_fleet_restored_from_a_dump_of_another_server_is_refused(made, postgres):
    event = f"INSERT INTO {made.schema}.events (tx, id, member, body)"
    postgres.run_sql(f"{event} VALUES (pg_current_xact_id(), 'own', 'a', '{{}}')")
    made.make()
    postgres.run_sql(f"{event} VALUES ('999999999999', 'restored', 'a', '{{}}')")
    assert "was restored from a dump of another server" in refusal(made.make)


def test_nothing_shows_the_password(made):
    agent = made.open("agent")
    assert PASSWORDS["agent"] not in f"{agent!r} {agent} {vars(agent)}"
    assert "127.0.0.1" in repr(agent)


def test_a_closed_fleet_says_so(made):
    agent = made.open("agent")
    agent.close()
    assert "is closed" in refusal(agent.join)


def test_after_a_restart_of_the_server_everything_goes_on(made, postgres):
    operator = made.open("operator")
    for kind in (signal.SIGINT, signal.SIGQUIT):
        operator.status()
        postgres.stop(kind)
        assert "cannot be used" in refusal(operator.status)
        postgres.start()
        operator.kill("pay", by="ada")


def test_a_server_that_stands_still_is_waited_for_5_seconds(made, postgres):
    operator = made.open("operator")
    operator.status()
    postgres.hold()
    try:
        began = time.monotonic()
        with pytest.raises(HookError, match="did not answer within 5 seconds") as error:
            operator.status()
        assert error.value.failure == "late"
        assert time.monotonic() - began < 60
    finally:
        postgres.release()
    operator.status()


def test_a_forked_process_uses_connections_of_its_own(made):
    operator = made.open("operator")
    operator.status()
    for _ in range(3):
        child = os.fork()
        if child == 0:
            try:
                operator.kill(f"by_{os.getpid()}", by="child")
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        operator.status()
    assert len(operator.status().words) == 3
