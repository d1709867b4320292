"""What a hookable is: by its maker's word, and for one kind of first argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
        on_block: what gives the caller of a blocked call something else than an exception; likewise.
        is_sealed: whether contents of arguments that change after a guard judged them block the
            call; likewise.
        passes: exceptions of the body that pause the call and are not its failure; likewise.
        identity: what a sender is known by where a call is approved; likewise.
    """

    attribute: str | None
    is_owner: bool = True
    is_guarded: bool = False
    on_block: Callable[[Any], Any] | None = None
    is_sealed: bool = True
    passes: tuple[type[BaseException], ...] = ()
    identity: Callable[[Any], str] | None = None


class Given(NamedTuple):
    """What a hookable was given besides its name and its bus.

    Attributes:
        require_guard: whether a call that no guard watches over is blocked; None is as a parent says.
        on_block: what gives the caller of a blocked call its value; None is as a parent says.
        sender: the argument of a function that is the sender of its calls; None is the function.
        async_receivers: whether a plain function waits for its async receivers, on a loop of theirs.
        sealed: whether contents that change after a guard judged them block the call; None is as a
            parent says.
        passes: exceptions by which the body hands control back to its framework; likewise.
        labels: arguments that name a call; they are in `Started` and `Finished` without values.
        read_only: arguments whose plain containers receivers get as read-only ones.
        sealed_fields: arguments in which the fields of objects are sealed, too; `"result"` is the
            result, and each item.
        hidden: the last parameters, which no receiver sees and the body gets as they are.
        identity: what a sender is known by where a call is approved; None is as a parent says.
    """

    require_guard: bool | None = None
    on_block: Callable[[Any], Any] | None = None
    sender: str | None = None
    async_receivers: bool = False
    sealed: bool | None = None
    passes: tuple[type[BaseException], ...] | None = None
    labels: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    sealed_fields: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    identity: Callable[[Any], str] | None = None


NOTHING_SAID: Final = Given()


def site_of(
    settings: list[Given], attribute: str | None, is_owner: bool, is_required: bool
) -> Site:
    """Return what a hookable is by its own settings and, after them, those of what it overrides."""
    require_guard = next((each.require_guard for each in settings if each.require_guard is not None), False)
    on_block = next((each.on_block for each in settings if each.on_block is not None), None)
    sealed = next((each.sealed for each in settings if each.sealed is not None), True)
    passes = next((each.passes for each in settings if each.passes is not None), ())
    identity = next((each.identity for each in settings if each.identity is not None), None)
    return Site(attribute, is_owner, require_guard or is_required, on_block, sealed, passes, identity)


class HookOptions(TypedDict, total=False):
    """What `hookable` and `instrument` take by keyword, besides the bus."""

    require_guard: bool | None
    on_block: Callable[[HookBlocked], Any] | None
    sender: str | None
    async_receivers: bool
    sealed: bool | None
    passes: Iterable[type[BaseException]] | None
    labels: Iterable[str]
    read_only: Iterable[str]
    sealed_fields: Iterable[str]
    hidden: Iterable[str]
    identity: Callable[[Any], str] | None


_OPTIONS: Final = frozenset(Given._fields)
_LISTS: Final = frozenset({"passes", "labels", "read_only", "sealed_fields", "hidden"})


def given_of(**options: Unpack[HookOptions]) -> Given:
    """Return what a hookable is given.

    Raises:
        HookError: for what is none of it, or of another kind.
    """
    for name in options.keys() - _OPTIONS:
        known = {*_OPTIONS, "bus", "subclasses"}
        raise HookError(f"there is no option {name!r}{did_you_mean(name, known)}")
    lists = {name: _listed(name, options[name]) for name in _LISTS & options.keys()}  # type: ignore[literal-required]
    given = Given(**{**options, **lists})  # type: ignore[arg-type]
    for name, is_optional in (("require_guard", True), ("sealed", True), ("async_receivers", False)):
        value = getattr(given, name)
        if not isinstance(value, bool) and not (is_optional and value is None):
            raise HookError(f"{name}={value!r:.60} must be True or False")
    if given.on_block is not None and (
        not callable(given.on_block) or is_async_callable(given.on_block)
    ):
        raise HookError(
            f"on_block={given.on_block!r:.60} must be a plain function of the HookBlocked, which "
            "returns what the caller gets"
        )
    for each in given.passes or ():
        _check_pause(each)
    if given.identity is not None and (
        not callable(given.identity) or is_async_callable(given.identity)
    ):
        raise HookError(
            f"identity={given.identity!r:.60} must be a plain function from the sender to a string"
        )
    return given


def _listed(name: str, value: Any) -> tuple[Any, ...] | None:
    if value is None and name == "passes":
        return None
    wanted = "exception classes" if name == "passes" else "names of arguments"
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise HookError(f"{name}={value!r:.60} must be a tuple of {wanted}")
    found = tuple(value)
    if name != "passes" and not all(isinstance(each, str) for each in found):
        raise HookError(f"{name}={value!r:.60} must be a tuple of {wanted}")
    return found


def _check_pause(cls: Any) -> None:
    """Refuse what would let every failure, or a block, pass as a pause."""
    if not isinstance(cls, type) or not issubclass(cls, BaseException):
        raise HookError(f"passes= takes exception classes, not {cls!r:.60}")
    if issubclass(HookBlocked, cls) or issubclass(cls, HookError):
        raise HookError(
            f"passes= must not hold {cls.__qualname__}: name the exceptions by which the framework "
            "hands control back"
        )
