"""Bub's hooks as questions of hookbus."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections import deque
from collections.abc import Callable, MutableMapping
from typing import Any, Final, Literal

import attrs

from hookbus import Bus, Connection, hookspec, modes

from ._bub_calls import NOT_GIVEN, mode_of

SYNC_ONLY: Final = frozenset({
    "register_cli_commands", "onboard_config", "provide_channels", "provide_tape_store", "provide_tape_sidecar",
    "provide_lifespan", "provide_steering_inbox", "build_tape_context", "system_prompt",
})  # fmt: skip
"""The hooks that Bub asks where it cannot await."""

INTERCEPTION: Final = {
    "before_llm_call": ("request", "state"),
    "after_llm_call": ("request", "result", "state"),
    "before_tool_call": ("call", "state"),
    "after_tool_call": ("call", "result", "state"),
}
"""The hooks that Bub asks through `AgentHooks`, and their arguments; they are methods that receivers stand in front of."""

_ONE_BY_ONE: Final = ("run_model", "run_model_stream", "onboard_config")
"""The hooks whose implementations Bub may ask one at a time."""

_PHASES: Final = ("pre", "around", "post", "error", "finally")


@attrs.define(eq=False)
class Question:
    """One hook of Bub.

    Attributes:
        ask: the hookspec.
        names: the names of its arguments.
        kind: whether it gives the `"first"` answer, `"all"` or nothing (`"void"`); None where that is said in each call.
        own: how many of its receivers stand for implementations.
    """

    bus: Bus
    ask: Any
    names: tuple[str, ...]
    kind: Literal["first", "all", "void"] | None
    own: int = 0
    _answers: Any = None
    _others: tuple[Any, ...] = ()

    def __attrs_post_init__(self) -> None:
        name = self.ask.__name__
        self._answers, self._others = self.bus.signal(name), tuple(self.bus.signal(f"{phase}_{name}") for phase in _PHASES)

    def gives(self, is_first: bool) -> bool:
        """Tell whether asking it gives the first answer, or else all."""
        return self.kind is None or self.kind == ("first" if is_first else "all")

    def is_quiet(self) -> bool:
        """Tell whether nobody but Bub's own implementations would hear of a call."""
        bus, answers = self.bus, self._answers
        if bus.is_observed or bus.timeout is not None or len(answers.receivers) != self.own or answers.is_muted_somewhere:
            return False
        pre, around, post, error, last = self._others
        return not (pre.receivers or around.receivers or post.receivers or error.receivers or last.receivers)

    def retire(self) -> None:
        """Take the question off its bus."""
        self.bus._retire(self.ask.__hookbus__)


@attrs.define(eq=False)
class Panel:
    """The implementations of one hook of one runtime, in the order they run, and the receivers that stand for them.

    Attributes:
        question: the question they answer; None where they stand in front of a method.
        stored: the implementations as pluggy keeps them.
        turns: of each the function, and the names of its arguments.
    """

    question: Question | None = None
    stored: list[Any] = attrs.field(factory=list)
    impls: list[Any] = attrs.field(factory=list)
    turns: list[tuple[Any, tuple[str, ...]]] = attrs.field(factory=list)
    _connections: list[Connection] = attrs.field(factory=list)
    _own: int = 0

    def put(self, stored: list[Any], connect: Callable[[Any, int], tuple[Connection, bool]] | None) -> None:
        """Have these implementations in place of those that were there, all or none.

        Args:
            stored: pluggy's list.
            connect: connects one, given its record and its place; says whether it is an answer to the question. None where
                there is nothing to connect to.
        """
        self.disconnect()
        self.impls = stored[::-1]
        self.turns = [(impl.function, tuple(impl.argnames)) for impl in self.impls]
        try:
            for index, impl in enumerate(self.impls):
                if connect is None:
                    break
                connection, is_answer = connect(impl, index)
                self._connections.append(connection)
                self._own += is_answer
                if self.question is not None:
                    self.question.own += is_answer
        except BaseException:
            self.disconnect()
            raise
        self.stored = stored

    def disconnect(self) -> None:
        """Take every receiver away."""
        while self._connections:
            self._connections.pop().disconnect()
        if self.question is not None:
            self.question.own -= self._own
        self.stored, self._own = [], 0


class Questions:
    """The questions of one bus, each made as it is first needed; and what is connected for owners that are gone."""

    def __init__(self, bus: Bus, *, strict: bool) -> None:
        self.bus, self.strict = bus, strict
        self.lock = threading.RLock()
        self._made: dict[str, Question] = {}
        self._orphans: deque[MutableMapping[str, Panel]] = deque()

    def of(self, caller: Any) -> Question | None:
        """Return the question for a hook of pluggy; None for one without a specification."""
        if caller.name not in self._made and caller.has_spec() and caller.name not in INTERCEPTION:
            with self.lock:
                if caller.name not in self._made:
                    self._made[caller.name] = self._make(caller)
        return self._made.get(caller.name)

    def _make(self, caller: Any) -> Question:
        name, function = caller.name, caller.spec.function
        names, kind = (*caller.spec.argnames, *getattr(caller.spec, "kwargnames", ())), inspect.Parameter
        declared = inspect.signature(function).parameters.values() if self.strict else ()
        defaults = {each.name: each.default for each in declared if each.default is not kind.empty}

        async def ask(**arguments: Any) -> None: ...
        def ask_sync(**arguments: Any) -> None: ...

        asks: Any = ask_sync if self.strict and name in SYNC_ONLY else ask
        asks.__name__, asks.__qualname__, asks.__doc__ = name, name, function.__doc__
        asks.__signature__ = inspect.Signature(
            [kind(each, kind.KEYWORD_ONLY, default=defaults.get(each, NOT_GIVEN)) for each in names]
        )
        mode, gives = self._mode(name, bool(caller.spec.opts.get("firstresult")))
        return Question(self.bus, hookspec(mode, bus=self.bus)(asks), names, gives)

    def _mode(self, name: str, is_first: bool) -> tuple[Any, Any]:
        if not self.strict or name in _ONE_BY_ONE:
            return mode_of(name), None
        if name == "on_error":
            return modes.void, "void"
        return (modes.firstresult, "first") if is_first else (modes.broadcast, "all")

    def adopt(self, owner: Any, panels: MutableMapping[str, Panel]) -> None:
        """Take away what is connected for an owner once it is gone; at the next occasion, and not while memory is collected."""
        self.sweep()
        weakref.finalize(owner, self._orphans.append, panels).atexit = False

    def sweep(self) -> None:
        """Take away what was connected for owners that are gone."""
        while self._orphans:
            for panel in self._orphans.popleft().values():
                panel.disconnect()

    def retire(self) -> None:
        """Take every question off the bus."""
        self.sweep()
        while self._made:
            self._made.popitem()[1].retire()
