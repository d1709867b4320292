"""HOOKBUS_JOURNAL: record a program, and let `hookbus attach` reach it, without changing its
code.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from typing import Final

from .._bus import default_bus
from ..journal import Journal
from .door import listen

VARIABLE: Final = "HOOKBUS_JOURNAL"
TURNS: Final = "HOOKBUS_TURNS"


def begin() -> None:
    """Apply the environment variables of hookbus in any program except the command line itself.

    Raises:
        HookError: if the journal cannot be used.
    """
    path = os.environ.get(VARIABLE)
    if path and not _is_command_line():
        record(path)
        listen()


def record(path: str | os.PathLike[str], *, turns: bool = False) -> None:
    """Record the events of `default_bus` in a journal, in this process and in every child process
    that imports hookbus.

    Args:
        path: the file of the journal.
        turns: also record every call to every receiver; HOOKBUS_TURNS=1 does the same.

    Raises:
        HookError: if the journal cannot be used.
    """
    turns = turns or os.environ.get(TURNS) == "1"
    Journal(path).attach(default_bus, turns=turns)
    os.environ[VARIABLE] = os.path.abspath(path)
    if turns:
        os.environ[TURNS] = "1"


def _is_command_line() -> bool:
    """Return whether this process is `hookbus` or `python -m hookbus`."""
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    if name == "-m":
        return ("-m", "hookbus") in pairwise(sys.orig_argv)
    return name in ("hookbus", "hookbus.exe", "hookbus-script.py")
