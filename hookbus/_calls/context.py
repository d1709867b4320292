"""The context of a call for its receivers, and rare facts about the call."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextvars import ContextVar
from functools import partial
from itertools import count
from typing import Any, Final, NoReturn, Protocol, TypeVar, dataclass_transform

from .._connections.senders import describe
from .._connections.verdicts import NOTHING
from .._ground.baggage import NOTHING_AROUND
from ..exceptions import CallPaused

R_co = TypeVar("R_co", covariant=True)


_FIXED_ARGUMENTS: Final = (
    "these arguments are read-only here: only a modifier of `pre` may change them, "
    "and an around passes call_next(name=value)"
)
_FIXED_CONTEXT: Final = "ctx is read-only: return the changes instead"


class ReadOnly(MutableMapping[str, Any]):
    """The arguments of a call, for receivers that must not change them.

    A write raises TypeError and is recorded. The receiver then fails, even if it catches the
    exception.
    """

    __slots__ = ("_bindings", "tampered")

    def __init__(self, bindings: Mapping[str, Any]) -> None:
        self._bindings = bindings
        self.tampered = False

    def __getitem__(self, name: str) -> Any:
        return self._bindings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._bindings)

    def __len__(self) -> int:
        return len(self._bindings)

    def __repr__(self) -> str:
        return f"ReadOnly({', '.join(self._bindings)})"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        self.tampered = True
        raise TypeError(_FIXED_ARGUMENTS)

    __setitem__ = __delitem__ = __ior__ = pop = popitem = clear = _refuse
    update = setdefault = _refuse  # pyright: ignore[reportAssignmentType]


@dataclass_transform(frozen_default=True)
class _Facts:
    """The attributes of a context before the context becomes read-only."""

    __slots__ = (
        "baggage", "call_id", "error", "hook", "is_async", "kwargs", "outcome", "phase", "result",
        "sender", "state",
    )  # fmt: skip


class HookContext(_Facts):
    """The context of one call. A receiver gets the context as the parameter `ctx`.

    hookbus creates the context. It is read-only: an assignment to an attribute raises
    AttributeError.

    Attributes:
        hook: the name of the hook.
        phase: the phase in which the receiver is called.
        sender: the object whose method runs.
        kwargs: all arguments by parameter name. A `pre` modifier may assign `ctx.kwargs[name]`. In
            any other receiver, a write raises TypeError and the receiver fails.
        result: the current result in the phases that have a result, else None.
        error: in `error` and `finally`, the exception of the call, or None.
        outcome: in `finally`, the outcome of the call. In other phases, None.
        call_id: the number of the call, unique in this process.
        baggage: the values of the `with baggage(...)` blocks around the call.
        state: a dict that the receivers of this call share.
        is_async: whether the caller awaits the call.
    """

    __slots__ = ()

    hook: str
    phase: str
    sender: Any
    kwargs: MutableMapping[str, Any]
    result: Any
    error: BaseException | None
    outcome: str | None
    call_id: int
    baggage: Mapping[str, Any]
    state: dict[Any, Any]
    is_async: bool

    def _refuse(self, *_: Any) -> NoReturn:
        raise AttributeError(_FIXED_CONTEXT)

    __setattr__ = __delattr__ = _refuse

    def __repr__(self) -> str:
        return f"HookContext({self.phase}_{self.hook}, call {self.call_id})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(make_context, **_values(self)), ()

    @property
    def description(self) -> str:
        """The description of the sender in events."""
        return describe(self.sender)

    def snapshot(self) -> HookContext:
        """Return a separate context whose `kwargs` and `result` are deep copies. If a value cannot
        be copied, the method raises an exception.
        """
        copied = copy.deepcopy(dict(self.kwargs)), copy.deepcopy(self.result)
        return self.__replace__(kwargs=copied[0], result=copied[1])

    def __replace__(self, **changes: Any) -> HookContext:
        """Return a copy with some changed attributes. `copy.replace` of Python 3.13 calls this
        method.
        """
        return make_context(**{**_values(self), **changes})


def make_context(
    hook: str, phase: str, sender: Any, kwargs: MutableMapping[str, Any], result: Any,
    error: BaseException | None, outcome: str | None, call_id: int, baggage: Mapping[str, Any],
    state: dict[Any, Any], is_async: bool, new: Callable[[type[_Facts]], _Facts] = object.__new__,
) -> HookContext:  # fmt: skip
    """Return a context with these attributes."""
    context: Any = new(_Facts)
    context.hook = hook
    context.phase = phase
    context.sender = sender
    context.kwargs = kwargs
    context.result = result
    context.error = error
    context.outcome = outcome
    context.call_id = call_id
    context.baggage = baggage
    context.state = state
    context.is_async = is_async
    context.__class__ = HookContext  # from now on, assigning an attribute raises
    return context  # type: ignore[no-any-return]


def _values(context: _Facts) -> dict[str, Any]:
    return {name: getattr(context, name) for name in _Facts.__slots__}


class CallNext(Protocol[R_co]):
    """The type of `call_next`. An around calls `call_next` to run the inner arounds and the method.

    Its type parameter is the return type of a call: `CallNext[str]` for a plain method and
    `CallNext[Awaitable[str]]` for an async method. For streams, use `CallNext[Iterator[str]]` and
    `CallNext[AsyncIterator[str]]`. Use this type only in annotations.
    """

    def __call__(self, **patch: Any) -> R_co:
        """Run the inner arounds and the method, with the arguments in `patch` changed. If an around
        changes arguments or repeats the call, the guards run again.
        """
        ...


next_call_id: Final = count(1).__next__

ENCLOSING: ContextVar[list[int] | None] = ContextVar("hookbus_enclosing_call", default=None)
"""The number of the observed call that contains the running code. A call is observed if a listener
gets its start or end. The list is empty when that call has ended.
"""


class _Made:
    """An attribute whose value is created on first access."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, call: Any, owner: type) -> Any:
        return call.__dict__.setdefault(self._name, self._make(call))


class Call:
    """Rare facts about one call, and data that its receivers share. Most calls never create this
    object.

    Attributes:
        plan: the plan that contains the receivers of the call.
        sender: the object whose method runs.
        described: the description of the sender, after its first use.
        id: the number of the call.
        parent_id: the number of the observed call that made this call.
        began: the value of `time.perf_counter` when the call started.
        labels: the labels of the call, if its start or end has a listener.
        state: the value of `ctx.state`.
        results: the inner result of each around by its depth, if a listener gets changes.
        tries: the attempts of each around by its depth, for `Attempted`.
        blocked: the receiver's seat and the verdict that blocked the call, or None.
        blocked_value: the value that the caller of a blocked call gets instead of an exception, or
            NOTHING.
        inner: the last exception raised inside an around. An around fails only if it raises another
            exception.
        broken: the exception of a failed receiver with `on_error="raise"`. The caller gets this
            exception even if an around suppresses it.
        own_cancel: a CancelledError that a receiver raised itself. The caller gets this exception.
        paused: the exception that arounds get after the method has handed control back to its
            framework.
        is_over: whether the arounds have ended. Attempts that are still running after that have no
            effect.
        cancels: the number of cancellation requests to the caller's task when the call ended. Every
            later request concerns the caller.
        arguments: the arguments of the last attempt that patched or repeated, for later receivers.
        outer: the value of `ENCLOSING` outside the call. `inside` is the value within the call.
        carried: the context variables that listeners of `Started` set for the body of a stream.
        said: the answer of the current receiver, for `Invoked`.
    """

    results = _Made(lambda call: {})
    tries = _Made(lambda call: {})
    described = ""
    parent_id: int | None = None
    labels: Mapping[str, str] = NOTHING_AROUND
    blocked: Any = None
    blocked_value: Any = NOTHING
    inner: BaseException | None = None
    broken: BaseException | None = None
    own_cancel: BaseException | None = None
    paused: CallPaused | None = None
    is_over = False
    said = "nothing"
    began = 0.0
    cancels = 0
    arguments: Any = None
    outer: list[int] | None = None
    inside: Any = ()
    carried: Any = None

    def __init__(self, plan: Any, sender: Any) -> None:
        self.plan = plan
        self.sender = sender
        self.id = next_call_id()
        self.state: dict[Any, Any] = {}

    @property
    def description(self) -> str:
        """The description of the sender in events, created on first access."""
        if not self.described:
            self.described = self.plan.describe_sender(self.sender)
        return self.described
