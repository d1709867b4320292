"""Policies that are reloaded when their files change."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ... import HookError
from ..._ground.locks import Lock
from .deciding import Policies
from .people import Entities, path_of_entities
from .schemas import Schema, path_of_schema
from .source import (
    Status,
    fixed,
    malformed_as_hook_error,
    path_in,
    read_pieces,
    status_of,
)

PAUSE_SECONDS: Final = 0.1
"""The minimum time in seconds between two checks of the files."""


class Live:
    """The policies that are in force.

    Args:
        source: the policies, as text, file or folder.
        schema, entities, people: as for `guards.policy`.
        actions: the hooks whose calls the policies decide.
        is_reloading: whether to read files again after they change.
        note: called after each attempt to read files again, with the problem or None.

    Attributes:
        policies: the policies in force.
        problem: the reason why the latest content of a file is not in force, or None.

    Raises:
        HookError: if the policies cannot be used.
    """

    def __init__(
        self, source: Any, schema: Any, entities: Any, people: Any, *, actions: tuple[str, ...],
        is_reloading: bool, note: Callable[[str | None], None],
    ) -> None:  # fmt: skip
        self._given = (
            fixed(path_in(source), source), fixed(path_of_schema(schema), schema),
            fixed(path_of_entities(entities), entities), fixed(path_of_entities(people), people),
        )  # fmt: skip
        self._actions, self._note = actions, note
        self._paths = [each for each in self._given if isinstance(each, Path)]
        self._status = status_of(self._paths)
        self.policies, self.problem = self._load(None), None
        self.is_reloading = is_reloading and bool(self._paths)
        self._next_look, self._lock = 0.0, Lock()

    problem: str | None

    def current(self) -> Policies:
        """Check the files for changes, and return the policies in force."""
        if self.is_reloading and time.monotonic() >= self._next_look:
            self.look()
        return self.policies

    def look(self) -> None:
        """Read the files again if they have changed. If the new content cannot be used, the earlier
        policies remain in force.
        """
        with self._lock:
            now = time.monotonic()
            if now < self._next_look:
                return  # another thread has done it
            self._next_look = now + PAUSE_SECONDS
            status = status_of(self._paths)
            is_new = status != self._status and self._reload(status)
            problem = self.problem
        if is_new:  # without the lock: a listener may wait for a thread whose call needs it
            self._note(problem)

    def _reload(self, status: Status) -> bool:
        """Read the files again. Return whether the policies were reloaded, or whether a problem is
        new."""
        before = self.problem
        try:
            new = self._load(self.policies)
        except HookError as error:
            self.problem = str(error)
        else:
            counts = {each.id: each.decided for each in self.policies.all}
            for each in new.all:
                each.decided = counts.get(each.id, 0)
            self.policies, self.problem = new, None
        self._status = status
        return self.problem is None or self.problem != before

    def _load(self, earlier: Policies | None) -> Policies:
        source, schema, entities, people = self._given
        before = earlier.entities if earlier is not None else None
        pieces = read_pieces(source)
        gone = {each.file or "" for each in (earlier.all if earlier is not None else ())}
        gone.difference_update(each.file or "" for each in pieces)
        if gone:
            raise HookError(
                f"{min(gone)} no longer contains a policy: restore it, or restart the program "
                "without it"
            )
        # In `_reload`, an exception of another class would keep the earlier policies silently.
        with malformed_as_hook_error("a file or option of the policies"):
            return Policies(
                pieces, Schema(schema), Entities(entities, people, before),
                self._actions, earlier,
            )  # fmt: skip
