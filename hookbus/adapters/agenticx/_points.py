"""The points at which AgenticX asks its hooks, as hooks of hookbus: its own hooks are receivers of
`pre`, in its own order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from hookbus import Block, Bus, Connection, HookError, ReceiverError, instrument

from .._own_hooks import Hook, Mirror, OwnHook, title_of
from .._patches import Patches

Ask = Callable[[Hook, Mapping[str, Any]], Any]
"""Asks one hook, given the arguments as they are now; returns what hookbus understands, or an
awaitable of it."""


class Own(NamedTuple):
    """One of AgenticX's own hooks, and how it is asked."""

    hook: Hook
    ask: Ask


class Call:
    """One time that AgenticX asks its hooks, as receivers see it: they ask for `call`.

    Attributes:
        context: what AgenticX gives its hooks: a context, an event, or the session of a runtime.
        value: the value that the hooks check, as the receivers have left it.
        is_reached: whether no hook stopped it.
        failure: the exception of one of AgenticX's own hooks, the last there was.
        block: what one of AgenticX's own hooks said to stop it.
    """

    def __init__(self, context: Any, own: Sequence[Own]) -> None:
        self.context, self.hooks = context, [each.hook for each in own]
        self._asks = [each.ask for each in own]
        self.value: Any = None
        self.is_reached = False
        self.failure: BaseException | None = None
        self.block: Block | None = None
        self._tool_name: str | None = None

    def __repr__(self) -> str:
        return f"<call with {type(self.context).__name__}>"

    def of_tool(self, name: str) -> Call:
        """Say which tool it is about, and return this call."""
        self._tool_name = name
        return self

    def ask_own(self, own: OwnHook, kwargs: Mapping[str, Any]) -> Any:
        """Ask one of AgenticX's own hooks. One that came or went since the call began is left
        out."""
        index = self._place_of(own)
        if index is None:
            return None
        try:
            answer = self._asks[index](self.hooks[index], kwargs)
        except BaseException as error:
            self.failure = error
            raise
        return self._settled(answer) if inspect.isawaitable(answer) else self._noted(answer)

    def _place_of(self, own: OwnHook) -> int | None:
        if own.index < len(self.hooks) and own.is_same(self.hooks[own.index]) is not None:
            return own.index
        return next(
            (index for index, hook in enumerate(self.hooks) if own.is_same(hook) is not None), None
        )

    async def _settled(self, answer: Any) -> Any:
        try:
            return self._noted(await answer)
        except BaseException as error:
            self.failure = error
            raise

    def _noted(self, answer: Any) -> Any:
        if isinstance(answer, Block):
            self.block = answer
        return answer

    def reach(self, value: Any, tool_name: str | None = None) -> None:
        """Take what is asked about, after all receivers."""
        if tool_name != self._tool_name:
            raise HookError(
                f"{self._tool_name} cannot become {tool_name!r}: the name of a tool cannot be "
                "changed"
            )
        self.is_reached, self.value = True, value


class Points:
    """Asks AgenticX's own hooks, and whoever else listens.

    Args:
        bus: the bus whose signals are emitted.
        strict: whether a hook that is asked before something, and fails, blocks it.
    """

    def __init__(self, bus: Bus, strict: bool) -> None:
        self.bus, self.strict = bus, strict
        self.registry = OwnHooks(bus)

    def add(
        self, cls: type, *functions: Callable[..., Any], patches: Patches | None = None
    ) -> None:
        """Make functions methods of a class, and hooks."""
        for function in functions:
            name = function.__name__
            (setattr if patches is None else patches.replace)(cls, name, function)
            undo = instrument(cls, {name: name.removesuffix("_async")}, bus=self.bus)
            if patches is not None:
                patches.on_restore(undo)

    def ask(
        self, owner: Any, point: str, call: Call, on_error: str | None = None, **arguments: Any
    ) -> Any:
        """Ask everybody at one point, and return what a receiver answered in place of it.

        Args:
            owner: the sender.
            point: the name of its method, which is that of the hook; one for event loops ends with
                `_async`.
            call: who is asked of AgenticX's own hooks.
            on_error: what is done when one of them fails.
            arguments: of the point.

        Raises:
            HookBlocked: if a hook stopped it.
        """
        self._connect(owner, point, call, on_error)
        return getattr(owner, point)(**arguments, call=call)

    async def ask_async(
        self, owner: Any, point: str, call: Call, on_error: str | None = None, **arguments: Any
    ) -> Any:
        """The same on an event loop. What one of AgenticX's own hooks raises there may go out as it
        is (`on_error="raise"`)."""
        self._connect(owner, point, call, on_error)
        try:
            return await getattr(owner, point)(**arguments, call=call)
        except ReceiverError as error:
            failure = call.failure
            if failure is None or error.__cause__ is not failure:
                raise
        raise failure

    def _connect(self, owner: Any, point: str, call: Call, on_error: str | None) -> None:
        self.registry.sync(
            owner, f"pre_{point.removesuffix('_async')}", call.hooks, on_error=on_error
        )

    @property
    def on_start_error(self) -> str | None:
        """What is done when a hook fails that may stop what is about to happen."""
        return "block" if self.strict else None


class AskedHook(OwnHook):
    """The receiver for one of AgenticX's own hooks."""

    def __call__(self, owner: Any, call: Any, ctx: Any) -> Any:
        return call.ask_own(self, ctx.kwargs)


class AsyncHook(OwnHook):
    """The same where only event loops ask: known to be async, it is asked faster."""

    async def __call__(self, owner: Any, call: Any, ctx: Any) -> Any:
        answer = call.ask_own(self, ctx.kwargs)
        return await answer if inspect.isawaitable(answer) else answer


class OwnHooks(Mirror[OwnHook]):
    """Which of AgenticX's own hooks are connected."""

    def __init__(self, bus: Bus) -> None:
        super().__init__()
        self._bus = bus

    def sync(self, owner: Any, signal: str, hooks: Sequence[Hook], **options: Any) -> None:
        """Connect the hooks that are in the list and are not connected, disconnect what is not in
        it any more."""
        is_async = inspect.iscoroutinefunction(
            getattr(type(owner), signal.removeprefix("pre_"), None)
        )

        def connect(index: int, hook: Hook) -> tuple[OwnHook, Connection]:
            own = (AsyncHook if is_async else AskedHook)(hook, index)
            name = title_of(hook_behind(hook))
            return own, self._bus.signal(signal).connected_to(own, owner, name=name, **options)

        marks = self.marks(owner, signal)
        if len(marks) != len(hooks) or not all(map(_is_of, marks, hooks)):
            self.follow(owner, signal, hooks, _is_of, connect)


def _is_of(own: OwnHook, hook: Hook) -> bool:
    return own.is_same(hook) is not None


def hook_behind(handler: Any) -> Any:
    """Return the hook that a handler of AgenticX's bus was made for, or the handler itself."""
    is_made = getattr(handler, "__module__", None) in (
        "agenticx.hooks.llm_hooks",
        "agenticx.hooks.tool_hooks",
    )
    code = getattr(handler, "__code__", None) if is_made else None
    is_wrapper = code is not None and code.co_name == "_handler" and code.co_freevars == ("hook",)
    return handler.__closure__[0].cell_contents if is_wrapper else handler


# -- the points themselves -------------------------------------------------------------------------


def llm_start(self: Any, messages: Any, call: Any) -> None:
    call.reach(messages)


def llm_end(self: Any, response: Any, call: Any) -> None:
    call.reach(response)


def tool_start(self: Any, tool_name: str, args: Any, call: Any) -> None:
    call.reach(args, tool_name)


def tool_end(self: Any, tool_name: str, output: Any, call: Any) -> None:
    call.reach(output, tool_name)


def hook_event(self: Any, key: str, event: Any, call: Any) -> None:
    call.reach(event)


async def hook_event_async(self: Any, key: str, event: Any, call: Any) -> None:
    call.reach(event)


async def llm_start_async(self: Any, messages: Any, call: Any) -> None:
    call.reach(messages)


async def llm_end_async(self: Any, response: Any, call: Any) -> None:
    call.reach(response)


async def tool_start_async(self: Any, tool_name: str, args: Any, call: Any) -> None:
    call.reach(args, tool_name)


async def tool_end_async(self: Any, tool_name: str, output: Any, call: Any) -> None:
    call.reach(output, tool_name)


SYNC_POINTS: Final = (llm_start, llm_end, tool_start, tool_end)
ASYNC_POINTS: Final = (llm_start_async, llm_end_async, tool_start_async, tool_end_async)
