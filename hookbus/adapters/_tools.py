"""Tool calls of frameworks as adapters describe them, and the gate made from that description."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
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
    """One call of a tool, as its receivers see it.

    Attributes:
        name: the name the model used.
        arguments: the parsed arguments.
        call_id: the framework's id of the call, if it has one.
        kind: function, mcp, agent, handoff, output, builtin, or unknown: there is no such tool.
        tool: the framework's tool object, which is the sender; without one, the object that
            carries the call.
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
    def told(self) -> tuple[Any, ...]:
        """The arguments of the hook."""
        return (self.name, self.arguments, self.call_id, self.kind, self.tool, self.caller)


def note_schema(sender: Any, name: str, schema: Any, description: str | None = None) -> None:
    """Record the JSON schema and description of a tool whose calls have another sender, such as a
    session: guards look up the tool there.
    """
    sender.__dict__.setdefault("__hookbus_schemas__", {})[name] = schema
    sender.__dict__.setdefault("__hookbus_descriptions__", {})[name] = description


class Refusal(NamedTuple):
    """The argument of a framework's `refused` function.

    Attributes:
        text: the text for a model.
        blocked: the exception with the receiver and the reason; for a program, raise this.
        call: the call that did not happen.
    """

    text: str
    blocked: HookBlocked
    call: ToolCall


def _raise(refused: Refusal) -> Any:
    raise refused.blocked


def _same(value: Any) -> Any:
    return value


def _put(call: ToolCall, raw: Any, value: Any) -> Any:
    return value


class Results(NamedTuple):
    """Converts between a framework's tool results and the values of receivers.

    Attributes:
        shown: from the framework's result, the text or plain data that receivers see.
        packed: from the call, the framework's result (None if the tool did not run) and the value
            that replaces it, returns the framework's new result, without a copy of the old one.
        refused: from a `Refusal`, the framework's answer for its model; or it raises.
    """

    shown: Callable[[Any], Any] = _same
    packed: Callable[[ToolCall, Any, Any], Any] = _put
    refused: Callable[[Refusal], Any] = _raise


def _pause(paused: BaseException) -> Any:
    if isinstance(paused, Instead):
        return paused.result
    raise paused


AS_IT_IS: Final = Results()


REST: Final = "*args"
"""The key of arguments that a tool has no names for."""

Spread = Callable[[dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]


def named(names: Iterable[str], args: tuple[Any, ...], kwargs: Any) -> tuple[Any, Spread]:
    """Return the arguments of a call by name, and a function that turns them, once changed, into
    the arguments of the call, with positional arguments in their places."""
    names = [*names]
    first, rest = names[: len(args)], args[len(names) :]
    given = {**dict(zip(first, args, strict=False)), **kwargs, **({REST: rest} if rest else {})}

    def spread(arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        by_name, by_place = dict(arguments), list[Any]()
        for name in first:
            if name not in by_name:
                return tuple(by_place), by_name
            by_place.append(by_name.pop(name))
        return (*by_place, *by_name.pop(REST, ())), by_name

    return given, spread


class _UnderWay(Attempt):
    """A tool call in progress.

    Attributes:
        layer: its current depth inside the framework.
        arguments: a copy of the arguments of the tool's last run.
        raw: the framework's result.
        value: the result as receivers saw it.
        pause: how its framework pauses the run, if it can.
        paused: the pending request for approval, and the exception raised meanwhile.
    """

    raw: Any = None
    value: Any = _NONE
    pause: Pause | None = None
    paused: tuple[str, BaseException] | None = None

    def __init__(self, bus: Bus, call: ToolCall, body: Callable[..., Any], layer: int) -> None:
        super().__init__(body)
        self.bus, self.call, self.layer, self.arguments = bus, call, layer, call.arguments

    def covers(self, bus: Bus, call: ToolCall, layer: int) -> bool:
        """Return whether a call is this same call deeper inside the framework: its hooks run once.

        The same tool with the same arguments at the same depth is another call: a recursion. The
        guards of another bus have not run.
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
        results: how the framework represents results.
        words: the framework's hooks of the vocabulary.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        approver: the store that is asked for approval while runs are paused; None leaves that to
            the bus.
        pause: how the framework pauses a run.
        passes: exceptions that return control to the framework; they are not failures.

    Attributes:
        say: the function given as `say=`.
    """

    def __init__(
        self, patches: Patches, bus: Bus, results: Results = AS_IT_IS, *,
        words: tuple[str, ...] = ("tool_call",), say: Callable[[HookBlocked], str] = refusal,
        approver: Store | None = None, pause: Pause | None = None,
        passes: tuple[type[BaseException], ...] = (),
    ) -> None:  # fmt: skip
        self.patches, self._bus, self._results, self.say = patches, bus, results, say
        patches.bus, self._pause = bus, None if approver is None else pause
        if approver is not None:
            approve_by(patches, bus, approver)
        self.vocabulary = Vocabulary(patches, bus, words, passes)

    def run(self, call: ToolCall, body: Callable[[dict[str, Any]], Any], layer: int = 0) -> Any:
        """Make a sync call of a tool; `body` runs it with the changed arguments."""
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
        under_way.pause = self._pause
        value = self.vocabulary.run("tool_call", under_way, *call.told)
        return self._told(under_way, value)

    async def run_async(
        self, call: ToolCall, body: Callable[[dict[str, Any]], Any], layer: int = 0
    ) -> Any:
        """Make an async call of a tool."""
        if self._passes(call, layer):
            return await body(call.arguments)

        async def attempt(arguments: dict[str, Any]) -> Any:
            under_way.arguments, under_way.layer = dict(arguments), layer
            under_way.raw = await body(arguments)
            under_way.value = self._results.shown(under_way.raw)
            return under_way.value

        under_way = _UnderWay(self._bus, call, attempt, layer)
        under_way.pause = self._pause
        value = await self.vocabulary.run_async("tool_call", under_way, *call.told)
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

    def seam(self, cls: Any, name: str, read: Read, *, layer: int = 0) -> None:
        """Route a method of a framework's tools through this gate, with its overrides in existing
        and future subclasses.

        Args:
            cls: the class.
            name: the method.
            read: returns the call and its body, from the unbound stock method and its arguments.
            layer: the depth inside the framework, if a call passes through several such methods.
        """
        self.patches.wrap(cls, name, functools.partial(self._seam, read, layer))

    def _seam(self, read: Read, layer: int, owner: type, stock: Any) -> Any:
        def depth(tool: Any) -> int:
            # An override that calls its parent's goes deeper; a tool that calls itself does not.
            return layer * 1000 + depth_of(owner, tool)

        if inspect.iscoroutinefunction(stock):

            @functools.wraps(stock)
            async def seam_async(tool: Any, /, *args: Any, **kwargs: Any) -> Any:
                call, body = read(stock, tool, *args, **kwargs)
                return await self.run_async(call, body, depth(tool))

            seam: Any = seam_async
        else:

            @functools.wraps(stock)
            def seam_plain(tool: Any, /, *args: Any, **kwargs: Any) -> Any:
                call, body = read(stock, tool, *args, **kwargs)
                return self.run(call, body, depth(tool))

            seam = seam_plain
        seam.__hookable__ = self.vocabulary.hookable(
            "tool_call", is_async=inspect.iscoroutinefunction(stock)
        )
        return seam
