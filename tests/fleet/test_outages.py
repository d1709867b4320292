"""Each cell of the table of outages in the docs has a test that shows it."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from hookbus import HookBlocked
from hookbus.approvals import ApprovalPending, Approved

from ..guards import test_remote_answers as of_remote
from ..test_docs import DOCS
from . import test_approvals as of_approvals
from . import test_events as of_events
from . import test_limits as of_limits
from . import test_switches as of_switches
from .agents import Agent
from .network import Network

PAYING = """
import os, signal, sys, pathlib
from hookbus.approvals import ApprovalPending
from tests.fleet.agents import Agent
url, schema, path = sys.argv[1:]
try:
    Agent(url, schema, pathlib.Path(path)).pay(7)
except ApprovalPending:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def agents(made, postgres, tmp_path):
    """Return a function that makes an agent, at an address, by its name."""
    opened = []

    def make(name, blind=None, **changes):
        url = postgres.url("agent", **changes)
        opened.append(Agent(url, made.schema, tmp_path / name, blind))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def network(postgres):
    opened = Network(postgres.port)
    yield opened
    opened.close()


def refusal(act, *args):
    """Return the verdict that blocks a call."""
    with pytest.raises(HookBlocked) as error:
        act(*args)
    return error.value.verdict


def check_local_guards(agent):
    assert agent.call("read") == "ran"
    assert refusal(agent.call, "secret").code == "local"


@pytest.mark.parametrize("is_stopped", [True, False], ids=["stopped", "not answering"])
def test_local_guards_decide_without_the_server(agents, postgres, is_stopped):
    agent = agents("near")
    (postgres.stop if is_stopped else postgres.hold)()
    try:
        check_local_guards(agent)
    finally:
        (postgres.start if is_stopped else postgres.release)()


def test_local_guards_decide_for_an_agent_without_its_network(agents, network):
    agent = agents("far", port=network.port)
    network.lose()
    check_local_guards(agent)


def test_approvals_are_blocked_for_an_agent_without_its_network(agents, network):
    far, near = agents("far", port=network.port), agents("near")
    network.lose()
    assert refusal(far.pay, 7).details == {"failure": "late"}
    assert refusal(near.pay, 7).code == "pending"
    network.restore()
    assert refusal(far.pay, 7).code == "pending"


def test_counted_calls_are_blocked_for_an_agent_without_its_network(agents, network):
    far, near = agents("far", port=network.port), agents("near")
    network.lose()
    with ThreadPoolExecutor() as threads:
        for verdict in threads.map(refusal, [far.search, far.ask_model]):
            assert verdict.details == {"failure": "late"}
    near.search()
    near.ask_model()
    network.restore()
    far.search()
    far.ask_model()


def test_events_of_an_agent_without_its_network_are_kept_and_shipped_later(
    made, agents, network
):
    far, near = agents("far", port=network.port), agents("near")
    of_events.until(lambda: not far.shipping.lag())
    network.lose()
    far.call("read")
    near.call("read")
    of_events.until(lambda: not near.shipping.lag())
    assert far.shipping.lag() > 0
    network.restore()
    of_events.until(lambda: not far.shipping.lag())
    stored = {event.id for event in made.open("operator").events()}
    assert stored == {each.id for agent in (far, near) for each in agent.journal.records()}


def test_switches_apply_and_then_an_agent_without_its_network_is_blind(made, agents, network):
    made.open("operator").kill("pay_*", by="ada")
    far, near = agents("far", blind=1, port=network.port), agents("near", blind=60)
    network.lose()
    assert of_switches.is_blocked(far.call)
    of_switches.until(lambda: of_switches.is_blocked(far.call, "read", code="blind"))
    assert of_switches.is_blocked(far.call) and near.call("read") == "ran"
    network.restore()
    of_switches.until(lambda: not of_switches.is_blocked(far.call, "read", code="blind"))
    assert of_switches.is_blocked(far.call)


def test_requests_of_a_killed_agent_stay_and_any_machine_can_answer(
    made, postgres, agents, tmp_path
):
    words = [postgres.url("agent"), made.schema, tmp_path / "killed"]
    ran = subprocess.run([sys.executable, "-c", PAYING, *words], check=False)
    assert ran.returncode == -signal.SIGKILL
    inbox = made.open("operator").approvals()
    [request] = inbox.pending()
    inbox.answer(request.id, Approved("ada"))
    agent = agents("next")
    assert agent.pay(7) == 7
    with pytest.raises(ApprovalPending):
        agent.pay(7)


POSTGRES, NETWORK, AGENT = "Postgres", "the network of one agent", "an agent"
SHOWN_BY = {
    (POSTGRES, "Decisions"): test_local_guards_decide_without_the_server,
    (POSTGRES, "Approvals"):
        of_approvals.test_without_a_server_the_call_is_blocked_and_goes_on_after_a_restart,
    (POSTGRES, "Limits and budgets"):
        of_limits.test_no_server_is_a_block_and_it_goes_on_after_a_restart,
    (POSTGRES, "Events"):
        of_events.test_no_call_waits_while_the_server_stands_still_and_the_lag_is_shipped_later,
    (POSTGRES, "Switches"):
        of_switches.test_what_was_heard_holds_while_the_server_is_away_then_calls_are_blocked,
    (NETWORK, "Decisions"): test_local_guards_decide_for_an_agent_without_its_network,
    (NETWORK, "Approvals"): test_approvals_are_blocked_for_an_agent_without_its_network,
    (NETWORK, "Limits and budgets"):
        test_counted_calls_are_blocked_for_an_agent_without_its_network,
    (NETWORK, "Events"):
        test_events_of_an_agent_without_its_network_are_kept_and_shipped_later,
    (NETWORK, "Switches"):
        test_switches_apply_and_then_an_agent_without_its_network_is_blind,
    (AGENT, "Approvals"): test_requests_of_a_killed_agent_stay_and_any_machine_can_answer,
    (AGENT, "Limits and budgets"):
        of_limits.test_what_a_killed_process_had_reserved_stays_reserved,
    (AGENT, "Events"):
        of_events.test_what_killed_agents_left_is_shipped_by_the_next_process,
    ("a policy server", "Decisions"): of_remote.test_a_server_that_is_not_there_blocks,
}  # fmt: skip
"""The test of each cell of the table."""


def test_each_cell_of_the_table_has_a_test():
    text = (DOCS / "how-to" / "operate-a-fleet.md").read_text()
    _, _, table = text.partition("## During an outage\n\n")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.partition("\n\n")[0].splitlines()
    ]
    [_, *columns], _, *bodies = rows
    cells = {
        (away.partition(",")[0], column)
        for away, *effects in bodies
        for column, effect in zip(columns, effects, strict=True) if effect != "-"
    }
    assert cells == SHOWN_BY.keys()
