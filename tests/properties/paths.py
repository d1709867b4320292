"""The ways a call can go: by the walk, by generated code, or as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hookbus._calls import compile as _compile
from hookbus._calls import runner as _runner
from hookbus._calls import source as _source
from hookbus._hooks.hook import hook_of


@contextmanager
def walked() -> Iterator[None]:
    """Walk every call."""
    with patch.object(_runner.Runner, "is_hot", lambda runner: False):
        yield


@contextmanager
def compiled() -> Iterator[list[bool]]:
    """Compile every plan at its first call, where that can be done.

    The list says of each plan whether it was.
    """
    with patch.object(_runner.Runner, "is_hot", lambda runner: True), as_it_comes() as outcomes:
        yield outcomes


@contextmanager
def looped() -> Iterator[None]:
    """Compile every plan, and call any two receivers in a row that are written alike in a loop."""
    with patch.object(_source, "LOOP_FROM", 2), compiled():
        yield


@contextmanager
def as_it_comes() -> Iterator[list[bool]]:
    """Compile what becomes hot; the list says of each such plan whether it could be compiled."""
    outcomes: list[bool] = []
    compile_plan = _compile.compile_plan

    def noted(*arguments):
        made = compile_plan(*arguments)
        outcomes.append(made is not None)
        return made

    with patch.object(_compile, "compile_plan", noted):
        yield outcomes


def is_compiled(method: Any) -> bool:
    """Tell whether generated code runs the calls of this bound method, as the next one finds it."""
    hook = hook_of(method)
    runner = _runner.runner_for(hook, hook.site_of(method.__self__), method.__self__)
    return runner.compiled is not None
