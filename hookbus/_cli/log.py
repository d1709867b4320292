"""`hookbus log`: what happened, a line for each call; one call; and whether the journal is whole.
"""

from __future__ import annotations

from cyclopts import App, Parameter

from .. import HookError
from .calls import EVERY, Call, Wanted, calls, switches
from .following import follow
from .reading import ANY_FILE, Read
from .screen import TABLES, Flag, Shown, as_json, print_items, print_json, say, working
from .showing import print_call
from .telling import call_line, line_of

log = App(
    name="log", help="See what happened: all calls, or one, and whether the journal is whole.",
    default_parameter=Parameter(negative=()),
)  # fmt: skip


@log.default
def list_(
    *, wanted: Wanted = EVERY, limit: int = 50, follow_: Flag = False,
    read: Read = ANY_FILE, shown: Shown = TABLES,
) -> None:  # fmt: skip
    """List the last calls, a line for each: when it began, its number, how it ended, how long it
    took, and what receivers changed, blocked and failed in it.

    Args:
        limit: how many calls.
        follow_: go on, and list calls as they end, until Ctrl-C.
    """
    if limit < 0:
        raise HookError(f"--limit {limit} must not be negative")
    if follow_ and wanted.outcome == "unfinished":
        raise HookError("--follow lists calls as they end: leave --outcome unfinished out")
    journal, wanted = read.opened(), wanted.checked()
    last = journal.checkpoint().seq if follow_ else None
    found = calls(journal, wanted, limit, last=last)
    told = _told(found, is_json=shown.json)
    since = found[0].data["at"] if found and len(found) == limit else 0.0
    acts = switches(journal, wanted, since) if limit else []
    told += [(act["at"], as_json(act) if shown.json else line_of(act)) for act in acts]
    for _, line in sorted(told, key=lambda each: each[0]):
        print(line)
    if last is not None:
        follow(journal, wanted, last, is_json=shown.json)
    elif not told and not shown.json:
        say("no such calls")


def _told(found: list[Call], *, is_json: bool) -> list[tuple[float, str]]:
    """Return a line for each call, and the moment it began."""
    several = len({call.run for call in found}) > 1
    told = []
    for call in found:
        if is_json:
            line = as_json(call.as_json())
        elif "outcome" in call.data:
            line = call_line(call.data, call.marks, run=f"{call.run[:6]}:" if several else "")
        else:
            line = line_of(call.data)
        told.append((call.data["at"] - call.data.get("seconds", 0), line))
    return told


@log.command
def verify(
    *checkpoints: str, key: str | None = None, read: Read = ANY_FILE, shown: Shown = TABLES
) -> int:
    """Look whether any record was changed, removed, put in or moved; the exit code is 1 then.

    Args:
        checkpoints: heads of the chain that were kept elsewhere.
        key: a file with the public key, in PEM, that the checkpoints must be signed by.
    """
    pem = None
    if key is not None:
        with open(key, encoding="utf-8") as file:
            pem = file.read()
    journal = read.opened()
    with working("looking at every record"):
        found = journal.verify(*checkpoints, key=pem)
    if shown.json:
        print_json({"ok": found.ok, "records": found.records, "problems": found.problems})
    elif found.ok:
        dropped = f"; records 1 to {found.dropped} were dropped before" * (found.dropped > 0)
        say(f"{found.records} records, and all are as they were written{dropped}", "green")
    else:
        say(f"{found.records} records, and something is wrong", "bold red")
        print_items(found.problems)
    return int(not found.ok)


@log.command
def show(call_id: str, /, *, read: Read = ANY_FILE, shown: Shown = TABLES) -> None:
    """Show one call as a tree: its arguments, what each receiver did, what it changed, the calls
    inside it, how it ended, and the seconds.

    A receiver that agreed is there where its turns were kept, by hookbus run --turns; else hookbus
    explain says who is asked.

    Args:
        call_id: its number, as hookbus log prints it; RUN:17 where several runs have that.
    """
    print_call(read.opened(), call_id, shown)
