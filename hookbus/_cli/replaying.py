"""`hookbus replay`: check the calls of a journal with the guards of a module."""

from __future__ import annotations

from typing import Any

import attrs

from .._program.preparing import prepare
from .._program.settings import find_settings
from .reading import ANY_FILE, Read
from .screen import TABLES, Shown, print_json, print_rows, say, working
from .target import buses_of, module_of


def replay(module: str, /, *, read: Read = ANY_FILE, shown: Shown = TABLES) -> int:
    """Import a module, check the calls in a journal with its guards, and list the calls with a
    different verdict. The exit code is 1 if any verdict differs. The recorded methods do not run.

    Args:
        module: the module that connects guards: package.module, or the path of a file.
    """
    from ..journal import replay as replayed

    prepare(find_settings())
    journal = read.opened()
    calls, differences, unjudged = 0, list[Any](), list[Any]()
    for bus in buses_of(module_of(module)).values():
        with working("running the guards"):
            found = replayed(journal, bus)
        calls = max(calls, found.calls)
        differences += found.differences
        unjudged += found.not_judged
    if shown.json:
        print_json({
            "calls": calls, "differences": [attrs.asdict(each) for each in differences],
            "not_judged": [attrs.asdict(each) for each in unjudged],
        })  # fmt: skip
    else:
        rows = [{"call": each.call_id, **attrs.asdict(each)} for each in differences]
        for row in rows:
            del row["call_id"], row["run"]
        print_rows(rows, f"{calls} calls, all with the same verdict", f"{calls} calls")
        if unjudged:
            say("guards that could not be called for some calls", "bold")
            print_rows([attrs.asdict(each) for each in unjudged], "")
    return int(bool(differences))
