"""Remove the entries of weakly referenced objects when the objects are freed. Python discards a
KeyboardInterrupt that is raised in such a callback. Therefore the callback is `dict.pop` where
possible, which runs no Python code.
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
    """A tuple that is equal to `()`. The garbage collector calls `getattr(it, "start", info)` and
    `getattr(it, "stop", info)`.
    """


class _Over(_Collector):
    """Like `_Collector`, but the garbage collector calls it later."""


_collecting: Final[defaultdict[tuple[Any, ...], int]] = defaultdict(get_ident)
_ending: Final[list[Any]] = []
# All of this runs in C: "start" records the current thread under the key `()`. "stop" empties the
# list, which frees its items, and then removes the thread.
_Collector.start = property(_collecting.__getitem__)  # type: ignore[attr-defined]
_Collector.stop = property(_ending.__init__)  # type: ignore[attr-defined, misc]
_Over.start = property(id)  # type: ignore[attr-defined]
_Over.stop = property(_collecting.pop)  # type: ignore[attr-defined]
gc.callbacks += partial(getattr, _Collector()), partial(getattr, _Over())


class _Last:
    """An object that is freed when the running collection ends."""


def on_finalized(owner: Any, entries: dict[int, Any], key: int) -> Callable[[Any], Any]:
    """Return a callback that removes an entry when its owner has been freed.

    Weak references to an object in a reference cycle die before its `__del__` runs, and `__del__`
    may still make calls. Therefore, the entry of such an object stays until the end of the
    collection. Until then, another object may reuse the address. If the object is freed outside of
    a collection in this thread, the callback removes the entry immediately.
    """
    forget = partial(entries.pop, key)
    return partial(_later, forget) if hasattr(type(owner), "__del__") else forget


def _later(
    forget: Callable[[Any], Any], reference: Any,
    # Default values, because module globals no longer exist when the interpreter exits.
    collecting: Callable[[Any], int | None] = _collecting.get, here: Callable[[], int] = get_ident,
) -> None:  # fmt: skip
    if collecting(()) != here():
        forget(reference)
        return
    last = _Last()
    # The order matters: a tuple frees its last item first, and a weak reference calls its callback
    # only while the reference itself exists.
    _ending.append((weakref.ref(last, forget), last))
    del last
