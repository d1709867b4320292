"""Walks through the keys, fields and items of a value at any depth, without changing or consuming
the value."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from .. import HookError
from ._parts import NOTHING, PLAIN, Aside, Part, Property, bare, parts_of

DEEPEST: Final = 50
MOST: Final = 1_000_000
"""The maximum number of values to visit in one call."""

SECONDS: Final = 1.0
"""The maximum CPU time in seconds for walking through the values of one call. A busy machine does
not cause blocked calls.
"""

SHOWN: Final = 60
"""The maximum number of characters of a key to show in a path."""


class Leaf(NamedTuple):
    """A value without parts, or an object that cannot be inspected.

    Attributes:
        state: the state computed from the initial state and the names on the path to the leaf.
        path: the position of the leaf, such as `files[0].name`.
        value: the value of the leaf.
        is_opaque: whether the value is an object that cannot be inspected.
    """

    state: Any
    path: str
    value: Any
    is_opaque: bool


_leaf: Final[Any] = tuple.__new__
"""Creates a `Leaf` twice as fast as calling the class."""


def walk(
    arguments: Any, state: Any, step: Callable[[Any, str], Any],
    wants: Callable[[str], bool] | None = None,
) -> Iterator[Leaf]:  # fmt: skip
    """Yield the leaves of arguments: keys below the first level, fields and items at any depth.

    Args:
        arguments: a mapping of names to values.
        state: the initial state.
        step: computes the state below a name from the state above it and the name.
        wants: selects the properties of objects to read, by name. If it is None, no property is
            read.

    Raises:
        HookError: if the arguments are not a mapping with string keys, or are too deep or too
            large.
    """
    if not isinstance(arguments, Mapping):
        raise HookError("the arguments are not a mapping of names to values")
    until, count = time.thread_time() + SECONDS, 0
    first: list[tuple[Any, str, Any]] = []
    for argument_name, value in arguments.items():
        if not isinstance(argument_name, str):
            raise HookError("the arguments have a key that is not a string")
        name = bare(argument_name)
        first.append((step(state, name), name[:SHOWN], value))
    stack: list[Iterator[tuple[Any, str, Any]]] = [iter(first)]
    while stack:
        for below, path, value in stack[-1]:
            count += 1
            if count > MOST or (not count % 1024 and time.thread_time() > until):
                raise HookError("the arguments are too large to be checked")
            if type(value) in PLAIN:  # the most frequent case
                yield _leaf(Leaf, (below, path, value, False))
                continue
            is_aside = type(value) is Aside
            inner = value.value if is_aside else value
            parts = parts_of(inner)
            if parts is NOTHING:
                yield Leaf(below, path, bare(inner), False)
            elif parts is not None:
                if len(stack) > DEEPEST:
                    raise HookError(f"the arguments are nested more than {DEEPEST} levels deep")
                stack.append(_below(parts, below, path, step, wants))
                break
            elif not is_aside:
                yield Leaf(below, path, inner, True)
        else:
            stack.pop()


def opaque(leaf: Leaf) -> HookError:
    """Return the error for an object that cannot be inspected."""
    kind = type(leaf.value).__qualname__[:SHOWN]
    return HookError(f"{leaf.path} contains an object of class {kind}, which cannot be inspected")


def _below(
    parts: Iterable[Part], state: Any, path: str, step: Callable[[Any, str], Any],
    wants: Callable[[str], bool] | None,
) -> Iterator[tuple[Any, str, Any]]:  # fmt: skip
    number = 0
    for name, value in parts:
        if name is None:
            yield state, f"{path}[{number}]", value
            number += 1
        elif type(value) is not Property:
            yield step(state, name), f"{path}.{name[:SHOWN]}", value
        elif wants is not None and wants(name):
            yield step(state, name), f"{path}.{name[:SHOWN]}", value.read(name)
