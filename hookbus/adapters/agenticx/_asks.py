"""Calls one AgenticX hook and interprets its answer: as AgenticX does, or strictly with
`strict=True`.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from logging import Logger
from typing import Any, Final, NamedTuple

from hookbus import Block

from .._own_hooks import Hook, title_of

SECONDS: Final = 8.0
"""The number of seconds that a sync call waits for an async hook while an event loop is running."""


class Overdue(TimeoutError):
    """A sync call waited too long for an async hook."""


class Kind(NamedTuple):
    """A kind of hook, with the argument of the hook point that mirrors an attribute of the context.
    The pairs are for the points before and after the call.
    """

    name: str
    before: tuple[str, str]
    after: tuple[str, str]


class Subject(NamedTuple):
    """The value that hooks check: an argument of the hook point, and the attribute of the context
    from which AgenticX's hooks read the value.
    """

    context: Any
    argument: str
    attribute: str

    def put(self, kwargs: Mapping[str, Any]) -> Any:
        """Write the value, including changes by earlier receivers, into the context."""
        value = kwargs[self.argument]
        if getattr(self.context, self.attribute) is not value:
            setattr(self.context, self.attribute, value)
        return value

    def patch(self, value: Any) -> dict[str, Any] | None:
        """Return a patch with the value that the hook wrote into the context, or None if there is
        none.
        """
        now = getattr(self.context, self.attribute)
        return None if now is value else {self.argument: now}


def verdict(hook: Hook, answer: Any) -> Block | None:
    """Return the verdict of a before-hook's answer with `strict=True`: a `Block`, or None.

    Raises:
        TypeError: if the answer is not True, False, None or a `Block`.
    """
    if answer is None or answer is True:
        return None
    if answer is False:
        return Block("it returned False")
    if isinstance(answer, Block):
        return answer
    raise TypeError(
        f"{title_of(hook)} returned {type(answer).__name__}; return True, False or None"
    )


def withheld(hook: Hook, answer: Any) -> Block | None:
    """Return a `Block` if an answer is not a string and therefore cannot replace a result.

    This check applies with `strict=True`.
    """
    if answer is None or isinstance(answer, (bool, str)):
        return None
    if isinstance(answer, Block):
        return answer
    return Block(f"{title_of(hook)} returned {type(answer).__name__} instead of text")


class CoreBefore:
    """Calls a hook of `agenticx.core.hooks` before a call. Any falsy answer blocks the call."""

    def __init__(self, subject: Subject, log: Logger, title: str, *, strict: bool) -> None:
        self._subject, self._log, self._title, self._strict = subject, log, title, strict

    def __call__(self, hook: Hook, kwargs: Mapping[str, Any]) -> Any:
        value = self._subject.put(kwargs)
        try:
            answer = hook(self._subject.context)
            if self._strict:
                stopped = verdict(hook, completed(answer))
            else:
                stopped = None if answer else Block("it returned a falsy value")
        except Exception as error:
            self._log.error("Error in %s hook %s: %s", self._title, title_of(hook), error)
            raise
        if stopped is not None:
            self._log.info("%s hook %s blocked execution", self._title.capitalize(), title_of(hook))
            return stopped
        return self._subject.patch(value)


class CoreAfter:
    """Calls a hook of `agenticx.core.hooks` after a call. Its return value is only logged."""

    def __init__(self, subject: Subject, log: Logger, title: str, *, strict: bool) -> None:
        self._subject, self._log, self._title, self._strict = subject, log, title, strict

    def __call__(self, hook: Hook, kwargs: Mapping[str, Any]) -> Any:
        value = self._subject.put(kwargs)
        try:
            answer = hook(self._subject.context)
            is_well = completed(answer) is not False if self._strict else bool(answer)
        except Exception as error:
            self._log.error("Error in %s hook %s: %s", self._title, title_of(hook), error)
            raise
        if not is_well:
            self._log.warning("%s hook %s returned False", self._title.capitalize(), title_of(hook))
        return self._subject.patch(value)


class LegacyBefore:
    """Calls a hook of `agenticx.hooks.llm_hooks`, of `tool_hooks` or of an agent before a call. The
    answer False blocks the call.
    """

    def __init__(
        self, subject: Subject, warn: Callable[[Exception], object], *, strict: bool
    ) -> None:
        self._subject, self._warn, self._strict = subject, warn, strict

    def __call__(self, hook: Hook, kwargs: Mapping[str, Any]) -> Any:
        value = self._subject.put(kwargs)
        try:
            answer = hook(self._subject.context)
            if self._strict:
                stopped = verdict(hook, completed(answer))
            else:
                stopped = Block("it returned False") if answer is False else None
        except Exception as error:
            self._warn(error)
            raise
        return stopped or self._subject.patch(value)


class LegacyAfter:
    """Calls a hook of `agenticx.hooks.llm_hooks` or `tool_hooks` after a call. A returned string
    replaces the result.
    """

    def __init__(
        self, subject: Subject, warn: Callable[[Exception], object], *, strict: bool
    ) -> None:
        self._subject, self._warn, self._strict = subject, warn, strict

    def __call__(self, hook: Hook, kwargs: Mapping[str, Any]) -> Any:
        self._subject.put(kwargs)
        try:
            answer = hook(self._subject.context)
            if self._strict:
                answer = completed(answer)
        except Exception as error:
            self._warn(error)
            raise
        stopped = withheld(hook, answer) if self._strict else None
        return stopped or ({self._subject.argument: answer} if isinstance(answer, str) else None)


def completed(answer: Any) -> Any:
    """Return the result of an awaitable to a sync call.

    The awaitable runs on a new event loop. If a loop is already running in this thread, the new
    loop runs in a new thread.

    Raises:
        Overdue: if the awaitable took too long. This limit applies only if a loop is running in
            this thread, because that loop is blocked while it waits.
    """
    if not inspect.isawaitable(answer):
        return answer
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_await(answer))
    outcome: list[Any] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.append((asyncio.run(_await(answer)), None))
        except BaseException as error:  # raised again in the waiting thread
            outcome.append((None, error))

    thread = threading.Thread(target=context.run, args=(run,), daemon=True, name="hookbus agenticx")
    thread.start()
    thread.join(SECONDS)
    if not outcome:
        raise Overdue(f"an async hook took longer than {SECONDS:g} seconds")
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
