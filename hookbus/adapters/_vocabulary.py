"""The hooks that agent frameworks have in common, each under one name: tools, models and runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final

from hookbus import Bus, HookBlocked, instrument

from ._parts import Whole, steps, steps_async
from ._patches import Patches


class Attempt:
    """One attempt of a hooked call of the vocabulary, with the body that the framework runs.

    Attributes:
        body: takes the arguments that receivers may change, and runs the hooked function.
        aside: holds what the framework reports about a model's answer, if it does.
    """

    aside: Any = None

    def __init__(self, body: Callable[..., Any]) -> None:
        self.body = body


CALLED: Final[ContextVar[Attempt | None]] = ContextVar("hookbus_called", default=None)
"""Whose hooked call is made, for an approver that pauses its run."""

INSIDE: Final[ContextVar[Attempt | None]] = ContextVar("hookbus_inside", default=None)
"""The call whose body runs. Calls that a receiver makes are not inside it."""


class Once(Attempt):
    """A call of a method that emits once: of an override that calls its parent's method, or of a
    method that uses another.

    Args:
        of: the object with the method.
        name: the method.
        owner: the class that holds it.
        body: as in `Attempt`.
    """

    def __init__(self, of: Any, name: str, owner: type, body: Callable[..., Any]) -> None:
        super().__init__(body)
        self.of, self.name, self.depth = of, name, depth_of(owner, of)

    @property
    def is_asked(self) -> bool:
        """Whether this call is inside one that has been emitted. The same method again is not: that
        is a recursion.
        """
        outer = INSIDE.get()
        if not isinstance(outer, Once) or outer.of is not self.of:
            return False
        return outer.name != self.name or outer.depth < self.depth


def depth_of(owner: type, of: Any) -> int:
    """Return how far up the MRO of an object a class is; 0 if it is not there."""
    mro = type(of).__mro__
    return mro.index(owner) if owner in mro else 0


class Refused:
    """The outcome of a blocked call whose verdict has no result."""

    def __init__(self, blocked: HookBlocked) -> None:
        self.blocked = blocked


def refusal(blocked: HookBlocked) -> str:
    """Return the text of a blocked call for a model: the only place with this wording."""
    return f"Error: the call was blocked by {blocked.receiver}: {blocked.reason}"


def _run(attempt: Attempt, *arguments: Any) -> Any:
    previous = INSIDE.get()
    try:
        INSIDE.set(attempt)
        return attempt.body(*arguments)
    finally:
        INSIDE.set(previous)


async def _run_async(attempt: Attempt, *arguments: Any) -> Any:
    previous = INSIDE.get()
    try:
        INSIDE.set(attempt)
        return await attempt.body(*arguments)
    finally:
        INSIDE.set(previous)


def give(attempt: Attempt, *arguments: Any) -> Generator[Any, Any, None]:
    return steps(INSIDE, attempt, _run(attempt, *arguments))


def give_async(attempt: Attempt, *arguments: Any) -> AsyncGenerator[Any, None]:
    return steps_async(INSIDE, attempt, _run(attempt, *arguments))


class _Words:
    """The hookables, each in a sync and an async form. Receivers see their arguments, except for
    the attempt. A streamed request is a `model_call`, too, with its own forms."""

    @staticmethod
    def tool_call(
        name: str, arguments: dict[str, Any], call_id: str | None, kind: str, tool: Any,
        caller: Any, attempt: Attempt,
    ) -> Any:  # fmt: skip
        """Run a tool; `arguments` can be changed."""
        return _run(attempt, arguments)

    @staticmethod
    async def tool_call_async(
        name: str, arguments: dict[str, Any], call_id: str | None, kind: str, tool: Any,
        caller: Any, attempt: Attempt,
    ) -> Any:  # fmt: skip
        """Run a tool; `arguments` can be changed."""
        return await _run_async(attempt, arguments)

    @staticmethod
    def model_call(
        model: Any, messages: Any, options: dict[str, Any], caller: Any, attempt: Attempt
    ) -> Any:
        """Call a model; `messages` and `options` can be changed."""
        return _run(attempt, messages, options)

    @staticmethod
    async def model_call_async(
        model: Any, messages: Any, options: dict[str, Any], caller: Any, attempt: Attempt
    ) -> Any:
        """Call a model; `messages` and `options` can be changed."""
        return await _run_async(attempt, messages, options)

    @staticmethod
    def model_call_stream(
        model: Any, messages: Any, options: dict[str, Any], caller: Any, attempt: Attempt
    ) -> Generator[Any, Any, Any]:
        """Call a model that answers in parts; `messages` and `options` can be changed."""
        yield from attempt.body(messages, options)

    @staticmethod
    async def model_call_stream_async(
        model: Any, messages: Any, options: dict[str, Any], caller: Any, attempt: Attempt
    ) -> AsyncGenerator[Any, None]:
        """Call a model that answers in parts; `messages` and `options` can be changed."""
        async with aclosing(attempt.body(messages, options)) as parts:
            async for part in parts:
                yield part

    @staticmethod
    def model_stream(
        model: Any, messages: Any, options: dict[str, Any], caller: Any, attempt: Attempt
    ) -> Generator[Any, Any, Any]:
        """Give the items of a streamed `model_call`, inside of it."""
        yield from give(attempt, messages, options)

    @staticmethod
    async def model_stream_async(
        model: Any, messages: Any, options: dict[str, Any], caller: Any, attempt: Attempt
    ) -> AsyncGenerator[Any, None]:
        """Give the items of a streamed `model_call`, inside of it."""
        async with aclosing(give_async(attempt, messages, options)) as items:
            async for item in items:
                yield item

    @staticmethod
    def agent_run(agent: Any, input: Any, attempt: Attempt) -> Any:
        """Run an agent; `input` can be changed."""
        return _run(attempt, input)

    @staticmethod
    async def agent_run_async(agent: Any, input: Any, attempt: Attempt) -> Any:
        """Run an agent; `input` can be changed."""
        return await _run_async(attempt, input)

    @staticmethod
    def agent_stream(agent: Any, input: Any, attempt: Attempt) -> Generator[Any, Any, Any]:
        """Run an agent that gives parts; `input` can be changed."""
        yield from give(attempt, input)

    @staticmethod
    async def agent_stream_async(
        agent: Any, input: Any, attempt: Attempt
    ) -> AsyncGenerator[Any, None]:
        """Run an agent that gives parts; `input` can be changed."""
        async with aclosing(give_async(attempt, input)) as items:
            async for item in items:
                yield item


for _word in [each for each in vars(_Words).values() if isinstance(each, staticmethod)]:
    _word.__func__.__qualname__ = _word.__func__.__name__  # as tables and errors call it
for _streamed in (_Words.model_call_stream, _Words.model_call_stream_async):
    _streamed.__dict__["__hookbus_whole__"] = Whole


TOOL_LABELS: Final = ("name", "kind", "call_id", "caller")
"""The arguments that name a call of a tool."""

_LABELS: Final = {"tool": TOOL_LABELS, "model": ("model", "caller"), "agent": ("agent",)}
"""By the first word of a hook, which is also its sender: the arguments that name a call."""

_READ_ONLY: Final = {
    "tool": ("arguments",), "model": ("messages", "options"), "agent": ("input",)
}  # fmt: skip
"""Likewise the arguments whose contents receivers may only read."""

_SEALED_FIELDS: Final = {
    "tool": ("arguments", "result"), "model": ("messages", "result"), "agent": ("input",)
}  # fmt: skip
"""Likewise where objects such as messages are sealed. Options and the results of runs may hold
objects of the framework that live on and change, such as an agent or the usage of a run.
"""


def hook_tool_call(owner: type, function: str, bus: Bus) -> Callable[[], None]:
    """Make a method of a class the hook `tool_call`, for an adapter with its own parameters.

    Returns:
        A function that removes the hook.
    """
    return instrument(
        owner, {function: "tool_call"}, bus=bus, sender="tool", labels=_LABELS["tool"],
        read_only=_READ_ONLY["tool"], sealed_fields=_SEALED_FIELDS["tool"],
    )  # fmt: skip


class Vocabulary:
    """The hooks of the vocabulary for one adapter, on a bus, until `restore`.

    Args:
        patches: those of the adapter, which remove the hooks.
        bus: the bus with their signals.
        words: which hooks the framework has: `"tool_call"`, `"model_call"`, `"model_stream"` (the
            items of a streamed `model_call`), `"agent_run"`, `"agent_stream"`.
        passes: exceptions by which the framework takes control back; they are not failures.
    """

    def __init__(
        self, patches: Patches, bus: Bus, words: tuple[str, ...],
        passes: tuple[type[BaseException], ...] = (),
    ) -> None:  # fmt: skip
        self.patches, self.bus = patches, bus
        self._owner = type("Vocabulary", (_Words,), {})
        for word in words:
            sender = word.partition("_")[0]
            is_whole = not word.endswith("_stream")
            blocked = Refused if word == "tool_call" else None
            forms = [(word, is_whole), (f"{word}_async", False)]
            if word == "model_call" and "model_stream" in words:
                forms += [("model_call_stream", False), ("model_call_stream_async", False)]
            for form, awaits in forms:
                patches.on_restore(instrument(
                    self._owner, {form: word}, bus=bus, sender=sender, on_block=blocked,
                    async_receivers=awaits, passes=passes, labels=_LABELS[sender],
                    read_only=_READ_ONLY[sender], sealed_fields=_SEALED_FIELDS[sender],
                    hidden=("attempt",),
                ))  # fmt: skip

    def hookable(self, word: str, *, is_async: bool) -> Callable[..., Any]:
        """Return the hookable of a word, for `explain` and for calls within `running`."""
        found: Callable[..., Any] = getattr(self._owner, f"{word}_async" if is_async else word)
        return found

    def run(self, word: str, attempt: Attempt, *arguments: Any) -> Any:
        """Make a hooked call with the body of the attempt."""
        previous = CALLED.get()
        try:
            CALLED.set(attempt)
            return self.hookable(word, is_async=False)(*arguments, attempt)
        finally:
            CALLED.set(previous)

    async def run_async(self, word: str, attempt: Attempt, *arguments: Any) -> Any:
        """Make a hooked call with the body of the attempt, and await it."""
        previous = CALLED.get()
        try:
            CALLED.set(attempt)
            return await self.hookable(word, is_async=True)(*arguments, attempt)
        finally:
            CALLED.set(previous)

    def stream(self, word: str, attempt: Attempt, *arguments: Any) -> Generator[Any, Any, None]:
        """Make a hooked call that gives items."""
        items = self.hookable(word, is_async=False)(*arguments, attempt)
        yield from steps(CALLED, attempt, items)

    async def stream_async(
        self, word: str, attempt: Attempt, *arguments: Any
    ) -> AsyncGenerator[Any, None]:
        """Make a hooked call that gives items."""
        items = self.hookable(word, is_async=True)(*arguments, attempt)
        async with aclosing(steps_async(CALLED, attempt, items)) as steps:
            async for item in steps:
                yield item
