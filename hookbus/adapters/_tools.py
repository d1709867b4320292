"""Describes the tool calls of frameworks, and runs their hooks."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import attrs

from hookbus import Bus, HookBlocked

from ._cancelled import stop_if_cancelled
from ._patches import Patches
from ._pauses import Instead, Pause, approve_by
from ._vocabulary import INSIDE, Attempt, Refused, Vocabulary, depth_of, refusal

if TYPE_CHECKING:
    from hookbus.approvals import Store

_NONE: Final = object()


@attrs.frozen(eq=False)
class ToolCall:
    """One call to a tool, as its receivers see it.

    Attributes:
        name: the name that the model used.
        arguments: the parsed arguments.
        call_id: the framework's identifier of the call, if there is one.
        kind: function, mcp, agent, handoff, output, builtin, or unknown if there is no such tool.
        tool: the sender: the framework's tool object, or the object that makes the call.
        caller: the agent that makes the call, if it is known.
        context: data the adapter needs for results and denials; receivers do not see it.
    """

    name: str
    arguments: dict[str, Any]
    call_id: str | None = None
    kind: str = "function"
    tool: Any = None
    caller: Any = None
    context: Any = None

    @property
    def hook_args(self) -> tuple[Any, ...]:
        """The arguments of the hook."""
        return (self.name, self.arguments, self.call_id, self.kind, self.tool, self.caller)


def note_schema(sender: Any, name: str, schema: Any, description: str | None = None) -> None:
    """Record the JSON schema and description of a tool whose calls have another sender, such as a
    session. Guards look up the tool on this sender."""
    sender.__dict__.setdefault("__hookbus_schemas__", {})[name] = schema
    sender.__dict__.setdefault("__hookbus_descriptions__", {})[name] = description


class Refusal(NamedTuple):
    """The argument of a framework's `refused` function.

    Attributes:
        text: the text for a model.
        blocked: the exception to raise if the caller is a program.
        call: the blocked call.
    """

    text: str
    blocked: HookBlocked
    call: ToolCall


def _raise(refused: Refusal) -> Any:
    raise refused.blocked


def _same(value: Any) -> Any:
    return value


class Results(NamedTuple):
    """Converts between a framework's tool results and the values that receivers see.

    Attributes:
        shown: takes the framework's result, and returns the text or plain data that receivers see.
        packed: takes the call, the framework's result (None if the tool did not run) and its
            replacement. It returns a new result for the framework, in which no copy of the old
            value remains.
        refused: takes a `Refusal`, and returns the framework's result for the model, or raises.
    """

    shown: Callable[[Any], Any] = _same
    packed: Callable[[ToolCall, Any, Any], Any] = lambda call, raw, value: value
    refused: Callable[[Refusal], Any] = _raise


def _pause(paused: BaseException) -> Any:
    if isinstance(paused, Instead):
        return paused.result
    raise paused


AS_IT_IS: Final = Results()


class _UnderWay(Attempt):
    """A tool call in progress.

    Attributes:
        layer: the layer of the framework at which the call currently is.
        arguments: a copy of the arguments of the tool's last run.
        raw: the framework's result.
        value: the result as receivers saw it.
        pause: how the framework pauses the run, if it can.
        paused: the id of the pending request for approval, and the exception that pauses the run.
    """

    raw: Any = None
    value: Any = _NONE
    pause: Pause | None = None
    paused: tuple[str, BaseException] | None = None

    def __init__(self, bus: Bus, call: ToolCall, body: Callable[..., Any], layer: int) -> None:
        super().__init__(body)
        self.bus, self.call, self.layer, self.arguments = bus, call, layer, call.arguments

    def covers(self, bus: Bus, call: ToolCall, layer: int) -> bool:
        """Return whether a call is the same call at a deeper layer of the framework. If so, its
        hooks have already run.

        The same tool with the same arguments at the same layer is a recursive call, whose hooks
        have not run. On another bus, the hooks have not run either.
        """
        if bus is not self.bus or call.tool is not self.call.tool or layer <= self.layer:
            return False
        try:
            is_same = bool(call.arguments == self.arguments)
        except Exception:
            return False
        if is_same:
            self.layer = layer
        return is_same


Read = Callable[..., tuple[ToolCall, Callable[[dict[str, Any]], Any]]]


class Gate:
    """The gate that every tool call of a framework passes through.

    Args:
        patches: the patches of the adapter.
        bus: the bus to declare the hooks on.
        results: converts the framework's tool results.
        words: the common hooks that the framework calls.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        approver: the store for requests for approval, while their runs are paused; None means that
            the bus's own approver decides.
        pause: how the framework pauses a run.
        passes: exceptions that return control to the framework; they are not failures.

    Attributes:
        say: the function given as `say=`.
        pause: how the framework pauses a run, if it has an approver.
    """

    def __init__(
        self, patches: Patches, bus: Bus, results: Results = AS_IT_IS, *,
        words: tuple[str, ...] = ("tool_call",), say: Callable[[HookBlocked], str] = refusal,
        approver: Store | None = None, pause: Pause | None = None,
        passes: tuple[type[BaseException], ...] = (),
    ) -> None:  # fmt: skip
        self.patches, self._bus, self._results, self.say = patches, bus, results, say
        patches.bus, self.pause = bus, None if approver is None else pause
        if approver is not None:
            approve_by(patches, bus, approver)
        self.vocabulary = Vocabulary(patches, bus, words, passes)

    def run(self, call: ToolCall, body: Callable[[dict[str, Any]], Any], layer: int = 0) -> Any:
        """Make a sync call to a tool. `body` runs the tool with the arguments of `call`, including
        changes by receivers. The hooks run only once, at the first `layer` of the framework."""
        if self._passes(call, layer):
            return body(call.arguments)
        stop_if_cancelled()

        def attempt(arguments: dict[str, Any]) -> Any:
            under_way.arguments, under_way.layer = dict(arguments), layer
            stop_if_cancelled()
            under_way.raw = body(arguments)
            under_way.value = self._results.shown(under_way.raw)
            return under_way.value

        under_way = _UnderWay(self._bus, call, attempt, layer)
        under_way.pause = self.pause
        value = self.vocabulary.run("tool_call", under_way, *call.hook_args)
        return self._told(under_way, value)

    async def run_async(
        self, call: ToolCall, body: Callable[[dict[str, Any]], Any], layer: int = 0
    ) -> Any:
        """Make an async call to a tool, with `call`, `body` and `layer` as in `run`."""
        if self._passes(call, layer):
            return await body(call.arguments)

        async def attempt(arguments: dict[str, Any]) -> Any:
            under_way.arguments, under_way.layer = dict(arguments), layer
            under_way.raw = await body(arguments)
            under_way.value = self._results.shown(under_way.raw)
            return under_way.value

        under_way = _UnderWay(self._bus, call, attempt, layer)
        under_way.pause = self.pause
        value = await self.vocabulary.run_async("tool_call", under_way, *call.hook_args)
        return self._told(under_way, value)

    def _passes(self, call: ToolCall, layer: int) -> bool:
        outer = INSIDE.get()
        is_asked = isinstance(outer, _UnderWay) and outer.covers(self._bus, call, layer)
        return is_asked or not self.patches.is_live

    def _told(self, under_way: _UnderWay, value: Any) -> Any:
        """Return the framework's result for the outcome of the hooked call."""
        if isinstance(value, Refused):
            blocked = value.blocked
            if under_way.paused is not None and under_way.paused[0] == getattr(blocked, "id", None):
                return _pause(under_way.paused[1])
            return self._results.refused(Refusal(self.say(blocked), blocked, under_way.call))
        if value is under_way.value:
            return under_way.raw
        return self._results.packed(under_way.call, under_way.raw, value)

    def seam(
        self, cls: Any, name: str, read: Read, *, layer: int = 0, stream: bool | None = None
    ) -> None:
        """Route a method of a framework's tools through this gate, including overrides in existing
        and future subclasses.

        Args:
            cls: the class.
            name: the method.
            read: takes the unbound method and its arguments, and returns the call and its body.
            layer: the layer of the framework, if a call passes through several such methods.
            stream: whether the method yields parts and then its result as the last item.
        """
        self.patches.wrap(cls, name, functools.partial(self._seam, read, layer, stream))

    def seam_function(
        self, home: ModuleType, name: str, read: Read, *, layer: int = 0,
        stream: bool | None = None,
    ) -> None:  # fmt: skip
        """Route the function `name` of the module `home` through this gate, in every module that
        imported the function. `read`, `layer` and `stream` have the same meaning as in `seam`."""
        make = functools.partial(self._seam, read, layer, stream, None)
        self.patches.wrap_function(home, name, make)

    def _seam(
        self, read: Read, layer: int, stream: bool | None, owner: type | None, stock: Any
    ) -> Any:
        def depth(args: tuple[Any, ...]) -> int:
            # An override that calls its parent's goes deeper; a tool that calls itself does not.
            return layer * 1000 + (depth_of(owner, args[0]) if owner is not None else 0)

        seam: Any
        is_async = inspect.iscoroutinefunction(stock)
        if inspect.isasyncgenfunction(stock) if stream is None else stream:
            seam, is_async = self._streamed_seam(read, depth, stock), True
        elif is_async:

            @functools.wraps(stock)
            async def seam_async(*args: Any, **kwargs: Any) -> Any:
                call, body = read(stock, *args, **kwargs)
                return await self.run_async(call, body, depth(args))

            seam = seam_async
        else:

            @functools.wraps(stock)
            def seam_plain(*args: Any, **kwargs: Any) -> Any:
                call, body = read(stock, *args, **kwargs)
                return self.run(call, body, depth(args))

            seam = seam_plain
        seam.__hookable__ = self.vocabulary.hookable("tool_call", is_async=is_async)
        return seam

    def _streamed_seam(self, read: Read, depth: Callable[[Any], int], stock: Any) -> Any:
        """Hook a tool that yields parts and then its result, and hold back all parts until then."""

        @functools.wraps(stock)
        async def seam(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
            items: list[Any] = []
            call, begin = read(stock, *args, **kwargs)

            async def body(arguments: dict[str, Any]) -> Any:
                items.clear()
                async with aclosing(begin(arguments)) as stream:
                    async for item in stream:
                        items.append(item)
                return items[-1] if items else None

            result = await self.run_async(call, body, depth(args))
            if items and result is items[-1]:
                for item in items[:-1]:
                    yield item
            yield result

        return seam
