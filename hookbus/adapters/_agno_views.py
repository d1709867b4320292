"""Other views of Agno's objects: what its own code, or one of its hooks, sees in place of the real one."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any


class View:
    """An object with some attributes of its own; everything else is read from, and written to, the object behind it."""

    def __init__(self, behind: Any, **own: Any) -> None:
        self.__dict__.update(own, _behind=behind)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_behind"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_behind"], name, value)


def frozen(value: Any) -> Any:
    """Return a copy of the dicts and lists in a value, to compare with later; what else is in it stays itself."""
    if isinstance(value, dict):
        return {key: frozen(each) for key, each in value.items()}
    return [frozen(each) for each in value] if isinstance(value, list) else value


def shielded(run_context: Any) -> Any:
    """Return a run context that shares everything but the list of messages, of which it has a copy of its own.

    Agno puts the copy into the shared run context and back again, so that of two calls at once one leaves its copy behind.
    """
    if getattr(run_context, "messages", None) is None:
        return run_context
    cls: Any = type(run_context)
    shield = object.__new__(_shield_of(cls))
    # The same dict, so that what a hook writes is written to the real one.
    object.__setattr__(shield, "__dict__", run_context.__dict__)
    shield.messages = list(run_context.messages)
    return shield


@functools.cache
def _shield_of(cls: Hashable) -> Any:
    slot = "_own_messages"
    kind: Any = cls
    body = {"__slots__": (slot,), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    shield = type(kind.__name__, (kind,), body)
    own = vars(shield)[slot]
    shield.messages = property(own.__get__, own.__set__)  # type: ignore[attr-defined]
    return shield
