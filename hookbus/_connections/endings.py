"""The end of what is held weakly: when it is forgotten, and by what.

What is called then runs wherever an object happens to die, where a Ctrl-C that arrives is
swallowed. So it is no Python code, but `dict.pop`, wherever that is possible.
"""

from __future__ import annotations

import gc
import weakref
from _thread import get_ident
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, Final


class _Collector(tuple[Any, ...]):
    """Who is told by the garbage collector, as `getattr(it, "start", info)` and `getattr(it,
    "stop", info)`.
    """


class _Over(_Collector):
    """Who is told after the collector. Both are equal to `()`."""


_collecting: Final[defaultdict[tuple[Any, ...], int]] = defaultdict(get_ident)
_ending: Final[list[Any]] = []
# All in C: "start" notes the thread under the collector itself, "stop" empties the list, and lets
# go of what was put there meanwhile; then it takes the thread away.
_Collector.start = property(_collecting.__getitem__)  # type: ignore[attr-defined]
_Collector.stop = property(_ending.__init__)  # type: ignore[attr-defined, misc]
_Over.start = property(id)  # type: ignore[attr-defined]
_Over.stop = property(_collecting.pop)  # type: ignore[attr-defined]
gc.callbacks += partial(getattr, _Collector()), partial(getattr, _Over())


class _Last:
    """Dies when the running collection ends."""


def at_end(owner: Any, entries: dict[int, Any], key: int) -> Callable[[Any], Any]:
    """Return what takes an entry away when its owner has died.

    The weak references to an object in a circle end before its `__del__` runs, in which it may
    still call: the entry of such an object stays until the collection is over, and its address can
    be used again. What dies in another thread is in no circle, and its address is free at once.
    """
    forget = partial(entries.pop, key)
    return partial(_later, forget) if hasattr(type(owner), "__del__") else forget


def _later(
    forget: Callable[[Any], Any], reference: Any,
    # Here, as the names of a module are gone at the end of the program.
    collecting: Callable[[Any], int | None] = _collecting.get, here: Callable[[], int] = get_ident,
) -> None:  # fmt: skip
    if collecting(()) != here():
        forget(reference)
        return
    last = _Last()
    # In this order: a tuple lets go of its last first, and what a weak reference calls it calls
    # only while it lives.
    _ending.append((weakref.ref(last, forget), last))
    del last
