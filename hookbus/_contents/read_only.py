"""Make read-only containers for receivers, and plain copies of them for the method."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Final, NoReturn

from ..exceptions import HookError


class WriteRefused(HookError):
    """A receiver tried to change a read-only container."""


def _refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
    name = self.argument
    changed = f"{{**{name}, ...}}" if self.is_mapping else f"[*{name}, ...]"
    raise WriteRefused(
        f"the contents of {name} are read-only: return {{{name!r}: {changed}}} instead of "
        "changing it in place"
    )


class _ReadOnly:
    """A container whose write methods raise HookError. Its copies and pickles are plain containers.

    Attributes:
        plain: the class of the copies, which is also the base class.
        argument: the name of the argument that is or contains this container.
        is_mapping: whether that argument is a mapping.
    """

    __slots__ = ()
    plain: ClassVar[type[Any]]
    argument: str
    is_mapping: bool

    def copy(self) -> Any:
        """Return a plain container with the same items. Nested containers stay read-only."""
        return self.plain(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.plain(self), memo)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return self.plain, (self.plain(self),)


class ReadOnlyDict(_ReadOnly, dict[Any, Any]):
    """A read-only `dict`."""

    __slots__ = ("argument", "is_mapping")
    plain = dict

    __setitem__ = __delitem__ = __ior__ = pop = popitem = clear = _refuse
    update = setdefault = _refuse  # pyright: ignore[reportAssignmentType]


class ReadOnlyList(_ReadOnly, list[Any]):
    """A read-only `list`."""

    __slots__ = ("argument", "is_mapping")
    plain = list

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse


_COPIED: Final = frozenset({dict, list, tuple, ReadOnlyDict, ReadOnlyList})


def read_only(value: Any, argument: str) -> Any:
    """Return the value of an argument with a read-only copy of each `dict` and `list`, including
    those inside tuples. Other objects and their contents stay the same.

    Raises:
        HookError: if a container contains itself, or if containers are nested too deeply.
    """
    if type(value) not in _COPIED:
        return value
    is_mapping = issubclass(type(value), dict)

    def make(kind: type, items: Any) -> Any:
        if kind is tuple:
            return items
        made = ReadOnlyDict(items) if issubclass(kind, dict) else ReadOnlyList(items)
        made.argument, made.is_mapping = argument, is_mapping
        return made

    return _copied_all(value, make, argument)


def plain_copy(value: Any, argument: str = "an argument") -> Any:
    """Return a value with plain copies of its read-only containers, and of the containers around
    them.

    Raises:
        HookError: as in `read_only`.
    """
    if type(value) not in _COPIED:
        return value
    return _copied_all(value, lambda kind, items: items, argument)


def _copied_all(value: Any, make: Any, argument: str) -> Any:
    try:
        return _copied(value, make)
    except RecursionError:
        raise HookError(
            f"{argument} contains itself or is nested too deeply: pass data without cycles and "
            "with fewer levels"
        ) from None


def _copied(value: Any, make: Any) -> Any:
    """Copy a container and its nested containers into plain containers, and return what `make`
    returns for the type and this copy.
    """
    kind = type(value)
    if issubclass(kind, dict):
        items: Any = {**value}
        if not _COPIED.isdisjoint(map(type, items.values())):
            for key, each in items.items():
                if type(each) in _COPIED:
                    items[key] = _copied(each, make)
    else:
        items = [_copied(each, make) if type(each) in _COPIED else each for each in value]
        items = tuple(items) if kind is tuple else items
    return make(kind, items)
