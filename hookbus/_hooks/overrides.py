"""Methods that stand in front of a hookable one without being hooked themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from .._connections.callables import layers
from .hook import hook_of, hooks_in


def uncovered_overrides(
    bus: object, classes: Iterable[type], hook_name: str | None = None
) -> list[str]:
    """Name what overrides a hookable of this bus, in these classes and their subclasses, and passes
    nothing on to it.
    """
    found = set()
    for cls in with_subclasses(classes):
        for as_class in (False, True):
            for attribute, hook in hooks_in(cls.__mro__[1:], as_class):
                override = vars(cls).get(attribute)
                if override is None or hook.bus is not bus or hook_name not in (None, hook.name):
                    continue
                if not _is_covered(cls, attribute, override):
                    found.add(
                        f"{cls.__module__}.{cls.__qualname__}.{attribute}, which overrides a "
                        "hookable: decorate it with "
                        f"@hookable({hook.name!r}) or call super().{attribute}(...)"
                    )
    return sorted(found)


def with_subclasses(classes: Iterable[type]) -> list[type]:
    """Return the classes and everything below them."""
    found: dict[int, type] = {}  # by identity: a metaclass may say that its classes are equal
    waiting = list(classes)
    while waiting:
        cls = waiting.pop()
        if id(cls) not in found:
            found[id(cls)] = cls
            waiting.extend(type.__subclasses__(cls))
    return list(found.values())


def _is_covered(cls: type, attribute: str, override: Any) -> bool:
    """Tell whether an override is hookable itself, or from its code, whether it passes on to its
    parent's method.

    That it says it wraps that method, as `functools.wraps` does, is no proof that it calls it.
    """
    above = cls.__mro__[1:]
    inherited = {hook for as_class in (False, True) for _, hook in hooks_in(above, as_class)}
    held = layers(getattr(override, "__func__", override))
    own = list(takewhile(lambda layer: hook_of(layer) not in inherited, held))
    if hook_of(override) is not None or any(hook_of(layer) is not None for layer in own):
        return True
    parents = {"super", *(base.__name__ for base in cls.__mro__[1:])}
    codes = [function.__code__ for function in own]
    while codes:
        code = codes.pop()
        if attribute in code.co_names and parents.intersection(code.co_names + code.co_freevars):
            return True
        codes.extend(constant for constant in code.co_consts if inspect.iscode(constant))
    return False
