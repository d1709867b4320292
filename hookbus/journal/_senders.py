"""Creates placeholders for senders that no longer exist, as objects of the sender's class if the
class is known."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

# Read from `type` itself, so that a metaclass cannot override them.
_MRO: Final = type.__dict__["__mro__"].__get__
_MODULE: Final = type.__dict__["__module__"].__get__
qualname_of: Final = type.__dict__["__qualname__"].__get__

_OF_OBJECT: Final = re.compile(r"(.+?)(?: '.*')? at 0x[0-9a-f]+")


class SenderIsGone(Exception):
    """A guard has read an attribute of an unknown sender."""


class Unknown:
    """A placeholder for a sender of an unknown class. Reading any attribute raises
    `SenderIsGone`.
    """

    def __getattribute__(self, name: str) -> Any:
        raise SenderIsGone


def kind_of(sender: str) -> str:
    """Return a description of a sender, without its address. The description is the same for all
    objects of a class.
    """
    of_object = _OF_OBJECT.fullmatch(sender)
    return f"{of_object[1]} at 0x0" if of_object else sender


def placeholder_for(sender: str, scopes: Collection[type]) -> tuple[Any, bool]:
    """Return a placeholder for a recorded sender, and whether its class is known. The placeholder
    is the class itself, an uninitialized object of that class, or an `Unknown`.

    Args:
        sender: the sender as `kind_of` returns it.
        scopes: the classes to which guards of the hook are connected. If several classes have the
            recorded name, the placeholder is an object of one of these classes or of a subclass. If
            no class has the recorded name, these guards do not apply.
    """
    if sender.startswith("function "):
        return Unknown(), True
    of_object = _OF_OBJECT.fullmatch(sender)
    found = _classes_called(of_object[1] if of_object else sender.removeprefix("class "))
    # By identity: a metaclass may have an `==` of its own.
    fitting = [cls for cls in found if any(is_subclass(cls, scope) for scope in scopes)]
    named = found if len(found) == 1 else fitting
    if len(named) != 1:
        return Unknown(), bool(found) and not fitting
    if of_object is None:
        return named[0], True
    try:
        return object.__new__(named[0]), True
    except TypeError:  # it is abstract, or not implemented in Python
        return Unknown(), False


def _classes_called(name: str) -> list[type]:
    """Return the classes with this qualified name, one for each module."""
    found: dict[str | int, type] = {}
    seen: set[int] = set()  # by identity: a metaclass may override equality
    unvisited = [object]
    while unvisited:
        for cls in type.__subclasses__(unvisited.pop()):
            if id(cls) not in seen:
                seen.add(id(cls))
                unvisited.append(cls)
                if qualname_of(cls) == name:
                    found[_module_of(cls)] = cls  # a redefined class replaces the earlier one
    return list(found.values())


def is_subclass(cls: type, base: type) -> bool:
    """Return whether a class is `base` or inherits from it, ignoring overrides in its metaclass."""
    return any(each is base for each in _MRO(cls))


def _module_of(cls: type) -> str | int:
    """Return the name of a class's module, or the id of the class if the name is not a string."""
    module = _MODULE(cls)
    return module if type(module) is str else id(cls)
