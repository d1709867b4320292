"""Print a table of what a journal does when it cannot write its file.

    python -m tests.journal.faults

Each row has a durable and a non-durable call during the fault, the same two afterwards, and the
remaining contents of the file.
"""

import json
import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

from hookbus import HookBlocked, HookError
from hookbus.journal import Journal, _file

from .conftest import Bank

FAULTS = ("full disk", "read-only file", "locked file", "damaged page", "file gone")
NOBODY = 65534


@contextmanager
def full_disk(path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = max(path.with_name(path.name + end).stat().st_size for end in ("", "-wal"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only_file(path):
    os.chmod(path.parent, 0o777)
    for each in path.parent.iterdir():
        os.chmod(each, 0o444)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
    yield
    if os.geteuid() == NOBODY:
        os.seteuid(0)
    for each in path.parent.iterdir():
        os.chmod(each, 0o666)


@contextmanager
def locked_file(path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.close()


@contextmanager
def damaged_page(path):
    """Write over all pages but those of the tables' names, and put them back later."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    whole = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(os.urandom(len(whole) - 3 * 4096))
    yield
    with path.open("r+b") as file:
        file.write(whole)


@contextmanager
def file_gone(path):
    path.rename(path.with_suffix(".away"))
    yield
    path.with_suffix(".away").rename(path)


def one(fault, durability, way, folder):
    """Play one row, and return what was seen."""
    path = Path(folder) / "journal.db"
    _file.BUSY_SECONDS = 0.1
    bank, seen = Bank(), {}
    quiet = Bank()
    with Journal(path, durability=durability) as first:
        first.attach(bank.bus)
        bank.pay("ada")
    journal = Journal(path, durability=durability)
    journal.attach(quiet.bus)
    undo = journal.durable("pay", bus=bank.bus)
    if fault in ("full disk", "locked file", "file gone"):
        bank.pay("ada")  # the file is open
    bank.ran.clear()
    with globals()[fault.replace(" ", "_").replace("-", "_")](path):
        quiet.pay("ada")
        seen["not durable"] = "ran" if quiet.ran == ["ada"] else "did not run"
        try:
            bank.pay("ada", way=way)
            seen["durable"] = "ran"
        except HookBlocked as blocked:
            seen["durable"] = f"blocked: {blocked.reason.partition(path.name)[2].strip()}"
        seen["body"] = "ran" if bank.ran else "did not run"
    try:
        bank.pay("ada", way=way)
        seen["afterwards"] = "ran"
    except HookBlocked as blocked:
        seen["afterwards"] = f"blocked: {blocked.reason.partition(path.name)[2].strip()}"
    undo()
    with suppress(HookError):
        journal.close()
    found = Journal.reading(path)
    seen["verifies"] = found.verify().ok
    seen["lost, of 2"] = journal.lost
    return seen


ROWS = [(fault, durability, way) for fault in FAULTS for durability in ("normal", "full")
        for way in ("pay", "pay_async")]  # fmt: skip


def played(rows):
    """Play rows in a process of their own, which may be given up its rights, and yield each."""
    code = (
        "import json, os, sys, tempfile\n"
        "from tests.journal.faults import one\n"
        f"for row in {rows!r}:\n"
        "    with tempfile.TemporaryDirectory() as folder:\n"
        "        print(json.dumps(one(*row, folder)))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if ended.returncode:
        raise AssertionError(ended.stderr)
    return zip(rows, map(json.loads, ended.stdout.splitlines()))


def main():
    print("| fault | mode | hook | a call that is not durable | a durable call | its body |"
          " a durable call afterwards | verifies | lost, of 2 |")  # fmt: skip
    print("|---" * 9 + "|")
    for (fault, durability, way), seen in played(ROWS):
        kind = "async def" if way == "pay_async" else "def"
        print(f"| {fault} | {durability} | {kind} | {' | '.join(map(str, seen.values()))} |")


if __name__ == "__main__":
    main()
