"""The two ways a call can go: by the walk, or by generated code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from hookbus import _compile, _runner


@contextmanager
def walked() -> Iterator[None]:
    """Walk every call."""
    with patch.object(_runner.Runner, "is_hot", lambda runner: False):
        yield


@contextmanager
def compiled() -> Iterator[list[bool]]:
    """Compile every plan at its first call, where that can be done; the list says of each plan whether it was."""
    outcomes: list[bool] = []
    compile_plan = _compile.compile_plan

    def noted(*arguments):
        made = compile_plan(*arguments)
        outcomes.append(made is not None)
        return made

    with patch.object(_runner.Runner, "is_hot", lambda runner: True), patch.object(_compile, "compile_plan", noted):
        yield outcomes
