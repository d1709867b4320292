"""Declares Bub's hooks as questions of hookbus."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Literal

import attrs

from hookbus import Bus, Connection, hookspec, modes

from ..._ground.signatures import signature_of
from ._calls import NOT_GIVEN, mode_of

SYNC_ONLY: Final = frozenset({
    "register_cli_commands", "onboard_config", "provide_channels", "provide_tape_store",
    "provide_tape_sidecar", "provide_lifespan", "provide_steering_inbox", "build_tape_context",
    "system_prompt",
})  # fmt: skip
"""The hooks that Bub calls from sync code, so that it cannot await answers."""

INTERCEPTION: Final = {
    "before_llm_call": ("request", "state"),
    "after_llm_call": ("request", "result", "state"),
    "before_tool_call": ("call", "state"),
    "after_tool_call": ("call", "result", "state"),
}
"""The hooks that Bub calls through `AgentHooks`, with their arguments. These hooks are methods, and
receivers run before them."""

_ONE_BY_ONE: Final = ("run_model", "run_model_stream", "onboard_config")
"""The hooks for which Bub may call single implementations, one after another."""

_PHASES: Final = ("pre", "around", "post", "error", "finally")


class Listeners:
    """The receivers and listeners of one hook of Bub.

    Attributes:
        own: the number of receivers that represent implementations.
    """

    def __init__(self, bus: Bus, hook: str, where_own: str) -> None:
        self._bus, self.own = bus, 0
        self._where_own = bus.signal(where_own)
        names = (hook, *(f"{phase}_{hook}" for phase in _PHASES))
        self._others = tuple(bus.signal(name) for name in names if name != where_own)

    def is_quiet(self) -> bool:
        """Return whether a call has no receivers or listeners except Bub's own implementations."""
        bus = self._bus
        if bus._switchboard.is_observed or bus.timeout is not None:
            return False
        if self._where_own._count != self.own:
            return False
        is_heard = any(signal._count for signal in self._others)
        return not (is_heard or self._where_own._muted_by)


@attrs.frozen(eq=False)
class Question:
    """One hook of Bub.

    Attributes:
        ask: the hookspec.
        names: the names of its arguments.
        kind: whether the question returns the `"first"` answer, `"all"` answers or nothing
            (`"void"`); None if this depends on the call.
    """

    ask: Any
    names: tuple[str, ...]
    kind: Literal["first", "all", "void"] | None
    listeners: Listeners

    def gives(self, is_first: bool) -> bool:
        """Return whether this question returns the first answer, if `is_first` is true, or all
        answers.
        """
        return self.kind is None or self.kind == ("first" if is_first else "all")


class Connected:
    """The connections for one hook of one owner. The object does not reference the implementations,
    so it can outlive them."""

    def __init__(self, listeners: Listeners | None) -> None:
        self._listeners = listeners
        self._connections: list[tuple[Connection, bool]] = []

    def add(self, connection: Connection, is_own: bool) -> None:
        self._connections.append((connection, is_own))
        if self._listeners is not None:
            self._listeners.own += is_own

    def disconnect(self) -> None:
        """Disconnect all receivers."""
        while self._connections:
            connection, is_own = self._connections.pop()
            connection.disconnect()
            if self._listeners is not None:
                self._listeners.own -= is_own


@attrs.define(eq=False)
class Panel:
    """The implementations of one hook of one runtime, in the order they run, and the receivers that
    represent them.

    Attributes:
        listeners: counts the receivers and listeners of the hook; None for a hook without a
            specification, which is not a hook of hookbus.
        question: the question that the implementations answer; None if they run before a method.
        stored: the implementations in pluggy's order.
        turns: the function of each implementation, with the names of its arguments.
        known: the number of implementations, counted from the first, that hookbus has called since
            they were connected.
    """

    listeners: Listeners | None = None
    question: Question | None = None
    stored: list[Any] = attrs.field(factory=list)
    impls: list[Any] = attrs.field(factory=list)
    turns: list[tuple[Any, tuple[str, ...]]] = attrs.field(factory=list)
    known: int = 0
    connected: Connected = attrs.field(
        init=False, default=attrs.Factory(lambda self: Connected(self.listeners), takes_self=True)
    )

    def put(self, stored: list[Any], connect: Connect) -> None:
        """Replace the implementations. If a connection fails, disconnect all of them.

        Args:
            stored: pluggy's list.
            connect: connects an implementation, given its record and its index. It returns the
                names of the arguments, the connection or None, and whether the implementation is
                not a wrapper.
        """
        self.disconnect()
        self.impls = stored[::-1]
        try:
            for index, impl in enumerate(self.impls):
                names, connection, is_own = connect(impl, index)
                self.turns.append((impl.function, names))
                if connection is not None:
                    self.connected.add(connection, is_own)
        except BaseException:
            self.disconnect()
            raise
        self.stored = stored
        self.known = len(stored) if self.listeners is None else 0

    def disconnect(self) -> None:
        """Disconnect all receivers."""
        self.connected.disconnect()
        self.stored, self.impls, self.turns, self.known = [], [], [], 0


Connect = Callable[[Any, int], tuple[tuple[str, ...], Connection | None, bool]]


class Questions:
    """The questions of one bus, each declared when it is first needed, and the connections of
    owners that no longer exist."""

    def __init__(self, bus: Bus, *, strict: bool) -> None:
        self.bus, self.strict = bus, strict
        self.lock = threading.RLock()
        self._made: dict[str, Question] = {}
        self.interception = {hook: Listeners(bus, hook, f"pre_{hook}") for hook in INTERCEPTION}
        self._orphans: deque[list[Connected]] = deque()

    def of(self, caller: Any) -> Question | None:
        """Return the question for a hook of pluggy, or None for a hook without a specification."""
        if caller.name not in self._made and caller.has_spec() and caller.name not in INTERCEPTION:
            with self.lock:
                if caller.name not in self._made:
                    self._made[caller.name] = self._make(caller)
        return self._made.get(caller.name)

    def _make(self, caller: Any) -> Question:
        name, function = caller.name, caller.spec.function
        names = (*caller.spec.argnames, *getattr(caller.spec, "kwargnames", ()))
        kind = inspect.Parameter
        declared = signature_of(function).parameters.values() if self.strict else ()
        defaults = {each.name: each.default for each in declared if each.default is not kind.empty}

        async def ask(**arguments: Any) -> None: ...
        def ask_sync(**arguments: Any) -> None: ...

        asks: Any = ask_sync if self.strict and name in SYNC_ONLY else ask
        asks.__name__, asks.__qualname__, asks.__doc__ = name, name, function.__doc__
        asks.__signature__ = inspect.Signature(
            [kind(each, kind.KEYWORD_ONLY, default=defaults.get(each, NOT_GIVEN)) for each in names]
        )
        mode, gives = self._mode(name, bool(caller.spec.opts.get("firstresult")))
        asked = hookspec(mode, bus=self.bus)(asks)
        return Question(asked, names, gives, Listeners(self.bus, name, name))

    def _mode(self, name: str, is_first: bool) -> tuple[Any, Any]:
        if not self.strict or name in _ONE_BY_ONE:
            return mode_of(name), None
        if name == "on_error":
            return modes.void, "void"
        return (modes.firstresult, "first") if is_first else (modes.broadcast, "all")

    def adopt(self, owner: Any, connected: list[Connected]) -> None:
        """Disconnect an owner's receivers after the owner no longer exists. The next call of
        `sweep` disconnects them, not the garbage collection."""
        self.sweep()
        weakref.finalize(owner, self._orphans.append, connected).atexit = False

    def sweep(self) -> None:
        """Disconnect the receivers of owners that no longer exist."""
        while self._orphans:
            for connected in self._orphans.popleft():
                connected.disconnect()

    def retire(self) -> None:
        """Remove all questions from the bus."""
        self.sweep()
        while self._made:
            self._made.popitem()[1].ask.retire()
