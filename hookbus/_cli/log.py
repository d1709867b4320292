"""`hookbus log`: list the calls in a journal, show one call, and verify the journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from cyclopts import App, Parameter

from .. import HookError
from .calls import EVERY, Call, Wanted, calls, switches
from .describing import call_line, line_of
from .following import follow
from .reading import ANY_FILE, Read, asked
from .screen import TABLES, Flag, Shown, as_json, print_items, print_json, say, working
from .showing import print_call

if TYPE_CHECKING:
    from ..journal import Journal

log = App(
    name="log", help="List calls, show one call, or verify the journal.",
    default_parameter=Parameter(negative=()),
)  # fmt: skip


@log.default
def list_(
    *, wanted: Wanted = EVERY, limit: int = 50, follow_: Flag = False,
    read: Read = ANY_FILE, shown: Shown = TABLES,
) -> None:  # fmt: skip
    """List the latest calls, one per line, with their start time, number, outcome and duration, and
    the changes, blocks and failures of receivers.

    Args:
        limit: the maximum number of calls.
        follow_: keep running, and print calls as they end, until Ctrl-C.
    """
    if limit < 0:
        raise HookError(f"--limit {limit} must not be negative")
    if follow_ and wanted.outcome == "unfinished":
        raise HookError("--follow prints only ended calls: remove --outcome unfinished")
    journal, wanted = read.opened(), wanted.checked()
    last = journal.checkpoint().seq if follow_ else None
    found = calls(journal, wanted, limit, last=last)
    has_runs = len(asked(journal, "SELECT number FROM runs LIMIT 2")) > 1
    lines = _lines_of(found, has_runs=has_runs, is_json=shown.json)
    since = found[0].data["at"] if found and len(found) == limit else 0.0
    acts = switches(journal, wanted, since) if limit else []
    lines += [(act["at"], as_json(act) if shown.json else line_of(act)) for act in acts]
    for _, line in sorted(lines, key=lambda each: each[0]):
        print(line)
    if last is not None:
        follow(journal, wanted, last, is_json=shown.json)
    elif not lines and not shown.json:
        say(_no_calls(journal, wanted))


def _no_calls(journal: Journal, wanted: Wanted) -> str:
    """Return the message for an empty list. It mentions matching calls that have not ended."""
    if wanted.outcome is None and calls(journal, attrs.evolve(wanted, outcome="unfinished"), 1):
        return "no matching calls have ended; --outcome unfinished lists those that have not"
    return "no matching calls"


def _lines_of(found: list[Call], *, has_runs: bool, is_json: bool) -> list[tuple[float, str]]:
    """Return a line for each call, with the start time of the call. If the journal has several
    runs, each number begins with its run, so that `hookbus log show` finds the call."""
    lines = []
    for call in found:
        if is_json:
            line = as_json(call.as_json())
        elif "outcome" in call.data:
            line = call_line(call.data, call.marks, run=f"{call.run[:6]}:" if has_runs else "")
        else:
            line = line_of(call.data)
        lines.append((call.data["at"] - call.data.get("seconds", 0), line))
    return lines


@log.command
def verify(
    *checkpoints: str, key: str | None = None, read: Read = ANY_FILE, shown: Shown = TABLES
) -> int:
    """Check whether any record was changed, removed, inserted or moved. If so, the exit code
    is 1.

    Args:
        checkpoints: checkpoints of this journal that you stored separately.
        key: the PEM file of the public key that verifies the checkpoints' signatures.
    """
    pem = None
    if key is not None:
        with open(key, encoding="utf-8") as file:
            pem = file.read()
    journal = read.opened()
    with working("checking every record"):
        found = journal.verify(*checkpoints, key=pem)
    if shown.json:
        print_json({"ok": found.ok, "records": found.records, "problems": found.problems})
    elif found.ok:
        dropped = f"; records 1 to {found.dropped} were dropped earlier" * (found.dropped > 0)
        say(f"{found.records} records, all unchanged{dropped}", "green")
    else:
        say(f"{found.records} records, with problems", "bold red")
        print_items(found.problems)
    return int(not found.ok)


@log.command
def show(call_id: str, /, *, read: Read = ANY_FILE, shown: Shown = TABLES) -> None:
    """Show one call as a tree: its arguments, the actions and changes of each receiver, nested
    calls, the outcome and the duration.

    A receiver that changed nothing is shown only if hookbus run --turns recorded its calls. To list
    all receivers of a method, use hookbus explain.

    Args:
        call_id: the number of the call as shown by hookbus log; RUN:17 if several runs have
            a call with this number.
    """
    print_call(read.opened(), call_id, shown)
