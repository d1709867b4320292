"""Values that a framework injects into the arguments of a tool: they are not arguments of the call,
and are restored when the tool runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

_WRITTEN: Final = (str, int, float, type(None))
"""Types that a model can write, in lists and objects or alone."""


class Injected(dict[str, Any]):
    """Arguments with values that a framework injected, so that nested hooked calls recognize them.

    Attributes:
        names: the names of the injected arguments.
    """

    def __init__(self, arguments: Mapping[str, Any], names: Iterable[str]) -> None:
        super().__init__(arguments)
        self.names = frozenset(names)

    def copy(self) -> Injected:
        return Injected(self, self.names)


class Split(NamedTuple):
    """The arguments of a call, without what its framework has injected.

    Attributes:
        shown: the arguments that receivers see.
        hidden: the injected arguments.
    """

    shown: dict[str, Any]
    hidden: dict[str, Any]

    def whole(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changed arguments, with the injected values restored."""
        if not self.hidden:
            return dict(arguments)
        return Injected({**arguments, **self.hidden}, self.hidden)


def split(given: Mapping[str, Any], declared: Callable[[], Iterable[str]]) -> Split:
    """Remove injected values from arguments.

    A declared name alone hides nothing, because a model may have written an argument of that name.
    The function removes values that the framework was seen to inject, and values that no model can
    write.

    Args:
        given: the arguments of the call.
        declared: returns the names that the tool wants injected, if they are needed.
    """
    names = getattr(given, "names", None)
    if names is None:
        odd = [name for name, value in given.items() if not is_written(value)]
        names = {*odd} & {*declared()} if odd else frozenset()
    shown = {name: value for name, value in given.items() if name not in names}
    return Split(shown, {name: given[name] for name in given if name in names})


def is_written(value: Any) -> bool:
    """Return whether a model can have written a value, because it is plain data."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_written(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_written, value))
    return isinstance(value, _WRITTEN)
