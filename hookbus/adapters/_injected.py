"""Hides the values that a framework injects into a tool's arguments from receivers, and restores
them when the tool runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

_WRITTEN: Final = (str, int, float, type(None))
"""The types of values that a model can write, alone or within lists and objects."""


class Injected(dict[str, Any]):
    """Arguments that include injected values, with their names, so that nested hooked calls can
    hide the values too.

    Attributes:
        names: the names of the injected arguments.
    """

    def __init__(self, arguments: Mapping[str, Any], names: Iterable[str]) -> None:
        super().__init__(arguments)
        self.names = frozenset(names)

    def copy(self) -> Injected:
        return Injected(self, self.names)


class Split(NamedTuple):
    """The arguments of a call, separated into the model's arguments and the injected arguments.

    Attributes:
        shown: the arguments that receivers see.
        hidden: the injected arguments.
    """

    shown: dict[str, Any]
    hidden: dict[str, Any]

    def whole(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return changed arguments together with the injected values."""
        if not self.hidden:
            return dict(arguments)
        return Injected({**arguments, **self.hidden}, self.hidden)


def split(given: Mapping[str, Any], declared: Callable[[], Iterable[str]]) -> Split:
    """Separate injected values from the other arguments.

    A declared name alone does not make an argument injected, because a model may have written an
    argument with that name. An argument counts as injected if the framework was seen to inject it,
    or if its name is declared and no model can write its value.

    Args:
        given: the arguments of the call.
        declared: returns the names of the arguments that the tool declares as injected; called only
            if needed.
    """
    names = getattr(given, "names", None)
    if names is None:
        odd = [name for name, value in given.items() if not is_written(value)]
        names = {*odd} & {*declared()} if odd else frozenset()
    shown = {name: value for name, value in given.items() if name not in names}
    return Split(shown, {name: given[name] for name in given if name in names})


def is_written(value: Any) -> bool:
    """Return whether a value is plain data, which a model can have written."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_written(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_written, value))
    return isinstance(value, _WRITTEN)
