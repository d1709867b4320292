"""Types of hookspecs for type checkers. The result type of a question depends on its mode and kind.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from .._bus import Bus
from .._connections.connection import Connection
from .._connections.options import QuestionOptions
from .._connections.signal import F, HookSignal
from ..modes import Answers, AsyncSteps, Receiver, Steps

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)


class Declared(TypedDict, total=False):
    """The options of `hookspec`."""

    name: str | None
    bus: Bus
    historic: bool


class Connects(Protocol):
    """The methods that a hookspec shares with its signal. `weak` and the options are the same as in
    `HookSignal.connect`, except for the sender and the role. `on_error` is the failure policy of
    the receiver. With `"isolate"` (the default), the other receivers are still called. With
    `"raise"`, the caller gets a `ReceiverError`. With `"block"`, the question is blocked and the
    caller gets `HookBlocked`.
    """

    signal: HookSignal

    def connect(
        self, receiver: F, *, weak: bool | None = None, **options: Unpack[QuestionOptions]
    ) -> F:
        """Connect a receiver that answers the question, and return it."""
        ...

    def connect_via(
        self, *, weak: bool | None = None, **options: Unpack[QuestionOptions]
    ) -> Callable[[F], F]:
        """Return a decorator that connects the decorated function."""
        ...

    def connected_to(
        self, receiver: Callable[..., Any], *, weak: bool | None = None,
        **options: Unpack[QuestionOptions],
    ) -> Connection:  # fmt: skip
        """Connect a receiver immediately, and return the handle of the connection. You can use the
        handle in a `with` statement.
        """
        ...

    def disconnect(self, receiver: Callable[..., Any]) -> None:
        """Disconnect a receiver. If the receiver is not connected, nothing happens."""
        ...

    def muted(self) -> AbstractContextManager[None]:
        """Suppress the receivers in the current task or thread while the block is open."""
        ...

    def retire(self) -> None:
        """Remove the question. The question no longer calls receivers, and its name becomes free on
        its bus. Its receivers stay connected for the next question with that name.
        """
        ...


class Hookspec(Connects, Protocol[P, T_co, R_co]):
    """A question declared with a plain `def`. Receivers return T, and calling the question returns
    R."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Ask the question and return the result."""
        ...

    def ask(self, *args: P.args, **kwargs: P.kwargs) -> Answers[T_co, R_co]:
        """Ask the question with `args` and `kwargs`, and also call the receivers that the mode does
        not need. Return all answers and failures.
        """
        ...

    def replay(self) -> tuple[Answers[T_co, R_co], ...]:
        """Repeat every earlier call of a historic hookspec, in order, for receivers that were
        connected later. Return their answers.
        """
        ...

    def scope(self) -> AbstractContextManager[None]:
        """Return a context manager for a `with` statement. In its block, each context manager that
        a receiver returns is entered only once.
        """
        ...


class AsyncHookspec(Connects, Protocol[P, T_co, R_co]):
    """A question declared with `async def`. Receivers return T, and awaiting the question returns
    R."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]:
        """Ask the question and return the result."""
        ...

    def ask(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, Answers[T_co, R_co]]:
        """Ask the question with `args` and `kwargs`, and also call the receivers that the mode does
        not need. Return all answers and failures.
        """
        ...

    def replay(self) -> Coroutine[Any, Any, tuple[Answers[T_co, R_co], ...]]:
        """Repeat every earlier call of a historic hookspec, in order, for receivers that were
        connected later. Return their answers.
        """
        ...

    def scope(self) -> AbstractAsyncContextManager[None]:
        """Return a context manager for an `async with` statement. In its block, each context
        manager that a receiver returns is entered only once.
        """
        ...


# -- the result types of modes -------------------------------------------------------------------

Some = Sequence[Receiver[Any]]
Asks = Callable[[Some], Steps[Any, R]]
AsksWith = Callable[[Some, Mapping[str, Any]], Steps[Any, R]]
AsksAsync = Callable[[Some], AsyncSteps[Any]] | Callable[[Some, Mapping[str, Any]], AsyncSteps[Any]]


class Void(Protocol):
    def __call__(self, receivers: Sequence[Receiver[object]], /) -> Steps[object, None]: ...


class One(Protocol):
    def __call__(self, receivers: Sequence[Receiver[T]], /) -> Steps[T, T | None]: ...


class Many(Protocol):
    def __call__(self, receivers: Sequence[Receiver[T]], /) -> Steps[T, list[T]]: ...


class Of(Protocol[R_co]):
    """A decorator for questions whose result is R, regardless of the type of the answers."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> AsyncHookspec[P, T, R_co]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[P, T], /) -> Hookspec[P, T, R_co]: ...


class OfOne(Protocol):
    """A decorator for questions whose result is one answer, or None."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> AsyncHookspec[P, T, T | None]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[P, T], /) -> Hookspec[P, T, T | None]: ...


class OfMany(Protocol):
    """A decorator for questions whose result is a list of answers."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> AsyncHookspec[P, T, list[T]]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[P, T], /) -> Hookspec[P, T, list[T]]: ...
