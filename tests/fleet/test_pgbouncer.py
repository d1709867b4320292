"""A fleet behind PgBouncer in transaction mode, where each transaction may get another connection
to the server.
"""

import pytest

from hookbus import Ask, Bus, HookBlocked, guards, hookable
from hookbus.approvals import ApprovalPending, Approved
from hookbus.fleet import Fleet
from hookbus.journal import Journal

from .bouncer import POOL, Bouncer
from .test_switches import is_blocked, until

MEMBERS = 3 * POOL


@pytest.fixture
def bouncer(postgres):
    started = Bouncer(postgres)
    yield started
    started.remove()


class Agent:
    """A bus with every guard that a fleet has, and a journal that it ships."""

    def __init__(self, url, path):
        self.bus = Bus()
        self.fleet = Fleet(url, schema="bounced", program="payer", member=path.name, blind=1)
        self.journal = Journal(path)
        self.journal.attach(self.bus)
        self.shipping = self.fleet.ship(self.journal)
        self.fleet.join(self.bus)
        self.bus.approver(self.fleet.approvals())
        self.bus.register(guards.rate_limit(5, per="tool", storage=self.fleet, hook="search"))
        self.bus.register(guards.budget(tokens=100, storage=self.fleet))

        @hookable("tool_call", bus=self.bus)
        def call(name, arguments):
            return "ran"

        @hookable(bus=self.bus)
        def search(name):
            return "found"

        @hookable("model_call", bus=self.bus)
        def model(model, messages, options):
            return {"usage": {"input_tokens": 1, "output_tokens": 9}}

        @hookable(bus=self.bus, identity=lambda sender: "the bank")
        def pay(number):
            return number

        @self.bus.signal("pre_pay").connect_via(role="guard")
        def check(sender, number):
            return Ask("pay?")

        self.call = lambda name="pay_bill": call(name, {})
        self.search = lambda: search("x")
        self.ask_model = lambda: model("gpt-4o", "", {"max_tokens": 9})
        self.pay = pay

    def close(self):
        self.fleet.close()
        self.journal.close()


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
    agents = [Agent(bouncer.url("agent"), tmp_path / f"{each}.db") for each in range(MEMBERS)]
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
    until(lambda: all(is_blocked(each.call, "read", code="blind") for each in agents))
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
