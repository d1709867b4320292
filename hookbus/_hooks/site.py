"""The settings of a hookable, and its position in the class of a first argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypedDict, Unpack

from .._callables.callables import is_async_callable
from .._ground.errors import did_you_mean
from ..exceptions import HookBlocked, HookError


class Site(NamedTuple):
    """The settings and the position of a hookable, for the class of one first argument. An override
    inherits each setting for which it has no value of its own.

    Attributes:
        attribute: the attribute name of the hookable in the class, or None for a function or
            staticmethod.
        is_owner: whether the hookable is the first with its name in the MRO. Only the first
            hookable runs receivers. The others run their bodies directly.
        is_guarded: whether a call is blocked if no guard covers it.
        on_block: a function that returns the value for the caller of a blocked call.
        is_sealed: whether a call is blocked if contents of arguments change after the guards.
        passes: the exceptions of the body that pause the call and are not failures.
        identity: a function that returns the string by which approvals identify a sender.
    """

    attribute: str | None
    is_owner: bool = True
    is_guarded: bool = False
    on_block: Callable[[Any], Any] | None = None
    is_sealed: bool = True
    passes: tuple[type[BaseException], ...] = ()
    identity: Callable[[Any], str] | None = None


class HookSettings(NamedTuple):
    """The settings of a hookable, except for its name and its bus. None means that the setting is
    inherited.

    Attributes:
        require_guard: whether a call is blocked if no guard covers it.
        on_block: a function that returns the value for the caller of a blocked call.
        sender: the name of the argument that is the sender of a function's calls. None means the
            function itself.
        async_receivers: whether a plain function waits for async receivers on an event loop.
        sealed: whether a call is blocked if contents of arguments change after the guards.
        passes: the exceptions with which the body hands control back to its framework.
        labels: the arguments that identify a call. `Started` and `Finished` always contain them.
        read_only: the arguments whose plain containers are read-only for receivers.
        sealed_fields: the arguments in which fields of objects are also sealed. `"result"` stands
            for the result and each item.
        hidden: the last parameters, if receivers must not see them. The body gets their values
            unchanged.
        identity: a function that returns the string by which approvals identify a sender.
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


DEFAULTS: Final = HookSettings()


class HookOptions(TypedDict, total=False):
    """The keyword options of `hookable` and `instrument`, except for the bus."""

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


_OPTIONS: Final = frozenset(HookSettings._fields)
_LISTS: Final = frozenset({"passes", "labels", "read_only", "sealed_fields", "hidden"})


def settings_of(**options: Unpack[HookOptions]) -> HookSettings:
    """Check the settings of a hookable, and return them.

    Raises:
        HookError: if an option is unknown or has a value of the wrong type.
    """
    for name in options.keys() - _OPTIONS:
        known = {*_OPTIONS, "bus", "subclasses"}
        raise HookError(f"{name!r} is not an option{did_you_mean(name, known)}")
    lists = {
        name: _listed(name, options[name])  # type: ignore[literal-required]
        for name in _LISTS & options.keys()
    }
    settings = HookSettings(**{**options, **lists})  # type: ignore[arg-type]
    flags = (("require_guard", True), ("sealed", True), ("async_receivers", False))
    for name, is_optional in flags:
        value = getattr(settings, name)
        if not isinstance(value, bool) and not (is_optional and value is None):
            raise HookError(f"{name}={value!r:.60} must be True or False")
    functions = (
        ("on_block", "the HookBlocked and returns what the caller gets"),
        ("identity", "the sender and returns a string"),
    )
    for name, takes in functions:
        function = getattr(settings, name)
        if function is not None and (not callable(function) or is_async_callable(function)):
            raise HookError(f"{name}={function!r:.60} must be a plain function that takes {takes}")
    for each in settings.passes or ():
        _check_pause(each)
    return settings


def _listed(name: str, value: Any) -> tuple[Any, ...] | None:
    if value is None and name == "passes":
        return None
    wanted = "exception classes" if name == "passes" else "argument names"
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise HookError(f"{name}={value!r:.60} must be a tuple or list of {wanted}")
    found = tuple(value)
    if name != "passes" and not all(isinstance(each, str) for each in found):
        raise HookError(f"{name}={value!r:.60} must be a tuple or list of {wanted}")
    return found


def _check_pause(cls: Any) -> None:
    """Raise HookError for exception classes that would turn every failure, or a block, into a
    pause.
    """
    if not isinstance(cls, type) or not issubclass(cls, BaseException):
        raise HookError(f"passes= takes exception classes, not {cls!r:.60}")
    if issubclass(HookBlocked, cls) or issubclass(cls, HookError):
        raise HookError(
            f"passes= must not contain {cls.__qualname__}: name the exceptions by which the "
            "framework hands control back"
        )
