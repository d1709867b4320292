"""Register functions that are called when the process forks or exits, on every system."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any, Final

_Call = Callable[[], object]


def run_at_fork(
    *, before: _Call | None = None, after_in_parent: _Call | None = None,
    after_in_child: _Call | None = None,
) -> None:  # fmt: skip
    """Register functions to call when the process forks. On systems without fork, do nothing."""
    register: Any = getattr(os, "register_at_fork", None)
    given = {"before": before, "after_in_parent": after_in_parent, "after_in_child": after_in_child}
    if register is not None:
        register(**{name: function for name, function in given.items() if function is not None})


_last: Final[list[_Call]] = []


def run_last_at_exit(function: _Call) -> None:
    """Register a function to call when the interpreter exits. It runs after the exit handlers that
    the program registered since the import of hookbus.
    """
    _last.append(function)


@atexit.register  # when hookbus is imported, because later handlers run earlier
def _at_exit() -> None:
    for function in _last:
        function()
