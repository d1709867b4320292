"""Kill processes that ask, answer and use approvals, at random moments, and check what remains.

    python -m tests.approvals.kill FILE ROUNDS

Every process writes each result to the disk before it continues. A person never approves a number
that divides by five.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

from hookbus.approvals import ApprovalPending, Approved, Denied, Store
from hookbus.exceptions import HookBlocked, HookError

from .race import bank


def noted(path, *words):
    with open(f"{path}.log", "ab", buffering=0) as log:
        log.write(" ".join(map(str, words)).encode() + b"\n")
        os.fsync(log.fileno())


def ask(path):
    """Make calls, as fast as they are answered."""
    pay = bank(Store(path), lambda number: noted(path, "ran", number))
    print("ready", flush=True)
    while True:
        try:
            pay(random.randrange(20))
        except ApprovalPending as pending:
            noted(path, "parked", pending.id)
        except HookBlocked:
            continue


def answer(path):
    """Answer whatever waits."""
    store = Store(path)
    print("ready", flush=True)
    while True:
        for request in store.pending():
            is_yes = request.arguments["number"] % 5
            try:
                store.answer(request.id, Approved("ada") if is_yes else Denied("ada", "no"))
            except HookError:
                continue  # another one was first
            noted(path, "answered", request.id)


def problems(path):
    """Return what must not be: a yes lost, used twice, or used for something else."""
    with open(f"{path}.log", "rb") as log:
        lines = [line.decode().split() for line in log if line.endswith(b"\n")]
    cases = {case.request.id: case for case in Store(path).history()}
    used = Counter(
        case.request.arguments["number"] for case in cases.values() if case.state == "used"
    )
    ran = Counter(int(number) for word, number in lines if word == "ran")
    found = [f"{number} ran {ran[number]} times and was approved {used[number]} times"
             for number in ran if ran[number] > used[number]]  # fmt: skip
    found += [f"{number} ran and was denied" for number in ran if number % 5 == 0]
    found += [f"{id} was {word} and is gone" for word, id in lines
              if word in ("parked", "answered") and id not in cases]  # fmt: skip
    found += [f"the answer to {id} is gone" for word, id in lines
              if word == "answered" and id in cases and cases[id].answer is None]  # fmt: skip
    return found, sum(ran.values()), len(cases)


def main(path, rounds):
    Store(path)
    command = [sys.executable, "-m", "tests.approvals.kill", path]
    roles = ["ask", "ask", "answer"]
    running = {}
    for _ in range(rounds):
        started = {
            i: subprocess.Popen([*command, role], stdout=subprocess.PIPE)
            for i, role in enumerate(roles)
            if i not in running
        }
        for each in started.values():
            each.stdout.readline()
        running.update(started)
        time.sleep(random.uniform(0, 0.05))
        for i in random.sample(range(3), random.randint(1, 3)):
            gone = running.pop(i)
            gone.send_signal(signal.SIGKILL)
            gone.wait()
            gone.stdout.close()
    for each in running.values():
        each.kill()
        each.wait()
        each.stdout.close()
    found, ran, cases = problems(path)
    print(*found, f"{rounds} rounds, {len(found)} problems, {cases} requests, {ran} calls ran",
          sep="\n")  # fmt: skip
    return 1 if found or not ran else 0


if __name__ == "__main__":
    if sys.argv[2] == "ask":
        ask(sys.argv[1])
    elif sys.argv[2] == "answer":
        answer(sys.argv[1])
    else:
        sys.exit(main(sys.argv[1], int(sys.argv[2])))
