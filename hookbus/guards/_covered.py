"""The arguments that a guard judges, by globs over their names."""

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
"""The number of arguments that are noted because no glob covers them."""

LOOKED_AT: Final = 4096
"""The number of characters of a value that decide whether it looks like one to be judged."""

_COVERED, _USUAL = "covered", "usual"


class Covered:
    """The arguments that globs cover, over names at any depth, whatever their case.

    Args:
        given: the globs.
        usual: globs of names that are judged where nobody says otherwise.
        form: what a value looks like that should be judged.

    Raises:
        HookError: if there is no glob, or one is none.
    """

    def __init__(
        self, given: Any, usual: Iterable[str] = (), form: Pattern[str] | None = None
    ) -> None:
        self._globs = [glob(each.casefold(), "arguments=") for each in globs(given, "arguments=")]
        if not self._globs:
            raise HookError("arguments= names no argument: then there is nothing to judge")
        self._usual, self._form = [glob(each, "usual") for each in usual], form
        self._passed: dict[str, None] = {}

    def of(self, arguments: Any) -> Iterator[tuple[str, Any]]:
        """Yield the path and the value of each: keys of mappings, items, and fields of objects; but
        None, which is no value.

        Raises:
            HookError: as `walk` does, and for an object anywhere that cannot be looked into.
        """
        for leaf in walk(arguments, ("", ""), self._step, self.covers):
            (cover, name), value = leaf.state, leaf.value
            if value is None:
                continue
            if cover is _COVERED:
                yield leaf.path, value
            elif leaf.is_opaque:
                raise opaque(leaf)
            elif len(self._passed) < NOTED and self._should(cover, value):
                self._passed.setdefault(name)

    def _step(self, above: tuple[str, str], name: str) -> tuple[str, str]:
        if above[0] is _COVERED:
            return above
        if self.covers(name):
            return _COVERED, name
        folded = name.casefold()
        is_usual = above[0] is _USUAL or any(each.match(folded) for each in self._usual)
        return _USUAL if is_usual else "", name

    def covers(self, name: str) -> bool:
        """Tell whether a glob matches a name."""
        folded = name.casefold()
        return any(each.match(folded) for each in self._globs)

    def _should(self, cover: str, value: Any) -> bool:
        """Tell whether a value that no glob covers looks like one that should be judged."""
        if isinstance(value, (bytes, PurePath)):
            value = fsdecode(value)
        if not isinstance(value, str) or self._form is None:
            return False
        return cover is _USUAL or self._form.match(value[:LOOKED_AT]) is not None

    def findings(self) -> list[str]:
        """Say which arguments of the calls so far went past, as `report` does."""
        said = "is not judged, and looks as if it should be: name it in arguments="
        return [f"the argument {name[:60]!r} {said}" for name in self._passed]
