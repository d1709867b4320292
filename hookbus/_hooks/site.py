"""What a hookable is: by its maker's word, and for one kind of first argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypedDict, Unpack

from .._connections.callables import is_async_callable
from ..exceptions import HookBlocked, HookError, did_you_mean


class Site(NamedTuple):
    """What a hookable is for one kind of first argument.

    Attributes:
        attribute: the name under which a class holds it, or None for a function or staticmethod.
        is_owner: whether it is the first hookable of its name in the class' MRO; only that one runs
            the hooks, any other is its bare body.
        is_guarded: whether a call that no guard watches over is blocked; a parent's word holds
            until an override says another.
        blocked: what gives the caller of a blocked call something else than an exception; likewise.
    """

    attribute: str | None
    is_owner: bool = True
    is_guarded: bool = False
    blocked: Callable[[Any], Any] | None = None


class Given(NamedTuple):
    """What a hookable was given besides its name and its bus.

    Attributes:
        guarded: whether a call that no guard watches over is blocked; None is as a parent says.
        blocked: what gives the caller of a blocked call its value; None is as a parent says.
        sender: the argument of a function that is the sender of its calls; None is the function.
        awaits: whether a plain function waits for its async receivers, on a loop of theirs.
    """

    guarded: bool | None = None
    blocked: Callable[[Any], Any] | None = None
    sender: str | None = None
    awaits: bool = False


NOTHING_SAID: Final = Given()


class HookOptions(TypedDict, total=False):
    """What `hookable` and `instrument` take by keyword, besides the bus."""

    guarded: bool | None
    blocked: Callable[[HookBlocked], Any] | None
    sender: str | None
    awaits: bool


_OPTIONS: Final = frozenset(Given._fields)


def given_of(**options: Unpack[HookOptions]) -> Given:
    """Return what a hookable is given.

    Raises:
        HookError: for what is none of it, or of another kind.
    """
    for name in options.keys() - _OPTIONS:
        known = {*_OPTIONS, "bus", "subclasses"}
        raise HookError(f"there is no option {name!r}{did_you_mean(name, known)}")
    given = Given(**options)
    for name, value in (("guarded", given.guarded), ("awaits", given.awaits)):
        if not isinstance(value, bool) and (name != "guarded" or value is not None):
            raise HookError(f"{name}={value!r:.60} must be True or False")
    if given.blocked is not None and (
        not callable(given.blocked) or is_async_callable(given.blocked)
    ):
        raise HookError(
            f"blocked={given.blocked!r:.60} must be a plain function of the HookBlocked, which "
            "returns what the caller gets"
        )
    return given
