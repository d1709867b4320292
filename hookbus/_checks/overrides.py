"""Find methods that override a hookable, but are not hookable."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

from .._callables.callables import layers
from .._hooks.hook import Hook, held_in, hook_of
from .._hooks.identity import attributes_of_class, mro_of


def uncovered_overrides(
    bus: object, classes: Iterable[type], hook_name: str | None = None
) -> list[str]:
    """Describe the methods of these classes that override a hookable of this bus, but are not
    hookable. Each message says whether receivers see the calls of the method.
    """
    found: set[str] = set()
    for cls in classes:
        for attribute, hook, _ in held_in(mro_of(cls)):
            if hook.bus is bus and hook_name in (None, hook.name):
                found.update(_uncovered(cls, attribute, hook))
    return sorted(found)


def _uncovered(cls: type, attribute: str, hook: Hook) -> Iterator[str]:
    mro = mro_of(cls)
    place = 0
    while attribute not in attributes_of_class(mro[place]):
        place += 1
    holder, above = mro[place], mro[place + 1 :]
    override = attributes_of_class(holder)[attribute]
    if hook_of(override) is not None:
        return
    passes_on = _passes_on(above, attribute, override)
    if passes_on is None:
        return
    where = f"{holder.__module__}.{holder.__qualname__}.{attribute}"
    if all(held is not hook for _, held, _ in held_in(mro_of(holder)[1:])):
        where += f" (ahead of it in {cls.__qualname__})"
    sees = "receivers see only what it passes to super()"
    seen = sees if passes_on else "no receiver sees it"
    yield (
        f"{where}, which overrides a hookable: {seen}; decorate it with @hookable({hook.name!r}), "
        "or its base class with @hook_overrides"
    )


def _passes_on(above: tuple[type, ...], attribute: str, override: Any) -> bool | None:
    """Return whether the code of an override calls the overridden method, or None if the override
    is hookable. The use of `functools.wraps` does not prove such a call.
    """
    inherited = {hook for _, hook, _ in held_in(above)}
    functions = layers(getattr(override, "__func__", override))
    own = list(takewhile(lambda layer: hook_of(layer) not in inherited, functions))
    if any(hook_of(layer) is not None for layer in own):
        return None
    parents = {"super", *(base.__name__ for base in above)}
    codes = [function.__code__ for function in own]
    while codes:
        code = codes.pop()
        if attribute in code.co_names and parents.intersection(code.co_names + code.co_freevars):
            return True
        codes.extend(constant for constant in code.co_consts if inspect.iscode(constant))
    return False
