"""One call of one of Bub's hooks: what its implementations are given, and what their answers
mean."""

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
"""Stands for an argument that a hook has and its caller left out."""

_SKIPPED: Final = object()

_SCOPED: Final = ("provide_lifespan", "provide_tape_store", "provide_steering_inbox")
"""The hooks whose implementations may be generators: Bub enters what they give."""

_VERDICTS: Final = (Block, Replace, Drop)

_PLAIN_TYPES: Final = frozenset({str, int, float, bool, bytes, dict, list, tuple, set})


def is_awaitable(value: Any) -> bool:
    """Tell whether a value is to be awaited; quick to say for the usual ones."""
    kind = type(value)
    return (
        value is not None
        and kind not in _PLAIN_TYPES
        and (kind is CoroutineType or inspect.isawaitable(value))
    )


def is_unusual(value: Any) -> bool:
    """Tell whether an answer means something to hookbus: a verdict; or nothing: a generator."""
    return type(value) not in _PLAIN_TYPES and (
        isinstance(value, _VERDICTS) or inspect.isgenerator(value)
    )


Done = tuple[Any, BaseException | None]
"""What an implementation answered, or raised."""


@attrs.frozen
class Answered:
    """What an implementation answered, None too, which Bub counts where hookbus has no answer."""

    value: Any


@attrs.define(eq=False)
class Asking:
    """One call of one hook, its answers understood as Bub does.

    Attributes:
        plugins: whose implementations are asked.
        hook: the name of the hook.
        impls: pluggy's records of the implementations, in the order they run, as they were when the
            call began.
        is_first: whether the first answer ends it; else every answer counts.
        is_sync: whether it cannot await.
        only: the implementations that are asked where not all are.
        with_others: whether receivers connected to hookbus itself run then.
        stage: where the reported error happened.
        failure: what an implementation raised.
        interrupt: the same where there is no other receiver, and hookbus would continue: a
            CancelledError that it made itself.
        done: what the first implementations have answered already, each a value and an exception;
            they are not called again.
        reached: how many implementations have had their turn.
        is_over: whether everybody was asked in line.
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
        """Tell whether this says that an implementation has raised."""
        return self.failure is not None and error.__cause__ is self.failure

    def result(self, value: Any) -> Any:
        """Return the result of the call, or raise what it was interrupted by."""
        if self.interrupt is not None:
            raise self.interrupt
        return value

    def asks(self, plugins: Any, index: int) -> bool:
        """Tell whether the implementation at this place is asked in this call, and of these
        plugins."""
        return (
            plugins is self.plugins
            and self.interrupt is None
            and (self.only is None or self.impls[index] in self.only)
        )

    def ask(self, index: int, given: dict[str, Any], arguments: Mapping[str, Any]) -> Any:
        """Ask one implementation with what it asks for; return what its answer means, or an
        awaitable of that."""
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
        """Return the arguments as an implementation gets them."""
        return given

    async def _awaited(self, impl: Any, value: Any, arguments: Mapping[str, Any]) -> Any:
        try:
            return self.read(impl, await value, arguments)
        except BaseException as error:
            self.failed(impl, error)
            raise

    def read(self, impl: Any, value: Any, arguments: Mapping[str, Any]) -> Any:
        """Return what an answer means to hookbus."""
        return Answered(value)

    def unawaited(self, impl: Any, value: Any) -> Any:
        """Return what an awaitable means where nothing can be awaited."""
        warn("hook.async_not_supported hook={} adapter={}", self.hook, title_of(impl))
        return Answered(_SKIPPED)

    def failed(self, impl: Any, error: BaseException) -> None:
        """Note what an implementation raised; it is on its way to hookbus."""
        self.failure = error


class Notice(Asking):
    """One call of `on_error`, whose failures Bub logs."""

    on_error = "isolate"

    def failed(self, impl: Any, error: BaseException) -> None:
        if is_cancelled_by_nobody(error):
            self.interrupt = error
        if isinstance(error, Exception):
            warn(
                "hook.on_error_failed stage={} adapter={}", self.stage, title_of(impl),
                has_trace=True,
            )  # fmt: skip


class PlainAsking(Asking):
    """One call whose implementations are receivers of hookbus like any other, as `strict=True` has
    them."""

    on_error = "isolate"

    def read(self, impl: Any, value: Any, arguments: Mapping[str, Any]) -> Any:
        if inspect.isgenerator(value) and self.hook not in _SCOPED:
            value.close()
            raise HookError(
                f"{title_of(impl)} answered {self.hook} with a generator, which is not an answer"
            )
        return value

    def unawaited(self, impl: Any, value: Any) -> Any:
        return value  # hookbus closes it, and counts it as a failure

    def failed(self, impl: Any, error: BaseException) -> None:
        if isinstance(error, SystemExit) and self.hook == "on_error":
            raise HookError(f"{title_of(impl)} tried to end the process in {self.hook}") from error


ASKING: ContextVar[Asking | None] = ContextVar("hookbus_bub_asking", default=None)


def current(hook: str) -> Asking:
    """Return the current call.

    Raises:
        HookError: if the hook is asked past Bub.
    """
    asking = ASKING.get()
    if asking is None or asking.hook != hook:
        raise HookError(
            f"{hook} is called by Bub: call its framework, or HookRuntime.call_first({hook!r}, ...)"
        )
    return asking


def mode_of(hook: str) -> Callable[[Sequence[Receiver[Any]]], Steps[Any, Any]]:
    """Return the mode of a hook as Bub has it: one after the other, until the first answer or all
    of them."""

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


def is_cancelled_by_nobody(error: BaseException) -> bool:
    """Tell whether a CancelledError was made up: neither the task was cancelled nor a deadline is
    over."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return True
    return task is None or not task.cancelling()


def title_of(impl: Any) -> str:
    """Return the name of the plugin an implementation belongs to."""
    return impl.plugin_name or "<unknown>"


def warn(message: str, *words: str, has_trace: bool = False) -> None:
    """Warn in the log that Bub writes to."""
    import_module("loguru").logger.opt(exception=has_trace).warning(message, *words)
