"""The processes that `tests.fleet.kill` kills.

    python -m tests.fleet.killed ROLE NAME NOTES FOLDER URL SCHEMA

Each process notes what it has seen or done with one system call for each line, which survives
a kill.
"""

import os
import random
import sys
import time
from pathlib import Path

import psycopg

from hookbus import Ask, Block, Bus, HookBlocked, HookError, guards, hookable
from hookbus.approvals import ApprovalPending, Approved, Denied
from hookbus.fleet import Fleet
from hookbus.journal import Journal

PAYMENTS = 12
"""The numbers of payments, few, so that both agents often make the same one at the same time."""

DENIED = (0, 5, 10)
FORBIDDEN = (3, 7)
LIMIT = 40
LATE = 8
BODY = '{"source":"s","type":"late","subject":"h","time":1,"run":"r","data":{}}'


class Notes:
    """A file of lines that one process writes."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def add(self, *words):
        os.write(self._file, " ".join(map(str, words)).encode() + b"\n")


def opened(url, schema):
    """Return the fleet, once its server can be reached."""
    while True:
        try:
            return Fleet(url, schema=schema, program="payer")
        except HookError:
            time.sleep(0.05)


def patiently(act):
    """Return the result of `act`, once the server can be used."""
    while True:
        try:
            return act()
        except HookError:
            time.sleep(0.05)


def agent(name, notes, folder, url, schema):
    """Call tools and payments: some are killed, forbidden, limited, or need an approval."""
    fleet, bus = opened(url, schema), Bus()
    journal = patiently(lambda: Journal(Path(folder, f"{name}.db")))
    journal.attach(bus)
    patiently(lambda: fleet.join(bus))
    fleet.ship(journal)
    bus.approver(patiently(fleet.approvals))
    bus.register(guards.rate_limit(LIMIT, per="tool", storage=fleet, hook="count"))

    @bus.signal("pre_pay").connect_via(role="guard")
    def check(sender, number):
        return Block("never") if number in FORBIDDEN else Ask("pay?")

    @hookable("tool_call", bus=bus)
    def call_tool(name, arguments):
        notes.add("ran", name)

    @hookable(bus=bus, identity=lambda sender: "the bank")
    def pay(number):
        notes.add("paid", number)

    @hookable(bus=bus)
    def count(name):
        notes.add("counted", name)

    notes.add("ready")
    while True:
        for act, value in (
            (lambda tool: call_tool(tool, {}), f"late_{random.randrange(LATE)}"),
            (lambda tool: call_tool(tool, {}), "killed_early"),
            (pay, random.randrange(PAYMENTS)), (count, "search"),
        ):  # fmt: skip
            try:
                act(value)
            except ApprovalPending:
                continue
            except HookBlocked as error:
                if error.verdict is not None and error.verdict.code == "killed":
                    notes.add("killed", value)
                else:
                    notes.add("blocked", value, error)
        time.sleep(0.01)


def consumer(name, notes, folder, url, schema):
    """Note the ids of events, and then commit them."""
    events = patiently(lambda: opened(url, schema).events("siem"))
    while True:
        try:
            for number, event in enumerate(events):
                notes.add(event.id)
                if number % 20 == 19:
                    events.commit()
            events.commit()
        except HookError:
            time.sleep(0.05)
        time.sleep(random.uniform(0, 0.05))


def approver(name, notes, folder, url, schema):
    """Answer each request, always in the same way for the same payment."""
    inbox = patiently(lambda: opened(url, schema).approvals())
    while True:
        try:
            for request in inbox.pending():
                number = int(request.arguments["number"])
                inbox.answer(
                    request.id, Denied("ada", "no") if number in DENIED else Approved("ada")
                )
                notes.add("answered", request.id)
        except HookError:
            time.sleep(0.05)
        time.sleep(0.02)


def shipper(name, notes, folder, url, schema):
    """Ship the journals of both agents, while the agents ship them, too."""
    while True:
        for each in ("one", "two"):
            path = Path(folder, f"{each}.db")
            if not path.exists():
                continue
            journal = patiently(lambda path=path: Journal(path))
            with opened(url, schema) as fleet, journal:
                fleet.ship(journal)
                time.sleep(0.1)


def latecomer(name, notes, folder, url, schema):
    """Publish events in a transaction that stays open while others begin and commit."""
    publish = f"SELECT {schema}.publish('late', %s, %s, %s)"
    for number in range(10**9):
        id = f"late{os.getpid()}-{number}"
        try:
            with psycopg.connect(url) as connection:
                connection.execute(publish, [id, [id], [BODY]])
                time.sleep(random.uniform(0, 0.3))
            notes.add("committed", id)
        except psycopg.Error:
            time.sleep(0.05)


ROLES = {each.__name__: each for each in (agent, consumer, approver, shipper, latecomer)}

if __name__ == "__main__":
    role, name, notes, *words = sys.argv[1:]
    ROLES[role](name, Notes(notes), *words)
