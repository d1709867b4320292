"""A fleet behind PgBouncer in transaction mode, where each transaction may get another connection
to the server.
"""

import pytest

from hookbus import HookBlocked
from hookbus.approvals import ApprovalPending, Approved
from hookbus.fleet import Fleet

from .agents import Agent
from .bouncer import POOL, Bouncer
from .test_switches import is_blocked, until

MEMBERS = 3 * POOL


@pytest.fixture
def bouncer(postgres):
    started = Bouncer(postgres)
    yield started
    started.remove()


def passed(act, times):
    count = 0
    for _ in range(times):
        try:
            act()
            count += 1
        except HookBlocked as error:
            assert error.verdict.details is None, error
    return count


def test_a_fleet_works_behind_pgbouncer_in_transaction_mode(bouncer, postgres, tmp_path):
    Fleet.make(bouncer.url("owner"), schema="bounced", agents="agent", operators="operator")
    paths = [tmp_path / f"{each}.db" for each in range(MEMBERS)]
    agents = [Agent(bouncer.url("agent"), "bounced", path) for path in paths]
    control = Fleet(bouncer.url("operator"), schema="bounced")
    try:
        check_switches(agents, control, bouncer)
        check_approvals(agents, control)
        assert sum(passed(each.search, 2) for each in agents) == 5
        assert sum(passed(each.ask_model, 2) for each in agents) == 10
        check_events(agents, control)
        used = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'agent'"
        assert postgres.run_sql(used)[0][0] <= POOL
    finally:
        for each in (*agents, control):
            each.close()


def check_switches(agents, control, bouncer):
    assert len(control.status().members) == MEMBERS
    control.kill("pay_*", by="ada")
    until(lambda: all(is_blocked(each.call) for each in agents))
    assert all(each.call("read") == "ran" for each in agents)
    bouncer.kill()
    for each in agents:
        with pytest.raises(HookBlocked) as error:
            each.search()
        assert error.value.verdict.details == {"failure": "absent"}
    bouncer.start()
    control.revive("pay_*", by="ada")
    until(lambda: not any(is_blocked(each.call) for each in agents))


def check_approvals(agents, control):
    with pytest.raises(ApprovalPending) as pending:
        agents[0].pay(7)
    control.approvals().answer(pending.value.verdict.id, Approved("ada"))
    done = 0
    for each in agents:
        try:
            done += each.pay(7) == 7
        except ApprovalPending:
            continue
    assert done == 1


def check_events(agents, control):
    until(lambda: not any(each.shipping.lag() for each in agents))
    siem, kept = control.events("siem"), {}
    for record in siem:
        kept.setdefault(record.run, []).append(record.id)
    siem.commit()
    runs = [[record.id for record in each.journal.records()] for each in agents]
    assert sorted(kept.values()) == sorted(runs) and all(runs)
    assert list(control.events("siem")) == []
