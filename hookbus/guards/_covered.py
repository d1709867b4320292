"""Selects the arguments that a guard checks, by globs for their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import fsdecode
from pathlib import PurePath
from re import Pattern
from typing import Any, Final

from .. import HookError
from ._look import opaque, walk
from ._ready import glob, globs

NOTED: Final = 50
"""The maximum number of unmatched arguments to remember for `report`."""

LOOKED_AT: Final = 4096
"""The number of leading characters of a value that `form` is matched against."""

_COVERED, _USUAL = "covered", "usual"

_State = tuple[str, str]
"""Whether a glob matches a name or one of its parents, together with the name itself."""


class Covered:
    """Selects arguments whose names match globs, at any depth and ignoring case.

    Args:
        names: the globs.
        usual: the globs to use by default.
        form: a regular expression for values that look as if they should be checked.

    Raises:
        HookError: if no globs are passed, or if a glob is invalid.
    """

    def __init__(
        self, names: Any, usual: Iterable[str] = (), form: Pattern[str] | None = None
    ) -> None:
        self._globs = [glob(each.casefold(), "arguments=") for each in globs(names, "arguments=")]
        if not self._globs:
            raise HookError("arguments= is empty: name at least one argument to check")
        self._usual, self._form = [glob(each, "usual") for each in usual], form
        self._passed: dict[str, None] = {}

    def of(self, arguments: Any) -> Iterator[tuple[str, Any]]:
        """Yield the path and the value of each matching item of a mapping or list and each matching
        field of an object. None values are skipped.

        Raises:
            HookError: as `walk` does, and for any object that cannot be inspected.
        """
        known: dict[tuple[_State, str], _State] = {}

        def step(above: _State, name: str) -> _State:
            """Match a name only once, even if many mappings contain this name."""
            state = known.get((above, name))
            if state is None:
                state = known[above, name] = self._step(above, name)
            return state

        for leaf in walk(arguments, ("", ""), step, self.covers):
            (cover, name), value = leaf.state, leaf.value
            if value is None:
                continue
            if cover is _COVERED:
                yield leaf.path, value
            elif leaf.is_opaque:
                raise opaque(leaf)
            elif len(self._passed) < NOTED and self._should(cover, value):
                self._passed.setdefault(name)

    def _step(self, above: _State, name: str) -> _State:
        if above[0] is _COVERED:
            return above
        if self.covers(name):
            return _COVERED, name
        folded = name.casefold()
        is_usual = above[0] is _USUAL or any(each.match(folded) for each in self._usual)
        return _USUAL if is_usual else "", name

    def covers(self, name: str) -> bool:
        """Return whether a glob matches a name."""
        folded = name.casefold()
        return any(each.match(folded) for each in self._globs)

    def _should(self, cover: str, value: Any) -> bool:
        """Return whether a value looks as if it should be checked, although no glob matches its
        name."""
        if isinstance(value, (bytes, PurePath)):
            value = fsdecode(value)
        if not isinstance(value, str) or self._form is None:
            return False
        return cover is _USUAL or self._form.match(value[:LOOKED_AT]) is not None

    def findings(self) -> list[str]:
        """Return the arguments of earlier calls that were not checked, for `report`."""
        message = "is not checked but looks as if it should be: name it in arguments="
        return [f"the argument {name[:60]!r} {message}" for name in self._passed]
