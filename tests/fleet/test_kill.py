"""Agents and the server are killed at random moments: no event is lost, doubled or overtaken."""

import os
import random
import signal
import subprocess
import sys
import time

from hookbus.journal import Journal

from .postgres import ENOUGH
from .test_events import AGENT

ROUNDS = 300 if os.environ.get("HOOKBUS_LONG") else 3


def started(path, url, schema):
    agent = subprocess.Popen(
        [sys.executable, "-c", AGENT, str(path), url, schema, "ships"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert agent.stdout.readline() == "ready\n"
    return agent


def crash(postgres, moments):
    """Kill the server as a power failure of its processes would, and start it again."""
    time.sleep(moments.uniform(0.1, 0.6))
    postgres.stop(signal.SIGQUIT)
    time.sleep(moments.uniform(0, 0.3))
    postgres.start()


def test_whoever_is_killed_every_event_is_in_the_stream_once_and_in_order(
    made, postgres, tmp_path
):
    moments, seen = random.Random(31), []
    journals = [tmp_path / f"{name}.db" for name in ("one", "two")]
    for number in range(ROUNDS):
        agents = [started(path, postgres.url("agent"), made.schema) for path in journals]
        if number % 2:
            crash(postgres, moments)
        time.sleep(moments.uniform(0.2, 0.8))
        for agent in agents:
            agent.kill()
            agent.wait()
            agent.stdout.close()
        events = made.open("operator").events("siem")
        seen += [each.id for each in events]
        events.commit()
    for path in journals:
        with Journal(path) as journal, made.open("agent") as agent:
            shipping = agent.ship(journal)
            until = time.monotonic() + ENOUGH
            while shipping.lag() and time.monotonic() < until:
                time.sleep(0.01)
    seen += [each.id for each in made.open("operator").events("siem")]
    kept = [[each.id for each in Journal.reading(path).records()] for path in journals]
    assert sorted(seen) == sorted(kept[0] + kept[1])
    for ids in kept:
        own = set(ids)
        assert [each for each in seen if each in own] == ids
        assert len({each.rpartition("-")[0] for each in ids}) >= ROUNDS
