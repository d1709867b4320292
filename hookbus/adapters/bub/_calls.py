"""Runs one call of a Bub hook with Bub's rules for the arguments and the answers of
implementations."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from importlib import import_module
from types import CoroutineType
from typing import Any, ClassVar, Final

import attrs

from hookbus import Block, Drop, HookError, Replace
from hookbus.modes import Receiver, Steps

NOT_GIVEN: Final = type("NotGiven", (), {"__repr__": lambda self: "<not given>"})()
"""The placeholder for an argument that the caller of a hook omitted."""

_SKIPPED: Final = object()

_SCOPED: Final = ("provide_lifespan", "provide_tape_store", "provide_steering_inbox")
"""The hooks whose implementations may be generators. Bub enters the context that such an
implementation returns."""

_VERDICTS: Final = (Block, Replace, Drop)

_PLAIN_TYPES: Final = frozenset({str, int, float, bool, bytes, dict, list, tuple, set})


def is_awaitable(value: Any) -> bool:
    """Return whether a value must be awaited. The check is fast for the usual types."""
    kind = type(value)
    return (
        value is not None
        and kind not in _PLAIN_TYPES
        and (kind is CoroutineType or inspect.isawaitable(value))
    )


def is_unusual(value: Any) -> bool:
    """Return whether an answer is a verdict of hookbus or a generator."""
    return type(value) not in _PLAIN_TYPES and (
        isinstance(value, _VERDICTS) or inspect.isgenerator(value)
    )


Done = tuple[Any, BaseException | None]
"""The answer of an implementation, or the exception that it raised."""


@attrs.frozen
class Answered:
    """The answer of an implementation. Bub counts None as an answer, but hookbus does not."""

    value: Any


@attrs.define(eq=False)
class Asking:
    """One call to one hook, which interprets answers as Bub does.

    Attributes:
        plugins: the plugins whose implementations are called.
        hook: the name of the hook.
        impls: pluggy's records of the implementations at the start of the call, in the order in
            which they run.
        is_first: whether the first answer ends the call; otherwise, the result contains all
            answers.
        is_sync: whether the call cannot await answers.
        only: the implementations to call; None means all of them.
        with_others: whether, with `only`, receivers that are connected directly to hookbus are also
            called.
        stage: the stage of the error that `on_error` reports.
        failure: the exception that an implementation raised.
        interrupt: an exception that ends the call in a case where hookbus would continue. It is a
            CancelledError that an implementation raised itself.
        done: the answers of implementations that were already called directly, each a value and an
            exception. These implementations are not called again.
        reached: the number of implementations called so far.
        is_over: whether all implementations were called directly.
    """

    plugins: Any
    hook: str
    impls: Sequence[Any]
    is_first: bool = False
    is_sync: bool = False
    only: Sequence[Any] | None = None
    with_others: bool = True
    stage: str = ""
    failure: BaseException | None = None
    interrupt: BaseException | None = None
    done: list[Done] = attrs.field(factory=list)
    reached: int = 0
    is_over: bool = False

    on_error: ClassVar[str] = "raise"

    def is_failure(self, error: BaseException) -> bool:
        """Return whether an implementation's exception caused this error."""
        return self.failure is not None and error.__cause__ is self.failure

    def result(self, value: Any) -> Any:
        """Return the result of the call, or raise the exception that interrupted it."""
        if self.interrupt is not None:
            raise self.interrupt
        return value

    def asks(self, plugins: Any, index: int) -> bool:
        """Return whether this call must call the implementation with this index."""
        return (
            plugins is self.plugins
            and self.interrupt is None
            and (self.only is None or self.impls[index] in self.only)
        )

    def ask(self, index: int, given: dict[str, Any], arguments: Mapping[str, Any]) -> Any:
        """Call one implementation with the arguments that it accepts. Return its interpreted
        result, or an awaitable that returns the result.
        """
        impl, self.reached = self.impls[index], index + 1
        try:
            if index < len(self.done):
                value = self._answer_of(index)
            else:
                value = impl.function(**self.prepared(given))
            if is_awaitable(value):
                if self.is_sync:
                    return self.unawaited(impl, value)
                return self._awaited(impl, value, arguments)
            return self.read(impl, value, arguments)
        except BaseException as error:
            self.failed(impl, error)
            raise

    def _answer_of(self, index: int) -> Any:
        value, error = self.done[index]
        if error is not None:
            raise error
        return value

    def prepared(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments for an implementation."""
        return given

    async def _awaited(self, impl: Any, value: Any, arguments: Mapping[str, Any]) -> Any:
        try:
            return self.read(impl, await value, arguments)
        except BaseException as error:
            self.failed(impl, error)
            raise

    def read(self, impl: Any, value: Any, arguments: Mapping[str, Any]) -> Any:
        """Convert an answer to the return value of the receiver."""
        return Answered(value)

    def unawaited(self, impl: Any, value: Any) -> Any:
        """Convert an awaitable answer of a call that cannot await."""
        warn("hook.async_not_supported hook={} adapter={}", self.hook, title_of(impl))
        return Answered(_SKIPPED)

    def failed(self, impl: Any, error: BaseException) -> None:
        """Record an implementation's exception. The receiver raises the exception, too."""
        self.failure = error


class Notice(Asking):
    """One call to `on_error`, whose failures Bub logs."""

    on_error = "isolate"

    def failed(self, impl: Any, error: BaseException) -> None:
        if is_stray_cancellation(error):
            self.interrupt = error
        if isinstance(error, Exception):
            warn(
                "hook.on_error_failed stage={} adapter={}", self.stage, title_of(impl),
                has_trace=True,
            )  # fmt: skip


class PlainAsking(Asking):
    """One call with `strict=True`. Its implementations follow the rules of hookbus."""

    on_error = "isolate"

    def read(self, impl: Any, value: Any, arguments: Mapping[str, Any]) -> Any:
        if inspect.isgenerator(value) and self.hook not in _SCOPED:
            value.close()
            raise HookError(
                f"{title_of(impl)} answered {self.hook} with a generator; return a value instead"
            )
        return value

    def unawaited(self, impl: Any, value: Any) -> Any:
        return value  # hookbus closes it and counts it as a failure

    def failed(self, impl: Any, error: BaseException) -> None:
        if isinstance(error, SystemExit) and self.hook == "on_error":
            raise HookError(f"{title_of(impl)} tried to end the process in {self.hook}") from error


ASKING: ContextVar[Asking | None] = ContextVar("hookbus_bub_asking", default=None)


def current(hook: str) -> Asking:
    """Return the call in progress.

    Raises:
        HookError: if Bub did not make the call.
    """
    asking = ASKING.get()
    if asking is None or asking.hook != hook:
        raise HookError(
            f"{hook} must be called by Bub: call its framework, or "
            f"HookRuntime.call_first({hook!r}, ...)"
        )
    return asking


def mode_of(hook: str) -> Callable[[Sequence[Receiver[Any]]], Steps[Any, Any]]:
    """Return the mode for a hook of Bub, which calls implementations in order until the first
    answer, or calls all of them."""

    def as_bub_asks(receivers: Sequence[Receiver[Any]]) -> Steps[Any, Any]:
        asking = current(hook)
        own = None if asking.only is None or asking.with_others else asking.plugins.marks(hook)
        answers: list[Any] = []
        for receiver in receivers:
            if own is not None and (receiver.name, receiver.where) not in own:
                continue
            [answer] = yield [receiver]
            value = answer.value
            if value is None:
                continue
            if type(value) is Answered:
                value = value.value
                if value is _SKIPPED or (value is None and asking.is_first):
                    continue
            if asking.is_first:
                return value
            answers.append(value)
        return None if asking.is_first else answers

    as_bub_asks.__name__ = "as Bub asks"
    return as_bub_asks


def is_stray_cancellation(error: BaseException) -> bool:
    """Return whether an exception is a CancelledError that was raised without a cancellation of
    the current task."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return True
    return task is None or not task.cancelling()


def title_of(impl: Any) -> str:
    """Return the name of the plugin of an implementation."""
    return impl.plugin_name or "<unknown>"


def warn(message: str, *words: str, has_trace: bool = False) -> None:
    """Write a warning to Bub's log."""
    import_module("loguru").logger.opt(exception=has_trace).warning(message, *words)
