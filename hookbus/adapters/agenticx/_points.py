"""Declares the points at which AgenticX calls its hooks as hooks of hookbus. AgenticX's own hooks
become `pre` receivers, in AgenticX's order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from hookbus import Block, Bus, Connection, HookError, ReceiverError, instrument

from .._own_hooks import Hook, Mirror, OwnHook, title_of
from .._patches import Patches

Ask = Callable[[Hook, Mapping[str, Any]], Any]
"""Calls one hook with the current arguments. Returns an answer that hookbus understands, or an
awaitable that returns the answer."""


class Own(NamedTuple):
    """One of AgenticX's own hooks, and the function that calls it."""

    hook: Hook
    ask: Ask


class Call:
    """One invocation of AgenticX's hooks, as receivers see it in their argument `call`.

    Attributes:
        context: the object that AgenticX passes to its hooks: a context, an event, or the session
            of a runtime.
        value: the value that the hooks check, including changes by receivers.
        is_reached: whether the call reached its end, because no receiver stopped the call.
        failure: the last exception that one of AgenticX's own hooks raised.
        block: the `Block` that one of AgenticX's own hooks returned.
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
        """Set the name of the tool, and return this call."""
        self._tool_name = name
        return self

    def ask_own(self, own: OwnHook, kwargs: Mapping[str, Any]) -> Any:
        """Call one of AgenticX's own hooks. Skip the hook if it was added or removed since the call
        began."""
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
        """Store the final value, after all receivers have run."""
        if tool_name != self._tool_name:
            raise HookError(
                f"a receiver changed the name of the tool {self._tool_name} to {tool_name!r}; the "
                "name of a tool cannot be changed"
            )
        self.is_reached, self.value = True, value


class Points:
    """Calls AgenticX's own hooks and all other receivers.

    Args:
        bus: the bus to declare the hooks on.
        strict: whether a failing before-hook blocks the call.
    """

    def __init__(self, bus: Bus, strict: bool) -> None:
        self.bus, self.strict = bus, strict
        self.registry = OwnHooks(bus)

    def add(
        self, cls: type, *functions: Callable[..., Any], patches: Patches | None = None
    ) -> None:
        """Add functions to a class as hookable methods."""
        for function in functions:
            name = function.__name__
            (setattr if patches is None else patches.replace)(cls, name, function)
            undo = instrument(cls, {name: name.removesuffix("_async")}, bus=self.bus)
            if patches is not None:
                patches.on_restore(undo)

    def ask(
        self, owner: Any, point: str, call: Call, on_error: str | None = None, **arguments: Any
    ) -> Any:
        """Call all receivers of one hook point. Return the answer of the receiver that replaced the
        call, or None if there was none.

        Args:
            owner: the sender.
            point: the name of the sender's method, which is also the name of the hook. The async
                method has the suffix `_async`.
            call: the invocation, with AgenticX's own hooks to call.
            on_error: what to do if one of these hooks fails.
            arguments: the arguments of the hook point.

        Raises:
            HookBlocked: if a receiver blocked the call.
        """
        self._connect(owner, point, call, on_error)
        return getattr(owner, point)(**arguments, call=call)

    async def ask_async(
        self, owner: Any, point: str, call: Call, on_error: str | None = None, **arguments: Any
    ) -> Any:
        """Like `ask`, but on an event loop. In this case, an exception of one of AgenticX's own
        hooks may reach the caller unchanged (`on_error="raise"`)."""
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
        """The value of `on_error` for hooks that may block a call."""
        return "block" if self.strict else None


class AskedHook(OwnHook):
    """The receiver for one of AgenticX's own hooks."""

    def __call__(self, owner: Any, call: Any, ctx: Any) -> Any:
        return call.ask_own(self, ctx.kwargs)


class AsyncHook(OwnHook):
    """Like `OwnHook`, but for hooks that are called only on an event loop. Such receivers are
    called faster, because they are known to be async.
    """

    async def __call__(self, owner: Any, call: Any, ctx: Any) -> Any:
        answer = call.ask_own(self, ctx.kwargs)
        return await answer if inspect.isawaitable(answer) else answer


class OwnHooks(Mirror[OwnHook]):
    """The connections of AgenticX's own hooks."""

    def __init__(self, bus: Bus) -> None:
        super().__init__()
        self._bus = bus

    def sync(self, owner: Any, signal: str, hooks: Sequence[Hook], **options: Any) -> None:
        """Connect new hooks in the list, and disconnect hooks that the list no longer contains."""
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
    """Return the hook for which a handler of AgenticX's bus was made, or the handler itself."""
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
