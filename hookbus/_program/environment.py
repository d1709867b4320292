"""HOOKBUS_JOURNAL and HOOKBUS_FLEET: record a program, open its control socket, and join a fleet,
without changes to its code.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from itertools import pairwise
from typing import Final

from .._bus import default_bus
from ..journal import Journal
from .door import listen

VARIABLE: Final = "HOOKBUS_JOURNAL"
TURNS: Final = "HOOKBUS_TURNS"
FLEET: Final = "HOOKBUS_FLEET"


def begin() -> None:
    """Apply the environment variables of hookbus, unless this process is the command line of
    hookbus.

    Raises:
        HookError: if the journal or the fleet cannot be used.
    """
    if _is_command_line():
        return
    journal: Journal | None = None
    if path := os.environ.get(VARIABLE):
        journal = record(path)
        listen()
    join_fleet(journal)


def join_fleet(journal: Journal | None) -> None:
    """Join `default_bus` to the fleet in HOOKBUS_FLEET, if the variable is set, and publish the
    records of a journal there.

    Raises:
        HookError: if the fleet cannot be used, because the program must not run without its kills
            and switches.
    """
    url = os.environ.get(FLEET)
    if not url:
        return
    fleet = import_module("hookbus.fleet").Fleet(url)
    fleet.join(default_bus)
    if journal is not None:
        fleet.ship(journal)


def record(path: str | os.PathLike[str], *, turns: bool = False) -> Journal:
    """Record the events of `default_bus` in a journal, in this process and in every child process
    that imports hookbus. Return the journal.

    Args:
        path: the file of the journal.
        turns: whether to record also every call of every receiver. HOOKBUS_TURNS=1 has the same
            effect.

    Raises:
        HookError: if the journal cannot be used.
    """
    turns = turns or os.environ.get(TURNS) == "1"
    journal = Journal(path)
    journal.attach(default_bus, turns=turns)
    os.environ[VARIABLE] = os.path.abspath(path)
    if turns:
        os.environ[TURNS] = "1"
    return journal


def _is_command_line() -> bool:
    """Return whether the command line of hookbus runs in this process."""
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    if name == "-m":
        return ("-m", "hookbus") in pairwise(sys.orig_argv)
    return name in ("hookbus", "hookbus.exe", "hookbus-script.py")
