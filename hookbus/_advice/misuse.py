"""Describe exceptions of receivers that misused hookbus."""

from __future__ import annotations

from typing import Final

from .._callables.instructions import is_raised_here
from .._calls.context import HookContext, ReadOnly
from .._calls.emitting import ONLY_A_MODIFIER
from .._calls.plan import Seat
from .._connections.failures import is_raised_by, traces_of
from .._contents.read_only import WriteRefused
from .._ground.errors import args_of, call_id_of, is_a, name_of_class
from ..exceptions import HookBlocked

_NOT_RAISABLE: Final = ("exceptions must derive from BaseException",)
"""The arguments of the exception that Python raises for `raise Block(...)`."""

_REFUSES_ARGUMENTS: Final = ReadOnly._refuse.__code__
"""The code that refuses a change of the arguments."""

_REFUSES_ATTRIBUTES: Final = HookContext._refuse.__code__
"""The code that refuses a change of a context."""


def describe_misuse(seat: Seat, error: BaseException) -> str | None:
    """Return a message if a receiver misused hookbus: it raised a verdict, wrote to read-only data,
    or called its own hook.
    """
    name, hook, kind = seat.receiver.name, seat.signal.hook, name_of_class(type(error))
    if type(error) is TypeError and _texts(error) == _NOT_RAISABLE:
        is_verdict = "raised an object that is not an exception; to return a verdict"
        return f"{name} {is_verdict}, write return Block(reason)"
    if seat.phase == "around":
        return None
    if seat.receiver.role in ("guard", "modify") and _is_refusal(error):
        as_guard = "" if seat.receiver.role == "guard" else ", and connect it with role='guard'"
        return f"{kind} was raised; to block the call, write return Block(reason){as_guard}"
    if is_raised_by(error, _REFUSES_ARGUMENTS):
        return f"{name} wrote to ctx.kwargs, {ONLY_A_MODIFIER}"
    if is_raised_by(error, _REFUSES_ATTRIBUTES):
        return f"{name} assigned to ctx, which is read-only; return the changes instead"
    if type(error) is WriteRefused:
        return f"{name} changed an argument in place: {error}"
    if is_a(error, HookBlocked) and _texts(error)[1:3] == (name, hook):
        return f"{name} calls {hook}, which calls it again; stop the recursion with a condition"
    return None


def _texts(error: BaseException) -> tuple[str | None, ...]:
    """Return the arguments of an exception as a tuple. In the tuple, None replaces arguments that
    are not strings.
    """
    return tuple(each if type(each) is str else None for each in args_of(error))


def _is_refusal(error: BaseException) -> bool:
    """Return whether code raised a refusal: a `HookBlocked` that it created, or a
    `PermissionError`. A `HookBlocked` from another call is not a refusal.
    """
    if issubclass(type(error), HookBlocked):
        return call_id_of(error) is None
    last = list(traces_of(error))[-1:]
    return issubclass(type(error), PermissionError) and any(map(is_raised_here, last))
