"""instrument: hook methods of a class nobody here wrote, and take it back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ._bus import Bus, default_bus
from ._calls.verdicts import NOTHING
from ._hookable import hookable
from ._hooks.hook import Hook, hook_of
from ._hooks.overrides import with_subclasses
from .exceptions import HookError, did_you_mean

Undo = Callable[[], None]


def instrument(
    cls: type, *methods: str | Mapping[str, str], bus: Bus = default_bus, subclasses: bool = False,
    above: Callable[[Any], Any] | None = None,
) -> Undo:  # fmt: skip
    """Make named methods of an existing class hookable.

    Args:
        cls: the class.
        methods: names of methods, each also the hook's name; or mappings of method to hook name.
        bus: the bus the signals live on.
        subclasses: wrap overrides in subclasses too, those that exist and those that will.
        above: given each hookable method, returns the plain function that the class is to hold
            instead and that calls it; it stands for the hookable where `explain` and the
            connections look for one.

    Returns:
        A function that puts everything back as it was. Calling it twice does nothing.

    Raises:
        HookError: for a method that is missing, built in or not a function; then nothing has
            changed.
    """
    if not isinstance(cls, type):
        raise HookError(f"instrument takes a class and names of its methods, not {cls!r:.60}")
    names = _hook_names(cls, methods)
    for attribute, name in names.items():
        _check(cls, attribute, name, bus)
    made, undos = _Made(bus, above), list[Undo]()

    def undo() -> None:
        while undos:
            undos.pop()()

    try:
        for attribute, name in names.items():
            _wrap(cls, attribute, name, made, undos)
        if subclasses:
            for below in with_subclasses([cls]):
                _wrap_overrides(below, names, made, undos)
            on_new = partial(_wrap_overrides, names=names, made=made, undos=undos)
            undos.append(_watch_subclasses(cls, on_new))
    except BaseException:
        undo()
        raise
    return undo


def _hook_names(cls: type, methods: tuple[str | Mapping[str, str], ...]) -> dict[str, str]:
    names: dict[str, str] = {}
    for method in methods:
        names.update({method: method} if isinstance(method, str) else method)
    if not names:
        raise HookError(
            f"instrument({cls.__qualname__}) names no method; write instrument({cls.__qualname__}, "
            "'method')"
        )
    return names


def _check(cls: type, attribute: str, name: str, bus: Bus) -> None:
    """Refuse what cannot be hooked, before anything is."""
    where = f"{cls.__qualname__}.{attribute}"
    raw = inspect.getattr_static(cls, attribute, NOTHING)
    if raw is NOTHING:
        raise HookError(
            f"{where} does not "
            f"exist{did_you_mean(attribute, (n for n in dir(cls) if n[:2] != '__'))}"
        )
    present = hook_of(raw)
    if present is not None and not (present.name == name and present.bus is bus):
        raise HookError(
            f"{where} is hookable already as {present.name!r}; one function is one hook"
        )
    if not inspect.isfunction(inspect.unwrap(getattr(raw, "__func__", raw))):
        raise HookError(
            f"{where} is a {type(raw).__name__}, not a function written in Python: hook the method "
            "that calls it"
        )
    if not name.isidentifier():
        raise HookError(f"the hook's name for {where} must be an identifier, not {name!r}")


class _Made(NamedTuple):
    """How hookables are made of the methods, and what is placed above them."""

    bus: Bus
    above: Callable[[Any], Any] | None


def _wrap(cls: type, attribute: str, name: str, made: _Made, undos: list[Undo]) -> None:
    raw = inspect.getattr_static(cls, attribute)
    if hook_of(raw) is not None:
        return
    is_own = attribute in vars(cls)
    wrapped: Any = hookable(name, bus=made.bus)(raw)
    hook: Hook = getattr(wrapped, "__func__", wrapped).__hookbus__
    if made.above is not None:
        wrapped = made.above(wrapped)
        wrapped.__hookbus__, hook.shell = hook, wrapped

    def undo() -> None:
        # What somebody else has put in front since then stays; the shell below it is a plain
        # passage from now on.
        if vars(cls).get(attribute) is wrapped:
            if is_own:
                setattr(cls, attribute, raw)
            else:
                delattr(cls, attribute)
        hook.retire()

    try:
        setattr(cls, attribute, wrapped)
    except TypeError as error:
        hook.retire()
        raise HookError(f"{cls.__qualname__}.{attribute} cannot be set: {error}") from None
    undos.append(undo)
    made.bus._forget(name)


def _wrap_overrides(cls: type, names: Mapping[str, str], made: _Made, undos: list[Undo]) -> None:
    for attribute, name in names.items():
        raw = vars(cls).get(attribute)
        if inspect.isfunction(getattr(raw, "__func__", raw)) and hook_of(raw) is None:
            _wrap(cls, attribute, name, made, undos)


def _watch_subclasses(cls: type, on_new: Callable[[type], None]) -> Undo:
    """Call `on_new` with every subclass that will be made."""
    own = vars(cls).get("__init_subclass__", NOTHING)

    def __init_subclass__(new: Any, /, **kwargs: Any) -> None:
        if own is NOTHING:
            super(cls, new).__init_subclass__(**kwargs)  # type: ignore[arg-type]
        else:
            own.__get__(None, new)(**kwargs)
        on_new(new)

    watcher: Any = classmethod(__init_subclass__)
    cls.__init_subclass__ = watcher  # type: ignore[method-assign]

    def undo() -> None:
        if vars(cls).get("__init_subclass__") is watcher:
            if own is NOTHING:
                delattr(cls, "__init_subclass__")
            else:
                cls.__init_subclass__ = own  # type: ignore[method-assign]

    return undo
