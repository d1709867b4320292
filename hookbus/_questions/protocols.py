"""What a type checker sees of a hookspec: by its mode and its colour, what asking gives."""

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
    """How a question is declared."""

    name: str | None
    bus: Bus
    historic: bool


class Connects(Protocol):
    """What a hookspec has of its signal; `weak` and the options are those of `HookSignal.connect`,
    without sender and role.

    `on_error` says what a receiver's failure does: `"isolate"` (the default: the others are asked
    all the same), `"raise"` (`ReceiverError` goes out) or `"block"` (the question is blocked:
    `HookBlocked`).
    """

    signal: HookSignal

    def connect(
        self, receiver: F, *, weak: bool | None = None, **options: Unpack[QuestionOptions]
    ) -> F:
        """Have a function answer; it is returned."""
        ...

    def connect_via(
        self, *, weak: bool | None = None, **options: Unpack[QuestionOptions]
    ) -> Callable[[F], F]:
        """Return a decorator that connects what it decorates."""
        ...

    def connected_to(
        self, receiver: Callable[..., Any], *, weak: bool | None = None,
        **options: Unpack[QuestionOptions],
    ) -> Connection:  # fmt: skip
        """Connect at once and return the handle, for a `with` block or to keep."""
        ...

    def disconnect(self, receiver: Callable[..., Any]) -> None:
        """Disconnect a receiver. What is not there is no error."""
        ...

    def muted(self) -> AbstractContextManager[None]:
        """Ask nobody in the current task (or thread) while the block is open."""
        ...

    def retire(self) -> None:
        """Take the question back: its name is free on its bus again, and it asks nobody from now
        on.

        Who was connected stays connected to the name, for the question that has it next.
        """
        ...


class Hookspec(Connects, Protocol[P, T_co, R_co]):
    """A question of a plain `def`: receivers answer with T, asking gives R."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Ask."""
        ...

    def ask(self, *args: P.args, **kwargs: P.kwargs) -> Answers[T_co, R_co]:
        """Ask with the args and kwargs of a call, those too whom the mode does not need; return who
        answered what and who failed.
        """
        ...

    def replay(self) -> tuple[Answers[T_co, R_co], ...]:
        """Ask who was connected since of everything a historic question was asked before, in order;
        see what they answer.
        """
        ...

    def scope(self) -> AbstractContextManager[None]:
        """Return a `with` block in which each receiver that answers with a context manager is
        entered once.
        """
        ...


class AsyncHookspec(Connects, Protocol[P, T_co, R_co]):
    """A question of an `async def`: receivers answer with T, awaiting it gives R."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]:
        """Ask."""
        ...

    def ask(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, Answers[T_co, R_co]]:
        """Ask with the args and kwargs of a call, those too whom the mode does not need; return who
        answered what and who failed.
        """
        ...

    def replay(self) -> Coroutine[Any, Any, tuple[Answers[T_co, R_co], ...]]:
        """Ask who was connected since of everything a historic question was asked before, in order;
        see what they answer.
        """
        ...

    def scope(self) -> AbstractAsyncContextManager[None]:
        """Return an `async with` block in which each receiver that answers with a context manager
        is entered once.
        """
        ...


# -- what a mode makes of T ---------------------------------------------------------------------

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
    """A decorator of questions whose result is R whatever receivers answer with."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> AsyncHookspec[P, T, R_co]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[P, T], /) -> Hookspec[P, T, R_co]: ...


class OfOne(Protocol):
    """A decorator of questions whose result is one answer, or None."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> AsyncHookspec[P, T, T | None]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[P, T], /) -> Hookspec[P, T, T | None]: ...


class OfMany(Protocol):
    """A decorator of questions whose result is a list of answers."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> AsyncHookspec[P, T, list[T]]: ...  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, function: Callable[P, T], /) -> Hookspec[P, T, list[T]]: ...
