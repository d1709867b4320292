"""A program that uses everything without extras, for every way to run it: `tests.installable`.

It has no assert, because `python -OO` removes them. It prints the results listed in `WANTED`.
"""

import asyncio
import os
import tempfile
import time

from hookbus import (
    Block,
    Drop,
    HookBlocked,
    default_bus,
    explain,
    hookable,
    hookspec,
    load_plugins,
    modes,
    report,
    signal,
)
from hookbus.exporters.jsonl import JsonLines
from hookbus.guards import paths_within
from hookbus.journal import Journal

WANTED = """\
read ran
slept blocked by late
never blocked by awaited
read blocked by paths_within
streamed 2
asked ada
explained True 2
verified True with 6 outcomes, 6 lines
"""


@hookable("tool_call", async_receivers=True)
def tool_call(name, arguments):
    return f"{name} ran"


@hookable
async def stream(count):
    for number in range(count):
        yield number


@hookspec(mode=modes.firstresult)
def name_user(id):
    ...


def late(sender, name):
    if name == "slept":
        time.sleep(5)


async def awaited(sender, name):
    await asyncio.sleep(0)
    return Block("never") if name == "never" else None


async def read_stream():
    return len([each async for each in stream(3)])


def try_call(name, **arguments):
    try:
        print(tool_call(name, arguments))
    except HookBlocked as blocked:
        print(f"{name} blocked by {blocked.receiver}")


def main(folder):
    journal = Journal(os.path.join(folder, "program.journal"))
    detach = journal.attach(default_bus)
    lines = JsonLines(os.path.join(folder, "lines.jsonl"))
    default_bus.events.connect(lines)
    default_bus.register(paths_within(folder))
    signal("pre_tool_call").connect(late, role="guard", timeout=0.3)
    signal("pre_tool_call").connect(awaited, role="guard")
    signal("item_stream").connect(lambda stream, item: Drop() if item == 2 else None)
    signal("name_user").connect(lambda id: "ada" if id == 1 else None)
    load_plugins(default_bus, installed=False).close()
    try_call("read", path=os.path.join(folder, "a.txt"))
    try_call("slept")
    try_call("never")
    try_call("read", path=os.path.dirname(folder))
    print("streamed", asyncio.run(read_stream()))
    print("asked", name_user(1))
    print("explained", "late" in str(explain(tool_call)), len(report().findings))
    detach()
    lines.close()
    journal.flush()
    outcomes = len(list(journal.records(type="finished")))
    with open(os.path.join(folder, "lines.jsonl"), encoding="utf-8") as written:
        finished = sum('"Finished"' in line for line in written)
    print(f"verified {journal.verify().ok} with {outcomes} outcomes, {finished} lines")
    journal.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(os.path.realpath(place))
