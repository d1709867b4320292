"""Detects nested calls that are the same call, passed through several layers.

For example, an outer server passes a model's call on to a mounted server, and a client passes a
call on to a server in the same process. A guard that counts calls or requires approval handles only
the outermost of these calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from .. import Ask, Block, HookContext
from .._approval.inner import OWN_CALL, is_behind, question_in_layer, stream_inside
from ._call import tool_of
from ._canonical import digest
from ._parts import PLAIN
from ._ready import ReadyGuard, live


class Frame:
    """A call as a single guard saw it.

    Attributes:
        guard: the guard.
        call_id: the id of the call.
        sender: the identity of the call's sender.
        name: the name of the called tool.
        session: the session of the call.
        content: the arguments, if the guard counted the call or required approval: a digest, or a
            copy from which the digest is computed later.
        asked: the guard's question, the digest of the baggage for which an answer is valid, and the
            other subjects of the question.
        inner: the nested call inside this call, if any.
        is_counted: whether the guard has counted an attempt that has not started yet. The guard may
            be called again before that, after a person has approved the call.
        is_running: whether the body of the call is running.
        above: the frame that was current when the body started.
        outer: the enclosing call, if this call is nested.
    """

    __slots__ = ("above", "asked", "call_id", "content", "guard", "inner", "is_counted",
                 "is_running", "name", "outer", "sender", "session")  # fmt: skip

    def __init__(self, guard: object, ctx: HookContext) -> None:
        self.guard, self.call_id, self.sender = guard, ctx.call_id, id(ctx.sender)
        self.session = ctx.baggage.get("session")
        self.name: Any = None
        self.content: Content = None
        self.asked: tuple[Ask, bytes | None, object] | None = None
        self.inner: dict[str, tuple[object, int]] = _NONE_YET
        self.is_counted = self.is_running = False
        self.above: Frame | None = None
        self.outer: Frame | None = None


_NONE_YET: Final[Any] = MappingProxyType({})

Content = bytes | dict[str, Any] | None

_CURRENT: Final[ContextVar[Frame | None]] = ContextVar("hookbus_guards_frame", default=None)


class Outermost:
    """Detects, for one guard, nested calls that are the same call, passed through another layer.

    A call is nested if the nearest call around it that the guard checked was counted, is running,
    and has the same arguments in canonical JSON and the same tool. The outer name may have a
    prefix, such as `bank_pay` around `pay`. Each attempt has one nested call. A call to the same
    tool of the same sender is a recursive call, and counts.

    Args:
        guard: the guard. An `around` receiver is added to its hooks.
        hooks: additional hooks whose calls may enclose other calls.

    Attributes:
        running: the frames whose bodies are running, if `hooks` are passed.
    """

    def __init__(self, guard: ReadyGuard, *hooks: str) -> None:
        self.running: set[Frame] | None = set() if hooks else None
        guard.on("around", self._around_of(), priority=-1e6)
        for hook in hooks:
            guard.on("around", self._around_of(), hook, priority=-1e6)

    def takes(
        self, ctx: HookContext, *, again: bool = False, call: tuple[Any, Any] | None = None
    ) -> bool:
        """Count a call. Return False if the call is nested, or was already counted before its
        approval.

        Args:
            ctx: the context of the call, in the phase `pre`.
            again: whether a nested call remains nested when the guard checks the call again.
                Otherwise, each attempt after the first counts.
            call: the tool and its arguments. If it is None, they are read from `ctx`.
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
        first = outer.inner.setdefault("first", mine)  # atomic: exactly one of two threads is first
        if first is not mine and not (again and first[1] == frame.call_id):
            return True
        frame.outer = outer
        return False

    def apply(
        self, ctx: HookContext, answer: Block | Ask | None, *, about: object = None
    ) -> Block | Ask | None:
        """Return the guard's answer, or None if a nested call needs no approval of its own.

        A guard must pass every answer with which the call may run through this method. A call for
        which the guard requires approval is counted. Calls inside any other call are not nested
        calls.

        A nested call needs no approval if the guard asked the same question about the enclosing
        call, for the same baggage. A counted call needs its own approval. If only the question or
        the baggage differs, the approval of the enclosing call decides.

        Args:
            ctx: the context of the call, in the phase `pre`.
            answer: the answer.
            about: the other subjects of the question. A nested call with other subjects needs its
                own approval.
        """
        if not isinstance(answer, Ask):
            self._frame(ctx).content = None
            return answer
        return answer if self._must_ask(ctx, answer, about) else None

    def _must_ask(self, ctx: HookContext, ask: Ask, about: object) -> bool:
        is_taken, frame = self.takes(ctx, again=True), self._frame(ctx)
        baggage, bind = dict(ctx.baggage), ask.bind
        bound = baggage if bind is None else {name: baggage.get(name) for name in bind}
        frame.asked = ask, digest(bound), about
        before = None if frame.outer is None else frame.outer.asked
        is_own = is_taken or before is None or before[2] != about
        if is_own:
            ctx.state[OWN_CALL] = True
        return is_own or not _is_same_question(frame)

    def around(self, ctx: HookContext) -> Frame | None:
        """Return the nearest enclosing call that the guard checked and that is still running."""
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
            # For a stream, `call_next` is wrapped.
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
    """Tracks the body of a call while it runs. For a stream, this is the time between two items."""

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


def _is_same_question(frame: Frame) -> bool:
    """Return whether the guard asked the same question about the enclosing call, for the same
    baggage."""
    outer = frame.outer
    if outer is None or outer.asked is None or frame.asked is None:
        return False
    (before, was_bound, _), (ask, bound, _) = outer.asked, frame.asked
    questions = (question_in_layer(each, outer.name, frame.name) for each in (before, ask))
    return bound is not None and bound == was_bound and len(set(questions)) == 1


async def _run_async(body: _Body, call_next: Callable[..., Any]) -> Any:
    with body:
        return await call_next()


def _content_of(arguments: Any) -> Content:
    """Return a copy of the current arguments if copying is quick, and otherwise their digest."""
    if type(arguments) is dict and all(type(each) in PLAIN for each in arguments.values()):
        return arguments.copy()
    return digest(arguments)


def _are_equal(frame: Frame, content: Content) -> bool:
    """Return whether the arguments of a call and this content are equal as canonical JSON."""
    if isinstance(frame.content, dict):
        frame.content = digest(frame.content)
    if frame.content is None or content is None:
        return False
    return frame.content == (digest(content) if isinstance(content, dict) else content)
