"""Calls that are made inside an equal one: the same call, on its way through several layers.

A server that is mounted in another, or a client whose server is in the same process, hands one call
of a model on. A guard that counts or asks takes the outermost of these calls only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from .. import HookContext
from .._calls.inner import OWN_CALL, is_behind, stream_inside
from ._call import tool_of
from ._canonical import digest
from ._parts import PLAIN
from ._ready import ReadyGuard, live


class Frame:
    """One call as one guard took it.

    Attributes:
        guard: whose frame it is.
        call_id: the call.
        sender: the identity of its sender, and `name` its tool.
        session: the session it belongs to.
        content: its arguments, if the guard took it: counted it, or asked about it; a digest, or a
            copy of which that has yet to be made.
        inner: the call that was found inside it; there is one at most.
        is_counted: whether the guard took the attempt that has not begun yet: it may be called
            again before that, once a person has approved the call.
        is_running: whether its body runs.
        above: the frame that was the current one when its body began.
        outer: the equal call around it, where it is an inner one.
    """

    __slots__ = ("above", "call_id", "content", "guard", "inner", "is_counted", "is_running",
                 "name", "outer", "sender", "session")  # fmt: skip

    def __init__(self, guard: object, ctx: HookContext) -> None:
        self.guard, self.call_id, self.sender = guard, ctx.call_id, id(ctx.sender)
        self.session = ctx.baggage.get("session")
        self.name: Any = None
        self.content: Content = None
        self.inner: dict[str, tuple[object, int]] = _NONE_YET
        self.is_counted = self.is_running = False
        self.above: Frame | None = None
        self.outer: Frame | None = None


_NONE_YET: Final[Any] = MappingProxyType({})

Content = bytes | dict[str, Any] | None

_CURRENT: Final[ContextVar[Frame | None]] = ContextVar("hookbus_guards_frame", default=None)


class Outermost:
    """Knows for one guard which calls are made inside an equal one.

    A call is inner if the nearest call around it that the guard judged was taken, runs, and has the
    same arguments in canonical JSON and the same tool, perhaps behind a prefix, such as `bank_pay`
    around `pay`. There is one inner call for each attempt. The same tool of the same sender is a
    recursion, which counts.

    Args:
        guard: the guard; its hooks get an `around`.
        hooks: further hooks whose calls are around others.

    Attributes:
        running: the frames whose bodies run, where there are further hooks.
    """

    def __init__(self, guard: ReadyGuard, *hooks: str) -> None:
        self.running: set[Frame] | None = set() if hooks else None
        guard.on("around", self._around_of(), priority=-1e6)
        for hook in hooks:
            guard.on("around", self._around_of(), hook, priority=-1e6)

    def takes(
        self, ctx: HookContext, *, again: bool = False, call: tuple[Any, Any] | None = None
    ) -> bool:
        """Take a call, or tell that it is an inner one, or was taken before a person approved it.

        Args:
            ctx: the call, in `pre`.
            again: whether an inner call is still the same one when the guard judges it again; else
                each attempt of it after the first is taken.
            call: what is called, and with what; None is the tool and its arguments.
        """
        frame, (name, arguments) = self._frame(ctx), call or tool_of(ctx)
        content = _content_of(arguments)
        if frame.is_counted and not again and name == frame.name and _are_equal(frame, content):
            return False
        frame.is_counted = True
        frame.name, frame.content, frame.inner, frame.outer = name, content, {}, None
        outer = self.around(ctx)
        if outer is None or not self._is_inner(outer, frame):
            return True
        mine = object(), frame.call_id
        first = outer.inner.setdefault("first", mine)  # one step: of two threads one is the first
        if first is not mine and not (again and first[1] == frame.call_id):
            return True
        frame.outer = outer
        return False

    def asks(self, ctx: HookContext) -> bool:
        """Take a call that the guard asks about, or tell that it is an inner one, which is still
        the same one when the guard judges it again. What is taken has an answer of its own.
        """
        is_taken = self.takes(ctx, again=True)
        if is_taken:
            ctx.state[OWN_CALL] = True
        return is_taken

    def leaves(self, ctx: HookContext) -> None:
        """Note that the guard let a call through without taking it: nothing inside it is inner."""
        self._frame(ctx).content = None

    def around(self, ctx: HookContext) -> Frame | None:
        """Return the nearest call around this one that the guard judged and that still runs."""
        frame = _CURRENT.get()
        while frame is not None and (frame.guard is not self or frame.call_id == ctx.call_id):
            frame = frame.above
        return frame if frame is not None and frame.is_running else None

    def _is_inner(self, outer: Frame, frame: Frame) -> bool:
        if not is_behind(outer.name, frame.name) or not _are_equal(outer, frame.content):
            return False
        each: Frame | None = outer
        while each is not None:
            if each.sender == frame.sender and each.name == frame.name:
                return False
            each = each.outer
        return True

    def _frame(self, ctx: HookContext) -> Frame:
        frame: Frame | None = ctx.state.get(self)
        return frame if frame is not None else ctx.state.setdefault(self, Frame(self, ctx))

    def _around_of(self) -> Callable[..., Any]:
        def around(sender: Any, call_next: Callable[..., Any], ctx: HookContext) -> Any:
            # It is wrapped where it is that of a stream.
            flags = getattr(call_next, "__wrapped__", call_next).__code__.co_flags
            frame, running = self._frame(ctx), self.running
            if flags & inspect.CO_COROUTINE:
                return _run_async(_Body(frame, running), call_next)
            if flags & (inspect.CO_ASYNC_GENERATOR | inspect.CO_GENERATOR):
                enter, is_async = partial(_Body, frame, running), flags & inspect.CO_ASYNC_GENERATOR
                return stream_inside(enter, call_next(), is_async=bool(is_async))
            with _Body(frame, running):
                return call_next()

        return live(around)


class _Body:
    """The body of a call while it runs, for a stream from item to item."""

    __slots__ = ("_frame", "_running", "_token")

    def __init__(self, frame: Frame, running: set[Frame] | None) -> None:
        self._frame, self._running = frame, running

    def __enter__(self) -> None:
        frame = self._frame
        frame.above, frame.is_running, frame.is_counted = _CURRENT.get(), True, False
        if self._running is not None:
            self._running.add(frame)
        self._token = _CURRENT.set(frame)

    def __exit__(self, *_: object) -> None:
        self._frame.is_running = False
        if self._running is not None:
            self._running.discard(self._frame)
        _CURRENT.reset(self._token)


async def _run_async(body: _Body, call_next: Callable[..., Any]) -> Any:
    with body:
        return await call_next()


def _content_of(arguments: Any) -> Content:
    """Return the arguments as they are now: a copy where that is quick, and mostly it is all that
    is needed, else a digest.
    """
    if type(arguments) is dict and all(type(each) in PLAIN for each in arguments.values()):
        return arguments.copy()
    return digest(arguments)


def _are_equal(frame: Frame, content: Content) -> bool:
    """Tell whether the arguments of a call are these, in canonical JSON."""
    if isinstance(frame.content, dict):
        frame.content = digest(frame.content)
    if frame.content is None or content is None:
        return False
    return frame.content == (digest(content) if isinstance(content, dict) else content)
