"""Make methods and functions of existing code hookable with `instrument`, and undo this."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, Unpack

from .._bus import Bus, default_bus
from .._connections.verdicts import NOTHING
from .._ground.errors import did_you_mean
from .._ground.keywords import check_bus
from .._hookable import hooked
from .._hooks.hook import held_in, hook_of
from .._hooks.identity import with_subclasses
from .._hooks.site import DEFAULTS, HookOptions, HookSettings, settings_of
from ..exceptions import HookError

Undo = Callable[[], None]


def instrument(
    owner: type | ModuleType, *names: str | Mapping[str, str], bus: Bus = default_bus,
    subclasses: bool = False, **options: Unpack[HookOptions],
) -> Undo:  # fmt: skip
    """Make methods of an existing class, or functions of a module, hookable.

    A function is also replaced in every loaded module that has imported it by name.

    Args:
        owner: the class or the module.
        names: the names of methods or functions, which are also used as names of the hooks. A
            mapping from the name of a method or function to the name of its hook is also possible.
        bus: the bus of the signals.
        subclasses: whether to wrap overrides in present and future subclasses, too. In that case,
            the class itself does not need to define the method.
        options: `require_guard`, `on_block`, `sender`, `async_receivers`, `sealed`, `identity`,
            `passes` and `labels`, as in `hookable`. Adapters can also use three more options.
            `read_only` lists arguments whose `dict`s and `list`s are read-only copies for receivers
            and plain copies for the body. `sealed_fields` lists arguments whose seal also covers
            the fields of pydantic models, dataclasses and attrs objects, and the items of container
            subclasses. The name `"result"` stands for the result and each item. `hidden` lists
            trailing parameters that receivers do not see.

    Returns:
        A function that restores the original methods or functions. A second call does nothing.

    Raises:
        HookError: if a method or function does not exist, is built in, or is not a function. In
            that case, nothing has changed.
    """
    check_bus(bus)
    return _put_in(owner, names, _Made(bus, settings_of(**options)), subclasses=subclasses)


def _put_in(
    owner: type | ModuleType, names: tuple[str | Mapping[str, str], ...], made: _Made, *,
    subclasses: bool,
) -> Undo:  # fmt: skip
    if not isinstance(owner, (type, ModuleType)):
        raise HookError(
            f"instrument takes a class or a module, then names of its methods or functions, "
            f"not {owner!r:.60}"
        )
    found, undos = _hook_names(owner, names), ExitStack()
    for attribute, name in found.items():
        _check(owner, attribute, name, made, subclasses=subclasses)
    try:
        if isinstance(owner, type):
            _wrap_methods(owner, found, made, undos, subclasses=subclasses)
        else:
            for attribute, name in found.items():
                _wrap_function(owner, attribute, name, made, undos)
    except BaseException:
        undos.close()
        raise
    return undos.close


C = TypeVar("C", bound=type)


def hook_overrides(cls: C) -> C:
    """Decorate a class so that all overrides of its hookable methods are also hookable.

    It applies to present and future subclasses. For classes that you cannot edit, use
    `instrument(..., subclasses=True)`. An override gets the hook name, bus, `require_guard`,
    `on_block` and `identity` of the method that it overrides.

    Args:
        cls: a class that defines or inherits hookable methods.

    Returns:
        The class itself.

    Raises:
        HookError: if the class has no hookable method. In that case, nothing has changed.
    """
    if not isinstance(cls, type):
        raise HookError(f"hook_overrides takes a class, not {cls!r:.60}: write it above `class`")
    found = [(attribute, hook) for attribute, hook, _ in held_in(cls.__mro__)]
    if not found:
        raise HookError(f"{cls.__qualname__} has no hookable method: put @hookable above a method")
    made = {hook.bus: _Made(hook.bus) for _, hook in found}
    for bus, each in made.items():
        names = {attribute: hook.name for attribute, hook in reversed(found) if hook.bus is bus}
        for below in with_subclasses([cls]):
            _wrap_overrides(below, names, each, ExitStack())
        _watch_subclasses(cls, partial(_wrap_overrides, names=names, made=each, undos=ExitStack()))
    return cls


def _hook_names(
    owner: type | ModuleType, named: tuple[str | Mapping[str, str], ...]
) -> dict[str, str]:
    names: dict[str, str] = {}
    for each in named:
        names.update({each: each} if isinstance(each, str) else each)
    if not names:
        called, what = _name_of(owner), "method" if isinstance(owner, type) else "function"
        raise HookError(
            f"instrument({called}) names no {what}: write instrument({called}, '{what}')"
        )
    return names


def _name_of(owner: type | ModuleType) -> str:
    return owner.__qualname__ if isinstance(owner, type) else owner.__name__


class _Made(NamedTuple):
    """The bus and the settings for new hookables."""

    bus: Bus
    settings: HookSettings = DEFAULTS


def _check(
    owner: type | ModuleType, attribute: str, name: str, made: _Made, *, subclasses: bool
) -> None:
    """Raise HookError for an attribute that cannot be hooked, before anything is changed."""
    where = f"{_name_of(owner)}.{attribute}"
    raw = inspect.getattr_static(owner, attribute, NOTHING)
    if raw is NOTHING and subclasses and isinstance(owner, type):
        found = (vars(each).get(attribute, NOTHING) for each in with_subclasses([owner]))
        raw = next((each for each in found if each is not NOTHING), NOTHING)
    if raw is NOTHING:
        hint = did_you_mean(attribute, (n for n in dir(owner) if n[:2] != "__"))
        nor = ", nor in any existing subclass" if subclasses else ""
        raise HookError(f"{where} does not exist{nor}{hint}")
    present = hook_of(raw)
    if present is not None and not (present.name == name and present.bus is made.bus):
        raise HookError(
            f"{where} is already hookable as {present.name!r}; a function can be only one hook"
        )
    function = inspect.unwrap(getattr(raw, "__func__", raw))
    if not inspect.isfunction(function):
        raise HookError(
            f"{where} is a {type(raw).__name__}, not a function written in Python: hook a method "
            "that calls it instead"
        )
    if not name.isidentifier():
        raise HookError(f"the hook's name for {where} must be an identifier, not {name!r}")


def _wrap_methods(
    cls: type, names: Mapping[str, str], made: _Made, undos: ExitStack, *, subclasses: bool
) -> None:
    for attribute, name in names.items():
        if inspect.getattr_static(cls, attribute, NOTHING) is not NOTHING:
            _wrap(cls, attribute, name, made, undos)
    if subclasses:
        for below in with_subclasses([cls]):
            _wrap_overrides(below, names, made, undos)
        on_new = partial(_wrap_overrides, names=names, made=made, undos=undos)
        undos.callback(_watch_subclasses(cls, on_new))


def _wrap(cls: type, attribute: str, name: str, made: _Made, undos: ExitStack) -> None:
    raw = inspect.getattr_static(cls, attribute)
    if hook_of(raw) is not None:
        return
    is_own = attribute in vars(cls)
    wrapped: Any = hooked(raw, name, made.bus, made.settings)
    hook: Any = hook_of(wrapped)

    def undo() -> None:
        # If other code has replaced the attribute since, the replacement stays. The shell below it
        # now only passes calls through.
        if vars(cls).get(attribute) is wrapped:
            if is_own:
                setattr(cls, attribute, raw)
            else:
                delattr(cls, attribute)
        hook.retire()

    undos.callback(undo)
    try:
        setattr(cls, attribute, wrapped)
    except TypeError as error:
        raise HookError(f"{cls.__qualname__}.{attribute} cannot be set: {error}") from None
    made.bus._switchboard.discard(name)


def _wrap_function(
    module: ModuleType, attribute: str, name: str, made: _Made, undos: ExitStack
) -> None:
    raw = vars(module)[attribute]
    if hook_of(raw) is not None:
        return
    wrapped: Any = hooked(raw, name, made.bus, made.settings)
    hook: Any = hook_of(wrapped)

    def undo() -> None:
        _replace_everywhere(wrapped, raw)  # including modules that have imported it since
        hook.retire()

    undos.callback(undo)
    _replace_everywhere(raw, wrapped)


def _replace_everywhere(old: Any, new: Any) -> None:
    """Replace a function in every module that contains it under any name."""
    for module in list(sys.modules.values()):
        held = module.__dict__ if isinstance(module, ModuleType) else {}
        for name in [name for name, value in list(held.items()) if value is old]:
            setattr(module, name, new)


def _wrap_overrides(cls: type, names: Mapping[str, str], made: _Made, undos: ExitStack) -> None:
    for attribute, name in names.items():
        # A mixin earlier in the MRO may contain the override; then the class itself gets the
        # hookable.
        raw = inspect.getattr_static(cls, attribute, None)
        if inspect.isfunction(getattr(raw, "__func__", raw)) and hook_of(raw) is None:
            _wrap(cls, attribute, name, made, undos)


def _watch_subclasses(cls: type, on_new: Callable[[type], None]) -> Undo:
    """Call `on_new` with every future subclass."""
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
