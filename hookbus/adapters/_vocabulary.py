"""The common hooks of agent frameworks, with one name each for tool calls, model calls and runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final

from hookbus import Bus, HookBlocked, HookError, instrument

from ._parts import Whole, steps, steps_async
from ._patches import Patches


class Attempt:
    """A call to one of the common hooks, with the framework's function that it runs.

    Attributes:
        body: runs the framework's function with the arguments that receivers may change.
        aside: holds back the framework's reports of a model's answer, if there are any.
    """

    aside: Any = None

    def __init__(self, body: Callable[..., Any]) -> None:
        self.body = body


CALLED: Final[ContextVar[Attempt | None]] = ContextVar("hookbus_called", default=None)
"""The hooked call in progress. An approver that pauses runs reads it."""

INSIDE: Final[ContextVar[Attempt | None]] = ContextVar("hookbus_inside", default=None)
"""The hooked call whose body is running. It is not set for calls that receivers make."""


class Once(Attempt):
    """A call to a method whose hooks must run only once, even if the method calls its parent's
    method or another hooked method.

    Args:
        of: the object whose method is called.
        name: the method.
        owner: the class that defines it.
        body: the body, as in `Attempt`.
    """

    def __init__(self, of: Any, name: str, owner: type, body: Callable[..., Any]) -> None:
        super().__init__(body)
        self.of, self.name, self.depth = of, name, depth_of(owner, of)

    @property
    def is_asked(self) -> bool:
        """Whether the call is made within a hooked call of the same object. A recursive call to the
        same method is a new call."""
        outer = INSIDE.get()
        if not isinstance(outer, Once) or outer.of is not self.of:
            return False
        return outer.name != self.name or outer.depth < self.depth


def depth_of(owner: type, of: Any) -> int:
    """Return the position of a class in the MRO of an object's type; 0 if it is not there."""
    mro = type(of).__mro__
    return mro.index(owner) if owner in mro else 0


class Refused:
    """The result of a blocked call whose verdict provides no result."""

    def __init__(self, blocked: HookBlocked) -> None:
        self.blocked = blocked


def refusal(blocked: HookBlocked) -> str:
    """Return the text about a blocked call for the model, as all adapters do by default."""
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
    """The hookable methods, each as a sync and an async method. Receivers see all arguments except
    the attempt. A streamed request is also a `model_call`, but has its own methods."""

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
        """Call a model that streams its answer; `messages` and `options` can be changed."""
        yield from attempt.body(messages, options)

    @staticmethod
    async def model_call_stream_async(
        model: Any, messages: Any, options: dict[str, Any], caller: Any, attempt: Attempt
    ) -> AsyncGenerator[Any, None]:
        """Call a model that streams its answer; `messages` and `options` can be changed."""
        async with aclosing(attempt.body(messages, options)) as parts:
            async for part in parts:
                yield part

    @staticmethod
    def model_stream(
        model: Any, messages: Any, options: dict[str, Any], caller: Any, attempt: Attempt
    ) -> Generator[Any, Any, Any]:
        """Yield the items of a streamed `model_call` while this call is running."""
        yield from give(attempt, messages, options)

    @staticmethod
    async def model_stream_async(
        model: Any, messages: Any, options: dict[str, Any], caller: Any, attempt: Attempt
    ) -> AsyncGenerator[Any, None]:
        """Yield the items of a streamed `model_call` while this call is running."""
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
        """Run an agent that yields parts; `input` can be changed."""
        yield from give(attempt, input)

    @staticmethod
    async def agent_stream_async(
        agent: Any, input: Any, attempt: Attempt
    ) -> AsyncGenerator[Any, None]:
        """Run an agent that yields parts; `input` can be changed."""
        async with aclosing(give_async(attempt, input)) as items:
            async for item in items:
                yield item


for _word in [each for each in vars(_Words).values() if isinstance(each, staticmethod)]:
    _word.__func__.__qualname__ = _word.__func__.__name__  # the name in tables and errors
for _streamed in (_Words.model_call_stream, _Words.model_call_stream_async):
    _streamed.__dict__["__hookbus_whole__"] = Whole


TOOL_LABELS: Final = ("name", "kind", "call_id", "caller")
"""The arguments that identify a call to a tool."""

_LABELS: Final = {"tool": TOOL_LABELS, "model": ("model", "caller"), "agent": ("agent",)}
"""The arguments that identify a call. The key is the first word of the hook's name, which is also
the name of the sender argument."""

_READ_ONLY: Final = {
    "tool": ("arguments",), "model": ("messages", "options"), "agent": ("input",)
}  # fmt: skip
"""The arguments whose contents receivers may only read, by the same key as in `_LABELS`."""

_SEALED_FIELDS: Final = {
    "tool": ("arguments", "result"), "model": ("messages", "result"), "agent": ("input",)
}  # fmt: skip
"""The arguments whose objects, such as messages, are sealed, by the same key. Options and the
results of runs are not sealed, because they may contain framework objects that change later, such
as an agent or a run's usage."""


def hook_tool_call(owner: type, function: str, bus: Bus) -> Callable[[], None]:
    """Hook a function of a class as `tool_call`, for an adapter whose function has other
    parameters.

    Returns:
        A function that removes the hook.
    """
    return instrument(
        owner, {function: "tool_call"}, bus=bus, sender="tool", labels=_LABELS["tool"],
        read_only=_READ_ONLY["tool"], sealed_fields=_SEALED_FIELDS["tool"],
    )  # fmt: skip


class Vocabulary:
    """The common hooks of one adapter on a bus, which exist until the patches are restored.

    Args:
        patches: the patches of the adapter, which also remove the hooks.
        bus: the bus with the signals of the hooks.
        words: the names of the adapter's hooks: `"tool_call"`, `"model_call"`, `"model_stream"`
            (the items of a streamed `model_call`), `"agent_run"`, `"agent_stream"`.
        passes: exceptions that return control to the framework; they are not failures.
    """

    def __init__(
        self, patches: Patches, bus: Bus, words: tuple[str, ...],
        passes: tuple[type[BaseException], ...] = (),
    ) -> None:  # fmt: skip
        self.patches, self.bus, self._words = patches, bus, frozenset(words)
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
        """Return the hookable method of a hook, such as for `explain`.

        Raises:
            HookError: if the adapter did not declare the hook, so that its calls would have no
                hooks.
        """
        if word.replace("call_stream", "call") not in self._words:
            raise HookError(f"this adapter calls {word}, but does not declare it among its hooks")
        found: Callable[..., Any] = getattr(self._owner, f"{word}_async" if is_async else word)
        return found

    def run(self, word: str, attempt: Attempt, *arguments: Any) -> Any:
        """Make a hooked call that runs the attempt's body."""
        previous = CALLED.get()
        try:
            CALLED.set(attempt)
            return self.hookable(word, is_async=False)(*arguments, attempt)
        finally:
            CALLED.set(previous)

    async def run_async(self, word: str, attempt: Attempt, *arguments: Any) -> Any:
        """Make an async hooked call that runs the attempt's body."""
        previous = CALLED.get()
        try:
            CALLED.set(attempt)
            return await self.hookable(word, is_async=True)(*arguments, attempt)
        finally:
            CALLED.set(previous)

    def stream(self, word: str, attempt: Attempt, *arguments: Any) -> Generator[Any, Any, None]:
        """Make a hooked call that yields items."""
        items = self.hookable(word, is_async=False)(*arguments, attempt)
        yield from steps(CALLED, attempt, items)

    async def stream_async(
        self, word: str, attempt: Attempt, *arguments: Any
    ) -> AsyncGenerator[Any, None]:
        """Make a hooked call that yields items."""
        items = self.hookable(word, is_async=True)(*arguments, attempt)
        async with aclosing(steps_async(CALLED, attempt, items)) as steps:
            async for item in steps:
                yield item
