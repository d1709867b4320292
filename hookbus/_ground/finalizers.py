"""Cleanup of weakly referenced objects: when an entry is removed, and how.

The cleanup runs wherever an object happens to be freed, where Python ignores a Ctrl-C. So it is not
Python code but `dict.pop`, wherever that is possible.
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
    """Called by the garbage collector as `getattr(it, "start", info)` and `getattr(it, "stop",
    info)`.
    """


class _Over(_Collector):
    """Called after the collector. Both are equal to `()`."""


_collecting: Final[defaultdict[tuple[Any, ...], int]] = defaultdict(get_ident)
_ending: Final[list[Any]] = []
# All in C: "start" records the thread under the collector itself. "stop" empties the list and frees
# what was added meanwhile; then it removes the thread.
_Collector.start = property(_collecting.__getitem__)  # type: ignore[attr-defined]
_Collector.stop = property(_ending.__init__)  # type: ignore[attr-defined, misc]
_Over.start = property(id)  # type: ignore[attr-defined]
_Over.stop = property(_collecting.pop)  # type: ignore[attr-defined]
gc.callbacks += partial(getattr, _Collector()), partial(getattr, _Over())


class _Last:
    """Freed when the running collection ends."""


def at_end(owner: Any, entries: dict[int, Any], key: int) -> Callable[[Any], Any]:
    """Return a callback that removes an entry when its owner has been freed.

    Weak references to an object in a reference cycle end before its `__del__` runs, which may still
    make calls. So the entry of such an object stays until the collection is over, and until then
    its address may be reused. An object freed in another thread is in no cycle, and its address is
    free at once.
    """
    forget = partial(entries.pop, key)
    return partial(_later, forget) if hasattr(type(owner), "__del__") else forget


def _later(
    forget: Callable[[Any], Any], reference: Any,
    # As default values, because module globals are gone at the end of the program.
    collecting: Callable[[Any], int | None] = _collecting.get, here: Callable[[], int] = get_ident,
) -> None:  # fmt: skip
    if collecting(()) != here():
        forget(reference)
        return
    last = _Last()
    # In this order: a tuple frees its last item first, and a weak reference calls its callback only
    # while the reference exists.
    _ending.append((weakref.ref(last, forget), last))
    del last
