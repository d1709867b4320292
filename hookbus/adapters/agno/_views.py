"""Views of Agno's objects: substitutes that Agno's code, or one of its hooks, sees instead of the
real object."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any


def shielded(run_context: Any) -> Any:
    """Return a run context that shares everything except the list of messages, which it copies.

    Agno swaps a copy into the shared run context and back again. With two concurrent calls, one
    would therefore leave its copy behind.
    """
    if getattr(run_context, "messages", None) is None:
        return run_context
    cls: Any = type(run_context)
    shield = object.__new__(_shield_of(cls))
    # The same dict, so that a hook's writes reach the real object.
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
