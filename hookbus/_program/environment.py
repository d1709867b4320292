"""HOOKBUS_JOURNAL: a program is recorded, and can be asked while it runs, without a change to it.
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
    """Do what the environment asks for, in any program but the command line itself, which reads.

    Raises:
        HookError: if the journal cannot be used.
    """
    path = os.environ.get(VARIABLE)
    if path and not _is_command_line():
        record(path)
        listen()


def record(path: str | os.PathLike[str], *, turns: bool = False) -> None:
    """Keep the events of `default_bus` in a journal, here and in every process that is started from
    here and imports hookbus.

    Args:
        path: its file.
        turns: keep every turn of every receiver, too; else HOOKBUS_TURNS=1 says so.

    Raises:
        HookError: if the journal cannot be used.
    """
    turns = turns or os.environ.get(TURNS) == "1"
    Journal(path).attach(default_bus, turns=turns)
    os.environ[VARIABLE] = os.path.abspath(path)
    if turns:
        os.environ[TURNS] = "1"


def _is_command_line() -> bool:
    """Tell whether this process is `hookbus` or `python -m hookbus`."""
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    if name == "-m":
        return ("-m", "hookbus") in pairwise(sys.orig_argv)
    return name in ("hookbus", "hookbus.exe", "hookbus-script.py")
