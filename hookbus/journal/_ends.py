"""Handles program exit and forks, so that no earlier event is lost and no child process shares a
connection.
"""

from __future__ import annotations

import atexit
import weakref
from contextlib import suppress
from typing import Final, Protocol

from .. import HookError
from .._ground.platform import run_at_fork


class Writer(Protocol):
    """The writer of a journal, as far as the end of a program and forks concern it."""

    def end(self) -> None: ...
    def pause_writing(self) -> bool: ...
    def resume_writing(self) -> None: ...
    def begin(self) -> None: ...


_all: Final[weakref.WeakSet[Writer]] = weakref.WeakSet()
_still: Final[list[Writer]] = []


def watch(writer: Writer) -> None:
    """Register a writer to be closed when the program exits."""
    _all.add(writer)


@atexit.register
def _at_exit() -> None:
    for writer in list(_all):
        with suppress(HookError):
            writer.end()


def _before_fork() -> None:
    _still.extend(writer for writer in list(_all) if writer.pause_writing())


def _in_parent() -> None:
    while _still:
        _still.pop().resume_writing()


def _in_child() -> None:
    _still.clear()
    for writer in list(_all):
        writer.begin()


run_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
