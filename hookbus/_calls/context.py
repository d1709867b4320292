"""The values that travel: the context a receiver may ask for, and the three verdicts it may return."""

from __future__ import annotations

import copy
from collections.abc import ItemsView, Iterator, Mapping
from contextvars import ContextVar
from itertools import count
from typing import Any, Final, NoReturn

import attrs


class _Nothing:
    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final[Any] = _Nothing()
"""Marks "not given" where None is a value like any other."""


@attrs.frozen
class Block:
    """A receiver's verdict: this call must not run, or its result must not leave.

    Attributes:
        reason: why; the caller, and so perhaps a model, reads it.
        result: what the caller gets instead of `HookBlocked`; the call stays blocked.
    """

    reason: str
    result: Any = attrs.field(default=NOTHING, kw_only=True)


@attrs.frozen
class Replace:
    """A receiver's verdict: this is the result. In `pre` the method is not run, in `error` the call is rescued.

    For a stream, `pre` and `error` take an iterable of items.
    """

    result: Any


@attrs.frozen
class Drop:
    """An `item` receiver's verdict: this item of the stream does not reach the consumer."""


VERDICTS: Final = (Block, Replace, Drop)


class ReadOnly(Mapping[str, Any]):
    """The arguments of a call as a receiver sees them that may not change them.

    A write raises TypeError and is remembered: it is the receiver's failure even if it swallows the exception.
    """

    __slots__ = ("_bindings", "tampered")

    def __init__(self, bindings: Mapping[str, Any]) -> None:
        self._bindings = bindings
        self.tampered = False

    def __getitem__(self, name: str) -> Any:
        return self._bindings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._bindings)

    def __len__(self) -> int:
        return len(self._bindings)

    def items(self) -> ItemsView[str, Any]:
        return self._bindings.items()

    def __repr__(self) -> str:
        return f"ReadOnly({', '.join(self._bindings)})"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        self.tampered = True
        raise TypeError(
            "these arguments are read-only: a modifier of `pre` may change them, an around passes call_next(name=value)"
        )

    __setitem__ = __delitem__ = __ior__ = pop = popitem = clear = update = setdefault = _refuse


@attrs.define(on_setattr=attrs.setters.frozen)
class HookContext:
    """One call as one receiver sees it; ask for it by a parameter called `ctx`.

    Attributes:
        hook: the name of the hook.
        sender: the object whose method runs.
        kwargs: every argument by its parameter's name. A modifier of `pre` may assign `ctx.kwargs[name]`; for every other
            receiver a write raises TypeError and is that receiver's failure.
        result: the result so far, where the phase has one, else None.
        error: the exception, in `error` and `finally`, else None.
        outcome: how the call ended, in `finally`, else None.
        call_id: the number of the call, unique in this process.
        state: a dict of this call's own, shared by its receivers.
    """

    hook: str
    sender: Any
    kwargs: Any
    result: Any
    error: BaseException | None
    outcome: str | None
    call_id: int
    state: dict[str, Any]

    def snapshot(self) -> HookContext:
        """Return a context of its own whose `kwargs` and `result` are deep copies; a value that refuses copying raises."""
        return attrs.evolve(self, kwargs=copy.deepcopy(dict(self.kwargs)), result=copy.deepcopy(self.result))


next_call_id: Final = count(1).__next__


Frame = list[Any]
"""One live call, seen from inside: its sender, the family of its hook, the frame around it, its number if it is observed.

`super()` and nested calls look for it. It is current only while the call's own code is being driven, and it ends with the
call: a task or a stream consumer that outlives the call finds an empty frame and passes it by. It is a plain list because
nothing else is made as fast.
"""


def end_frame(frame: Frame) -> None:
    """Empty a frame, whose call is over."""
    frame[0] = frame[1] = frame[3] = None


CURRENT: ContextVar[Frame | None] = ContextVar("hookbus_frame", default=None)


def live_frames() -> Iterator[Frame]:
    """Yield the live calls around the running code, innermost first."""
    frame = CURRENT.get()
    while frame is not None:
        if frame[1] is not None or frame[3] is not None:
            yield frame
        frame = frame[2]


def enclosing_call() -> int | None:
    """Return the number of the innermost observed call around the running code, or None."""
    return next((frame[3] for frame in live_frames() if frame[3] is not None), None)
