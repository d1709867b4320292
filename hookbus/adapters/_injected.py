"""Values that a framework injects into the arguments of a tool: they are not arguments of the call,
and are added again when the tool runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

_WRITTEN: Final = (str, int, float, type(None))
"""What a model can write, in lists and objects or alone."""


class Injected(dict[str, Any]):
    """Arguments among which a framework has put some of its own, so that places further inside
    know them again.

    Attributes:
        names: of those that the framework has put there.
    """

    def __init__(self, arguments: Mapping[str, Any], names: Iterable[str]) -> None:
        super().__init__(arguments)
        self.names = frozenset(names)

    def copy(self) -> Injected:
        return Injected(self, self.names)


class Split(NamedTuple):
    """The arguments of a call, without what its framework has injected.

    Attributes:
        shown: what receivers see.
        hidden: what the framework has put there.
    """

    shown: dict[str, Any]
    hidden: dict[str, Any]

    def whole(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments as they have become, with what was injected put back."""
        if not self.hidden:
            return dict(arguments)
        return Injected({**arguments, **self.hidden}, self.hidden)


def split(given: Mapping[str, Any], declared: Callable[[], Iterable[str]]) -> Split:
    """Take out of arguments what a framework has injected.

    A declared name alone hides nothing: a model may have written an argument of that name. Hidden
    is what the framework was seen to put there, and what no model can write.

    Args:
        given: the arguments of the call.
        declared: gives the names that the tool wants injected, where that has to be known.
    """
    names = getattr(given, "names", None)
    if names is None:
        odd = [name for name, value in given.items() if not is_written(value)]
        names = {*odd} & {*declared()} if odd else frozenset()
    shown = {name: value for name, value in given.items() if name not in names}
    return Split(shown, {name: given[name] for name in given if name in names})


def is_written(value: Any) -> bool:
    """Tell whether a model can have written a value: it is plain data."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_written(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_written, value))
    return isinstance(value, _WRITTEN)
