"""Views of Agno's objects, which Agno's code or hooks get instead of the real objects."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any


def shielded(run_context: Any) -> Any:
    """Return a run context with a copy of the list of messages. All other attributes are shared
    with the original context.

    During a call, Agno replaces this list in the shared run context and then restores it. With two
    concurrent calls, the wrong list could otherwise remain.
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
