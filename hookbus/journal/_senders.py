"""Stand-ins for senders that are gone: of their class, where it is known."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

# As a class itself has them, whatever its metaclass says.
_MRO: Final = type.__dict__["__mro__"].__get__
_MODULE: Final = type.__dict__["__module__"].__get__
qualname_of: Final = type.__dict__["__qualname__"].__get__

_OF_OBJECT: Final = re.compile(r"(.+?)(?: '.*')? at 0x[0-9a-f]+")


class SenderIsGone(Exception):
    """Somebody looks at a sender of which nothing is known."""


class Unknown:
    """A sender of which nothing is known: whoever looks at it fails."""

    def __getattribute__(self, name: str) -> Any:
        raise SenderIsGone


def kind_of(sender: str) -> str:
    """Return the same text for all objects of a class: which one it was is nobody's business."""
    of_object = _OF_OBJECT.fullmatch(sender)
    return f"{of_object[1]} at 0x0" if of_object else sender


def stand_in_of(sender: str, scopes: Collection[type]) -> tuple[Any, bool]:
    """Return what stands for a sender that was recorded as this, and whether its class is known:
    the class itself, an object of it that was never initialised, or something unknown.

    Args:
        sender: as `kind_of` has it.
        scopes: the classes that guards of the hook are connected to. Of several classes of one name
            it is one of these, or a subclass; of none of these, no such guard concerns it.
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
    except TypeError:  # it is abstract, or made of what is not Python
        return Unknown(), False


def _classes_called(name: str) -> list[type]:
    """Return the classes of this qualified name, one of each module."""
    found: dict[str | int, type] = {}
    seen: set[int] = set()  # by identity: a metaclass may say anything of its classes
    left = [object]
    while left:
        for cls in type.__subclasses__(left.pop()):
            if id(cls) not in seen:
                seen.add(id(cls))
                left.append(cls)
                if qualname_of(cls) == name:
                    found[_module_of(cls)] = cls  # one that was made anew is the later one
    return list(found.values())


def is_subclass(cls: type, base: type) -> bool:
    """Tell whether a class is another one or inherits from it, whatever its metaclass says."""
    return any(each is base for each in _MRO(cls))


def _module_of(cls: type) -> str | int:
    """Return the name of a class's module; of one that has something else there, its identity."""
    module = _MODULE(cls)
    return module if type(module) is str else id(cls)
