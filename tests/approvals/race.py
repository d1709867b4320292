"""One of two processes that race for every approval in a store; prints the numbers that it used.

    python -m tests.approvals.race FILE ROUNDS

It starts when a file called `FILE.go` exists.
"""

import sys
import time
from pathlib import Path

from hookbus import Ask, Bus, hookable
from hookbus.approvals import ApprovalPending, Approved, Store


def paid(number):
    return number


def bank(store, body=paid):
    """Return `pay`, whose every call has to be approved in this store."""
    bus = Bus()
    bus.approver(store)
    bus.signal("pre_pay").connect(lambda sender: Ask("pay?"), role="guard", weak=False)
    return hookable("pay", bus=bus, identity=lambda sender: "the bank")(body)


def prepare(path, rounds):
    """Have so many calls approved, each once."""
    store = Store(path)
    pay = bank(store)
    for number in range(rounds):
        try:
            pay(number)
        except ApprovalPending as pending:
            store.answer(pending.id, Approved("ada"))


def main(path, rounds):
    pay = bank(Store(path))
    print("ready", flush=True)
    while not Path(f"{path}.go").exists():
        time.sleep(0.001)
    for number in range(rounds):
        try:
            print(pay(number))
        except ApprovalPending:
            continue  # the other one was first


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
