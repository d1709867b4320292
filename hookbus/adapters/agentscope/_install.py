"""Installs the adapter: replaces functions of AgentScope, and later restores them."""

from __future__ import annotations

import functools
import gc
import inspect
import weakref
from collections.abc import Callable
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any, ClassVar, Final

from hookbus import Bus, HookError, ReceiverError, default_bus, instrument

from .._newer import Untested, patches_of
from .._patches import Patches, Uninstall, named_options
from ._calls import RUNNING, Parameters, Running, current
from ._hooks import (
    FaithfulHook,
    Registry,
    StrictHook,
    dict_owner,
    lookup_of_class,
    lookup_of_instance,
)  # fmt: skip
from ._strict import replace_registration
from ._tools import hook_tools

SUPPORTED: Final = ("1.0.21",)

HOOKS: Final = {
    "reply": "reply", "print": "print", "observe": "observe", "_reasoning": "reasoning",
    "_acting": "acting",
}  # fmt: skip
"""AgentScope's hooked methods, and the names of their hooks."""

_REGISTRATION: Final = (
    "register_instance_hook", "remove_instance_hook", "clear_instance_hooks",
    "register_class_hook", "remove_class_hook", "clear_class_hooks",
)  # fmt: skip


@named_options
def install(
    bus: Bus = default_bus, *, strict: bool = False, untested: Untested = "check"
) -> Uninstall:
    """Run the hooks of AgentScope's agents on hookbus, in both existing and future classes.

    The hook `tool_call` covers every tool call by a `Toolkit`, and runs inside the toolkit's
    middlewares. A subclass of `Toolkit` that overrides `call_tool_function` without calling
    `super()` bypasses this hook.

    Args:
        bus: the bus to declare the hooks on.
        strict: False keeps AgentScope's documented behavior for its own hooks. Arguments are
            deep-copied, a dict replaces all arguments, exceptions reach the caller unchanged, and
            all classes share class hooks. True applies the rules of hookbus to these hooks.
            Arguments are not copied, a dict patches the arguments, and hooks can return `Block` and
            `Replace`. Failures are isolated and reported, a class hook runs only for its class and
            subclasses, and recursive calls are hooked at every level.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Changes in `post_acting` usually have no effect, because ReActAgent has already stored the
    tool's result in its memory, and uses the output of `_acting` only for structured answers.
    Change the arguments of a tool in `pre_tool_call` and its result in `post_tool_call`.

    Returns:
        A function that restores AgentScope, attribute for attribute. A second call does nothing.

    Raises:
        HookError: if AgentScope is not installed, is incompatible, or already runs on hookbus.
    """
    with patches_of("agentscope", "agentscope", SUPPORTED, untested, install) as patches:
        meta = import_module("agentscope.agent._agent_meta")
        AgentBase = import_module("agentscope.agent").AgentBase
        adapter = _Adapter(bus, strict, patches, meta)
        patches.on_restore(adapter.give_back)
        hook_tools(patches, bus, import_module("agentscope.tool._toolkit"))
        classes = _with_subclasses(AgentBase)
        for cls in classes:
            adapter.adopt(cls)
        patches.replace(meta._AgentMeta, "__init__", _adopting(meta._AgentMeta, adapter.adopt))
        if strict:
            replace_registration(patches, AgentBase, adapter.registry)
        else:
            for name in _REGISTRATION:
                patches.replace(AgentBase, name, _followed(vars(AgentBase)[name], adapter.sync))
        # Existing objects, found without accessing their attributes.
        agents = [thing for thing in gc.get_objects() if issubclass(type(thing), AgentBase)]
        for owner in (*classes, *agents):
            adapter.sync(owner)
    return patches.restore


class _Adapter:
    """The replacements in AgentScope's classes while it runs on hookbus."""

    _ever_placed: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()

    def __init__(self, bus: Bus, strict: bool, patches: Patches, meta: Any) -> None:
        self._bus, self._strict, self._patches = bus, strict, patches
        self._metaclass = meta._AgentMeta
        self.registry = Registry(bus, StrictHook if strict else FaithfulHook)
        # The wrapper that AgentScope's metaclass puts around a method; other wrappers are left
        # unchanged.
        self._stock_code = next(
            const
            for const in meta._wrap_with_hooks.__code__.co_consts
            if isinstance(const, CodeType)
        )
        # Each can restore its place. Only the classes keep them alive; they do not keep the
        # classes alive.
        self._placed: weakref.WeakSet[Any] = weakref.WeakSet()

    def adopt(self, cls: type) -> None:
        """Hook the methods of a class that AgentScope itself has hooked."""
        for attribute, hook in HOOKS.items():
            raw = vars(cls).get(attribute)
            if isinstance(raw, FunctionType) and raw.__code__ is self._stock_code:
                original = raw.__wrapped__  # type: ignore[attr-defined]
                # For example `reply = Other.reply` in the body of a class made since then.
                while original in self._ever_placed:
                    original = original.__original__
                if inspect.isfunction(inspect.unwrap(original)):
                    self._take_over(cls, attribute, hook, raw, original)
            elif self._strict and raw is None and self._is_of_a_mixin(cls, attribute):
                undo = instrument(cls, {attribute: hook}, bus=self._bus)
                placed = vars(cls)[attribute]
                self._remember(placed, placed.__wrapped__, undo)

    def _is_of_a_mixin(self, cls: type, attribute: str) -> bool:
        """Return whether a class inherits a method from a plain class, which AgentScope's metaclass
        has not processed."""
        holder = dict_owner(cls, attribute)
        if holder is None or issubclass(type(holder), self._metaclass):
            return False
        return inspect.isfunction(vars(holder)[attribute])

    def _take_over(
        self, cls: type, attribute: str, hook: str, stock: FunctionType,
        original: Callable[..., Any],
    ) -> None:  # fmt: skip
        parameters = Parameters(original)
        setattr(cls, attribute, original if self._strict else _body(original, hook, parameters))
        undo = instrument(cls, {attribute: hook}, bus=self._bus)
        placed = hooked = vars(cls)[attribute]
        if not self._strict:
            placed = self._front(stock, original, hooked, hook, parameters)
            # So that `explain` and the scopes see the hookable below.
            placed.__wrapped__ = hooked
            setattr(cls, attribute, placed)

        def give_back() -> None:
            is_ours = vars(cls).get(attribute) is placed
            if is_ours:
                setattr(cls, attribute, hooked)
            undo()
            if is_ours:
                setattr(cls, attribute, stock)

        self._remember(placed, original, give_back)

    def _remember(self, placed: Any, original: Any, give_back: Callable[[], None]) -> None:
        placed.__original__, placed.__give_back__ = original, give_back
        self._placed.add(placed)
        self._ever_placed.add(placed)

    def _front(
        self, stock: FunctionType, original: Callable[..., Any], hooked: Callable[..., Any],
        hook: str, parameters: Parameters,
    ) -> Any:  # fmt: skip
        """Return a function that replaces AgentScope's wrapper. Like the wrapper, it binds
        arguments, rejects invalid calls, and passes nested calls through."""

        @functools.wraps(original)
        async def front(self_: Any, /, *args: Any, **kwargs: Any) -> Any:
            if not self._patches.is_live:
                return await stock(self_, *args, **kwargs)
            inside = current(self_, hook)
            if inside is not None and inside.is_in_body:
                return await original(self_, *args, **kwargs)
            running = self._begin(self_, hook, parameters)
            try:
                call = hooked(self_, *args, **kwargs)
            except TypeError as error:
                raise parameters.unbound(original.__name__, args, kwargs, error) from error
            RUNNING.set(running)
            try:
                return await running.ask_late(await call)
            except ReceiverError as error:
                if error.__cause__ is not running.failure:
                    raise
            finally:
                RUNNING.set(running.outer)
            raise running.failure  # type: ignore[misc]

        return front

    def _begin(self, agent: Any, hook: str, parameters: Parameters) -> Running:
        """Start a call, and connect hooks that were put directly into AgentScope's dicts."""
        cls = type(agent)
        for hook_type in (f"pre_{hook}", f"post_{hook}"):
            own = getattr(agent, f"_instance_{hook_type}_hooks", None)
            shared = getattr(cls, f"_class_{hook_type}_hooks", None)
            if own is None or shared is None:
                raise AssertionError(f"Hooks for {hook} not found in {cls.__name__}")
            if own:
                self._sync_instance(agent, hook_type, own)
            if shared:
                self._sync_class(cls, hook_type)
        return Running(agent, hook, parameters, RUNNING.get())

    def sync(self, owner: Any) -> None:
        """Connect and disconnect hooks so that the connections match AgentScope's dicts of an agent
        or class."""
        for hook_type in (
            f"{phase}_{hook}" for hook in HOOKS.values() for phase in ("pre", "post")
        ):
            if isinstance(owner, type):
                self._sync_class(owner, hook_type)
            elif f"_instance_{hook_type}_hooks" in vars(owner):
                self._sync_instance(owner, hook_type, vars(owner)[f"_instance_{hook_type}_hooks"])

    def _sync_instance(self, agent: Any, hook_type: str, hooks: dict[str, Any]) -> None:
        if not self.registry.is_equal(agent, hook_type, hooks):
            self.registry.sync(
                agent, "instance", hook_type,
                lookup_of_instance(agent, f"_instance_{hook_type}_hooks"),
            )  # fmt: skip

    def _sync_class(self, cls: type, hook_type: str) -> None:
        attribute = f"_class_{hook_type}_hooks"
        owner = dict_owner(cls, attribute)
        if owner is not None and not self.registry.is_equal(
            owner, hook_type, vars(owner)[attribute]
        ):
            self.registry.sync(owner, "class", hook_type, lookup_of_class(owner, attribute))

    def give_back(self) -> None:
        """Restore AgentScope's own functions in every class."""
        self.registry.clear()
        for placed in list(self._placed):
            placed.__give_back__()
        self._placed.clear()


def _body(original: Callable[..., Any], hook: str, parameters: Parameters) -> Callable[..., Any]:
    """Return the function that hookbus runs as the method, inside all receivers."""

    async def body(*args: Any, **kwargs: Any) -> Any:
        running = current(args[0], hook)
        if running is None:
            raise HookError(
                f"{original.__qualname__} was called directly, not through AgentScope's {hook}"
            )
        return await running.run(original, args, kwargs)

    functools.update_wrapper(body, original)
    del body.__wrapped__  # type: ignore[attr-defined]
    body.__signature__ = parameters.signature  # type: ignore[attr-defined]
    return body


def _adopting(metaclass: Any, adopt: Callable[[type], None]) -> Callable[..., None]:
    """Return an `__init__` for the metaclass that hooks every new class."""

    def __init__(
        cls: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> None:
        super(metaclass, cls).__init__(name, bases, namespace, **options)
        adopt(cls)

    return __init__


def _with_subclasses(cls: type) -> list[type]:
    """Return a class and all of its subclasses, with parents first."""
    found = dict.fromkeys([cls])
    waiting = [cls]
    while waiting:
        for below in list[type](type.__subclasses__(waiting.pop(0))):
            if below not in found:
                found[below] = None
                waiting.append(below)
    return list(found)


def _followed(raw: Any, sync: Callable[[Any], None]) -> Any:
    """Return a registration method that also updates the receivers."""
    function = getattr(raw, "__func__", raw)

    @functools.wraps(function)
    def method(owner: Any, *args: Any, **kwargs: Any) -> Any:
        result = function(owner, *args, **kwargs)
        sync(owner)
        return result

    return classmethod(method) if isinstance(raw, classmethod) else method
