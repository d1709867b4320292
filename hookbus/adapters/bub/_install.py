"""Installs the adapter: replaces functions of Bub, and later restores them."""

from __future__ import annotations

import functools
import gc
import inspect
import weakref
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Final

from hookbus import Bus, HookError, default_bus, instrument

from ..._ground.errors import did_you_mean
from .._newer import Untested, patches_of
from .._patches import Patches, Uninstall, named_options
from ._agent import Interceptions, hook_agent
from ._interception import Interception
from ._plugins import Plugins
from ._questions import INTERCEPTION, Questions
from ._runtime import ASYNC, METHODS, STOCK
from ._strict import METHODS as STRICT_METHODS
from ._strict import check_plugin
from ._tools import hook_tools

SUPPORTED: Final = ("0.5.1",)

_MODULES: Final = ("bub.hooks.runtime", "bub.hooks.interception", "bub.framework")


@named_options
def install(
    bus: Bus = default_bus, *, strict: bool = False, untested: Untested = "check"
) -> Uninstall:
    """Run the hooks of Bub's runtimes on hookbus, for both existing and future runtimes.

    Every hook of Bub is a question with the same name and arguments. Answer it with
    `bus.signal("build_prompt").connect(...)`, guard it with `pre_build_prompt`, wrap it with
    `around_build_prompt`. The four hooks of `AgentHooks` are methods whose sender is the
    `AgentHooks`: `before_llm_call` (`request`, `state`), `after_llm_call` (`request`, `result`,
    `state`), `before_tool_call` (`call`, `state`) and `after_tool_call` (`call`, `result`,
    `state`). For these four hooks, plugins are `pre` receivers. The tool call between
    `before_tool_call` and `after_tool_call` is the hook `tool_call`, with the additional arguments
    `call` and `executor`. A whole turn of a framework is the hook `turn` (`inbound`,
    `stream_output`).

    Args:
        bus: the bus to declare the hooks on.
        strict: False keeps Bub's documented behavior for its plugins. True applies the rules of
            hookbus to plugins. A failing plugin is isolated and reported, but a failing tool or
            model policy blocks the call. Wrappers work, async functions are rejected where Bub
            cannot await, unknown hook names are rejected, and only return values change a call.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Returns:
        A function that restores Bub, attribute for attribute. A second call does nothing.

    Raises:
        HookError: if Bub is not installed, is incompatible, or already runs on hookbus.
    """
    with patches_of("bub", "bub", SUPPORTED, untested, install) as patches:
        runtime, agent, module = map(import_module, _MODULES)
        Interception.types = agent
        adapter = _Adapter(bus, strict, patches)
        patches.on_restore(adapter.give_back)
        adapter.declare(module)
        _replace_runtime(patches, runtime.HookRuntime, strict)
        owners = (runtime.HookRuntime, agent.AgentHooks)
        _replace_inits(patches, zip(owners, (adapter.plugins_of, adapter.interceptions_of)))
        hook_agent(patches, bus, agent)
        hook_tools(patches, bus, import_module("bub.tools"), import_module("bub.errors"))
        patches.replace(module.BubFramework, "question", adapter.question)
        patches.on_restore(instrument(module.BubFramework, {"process_inbound": "turn"}, bus=bus))
        _sync_what_is_there(owners)
    return patches.restore


def _sync_what_is_there(owners: tuple[type, ...]) -> None:
    # Found without accessing attributes of the objects.
    for thing in gc.get_objects():
        if issubclass(type(thing), owners):
            thing._hookbus.sync()


def _replace_runtime(patches: Patches, cls: Any, strict: bool) -> None:
    for name, method in {**METHODS, **(STRICT_METHODS if strict else {})}.items():
        STOCK[name] = vars(cls)[name]
        patches.replace(cls, name, method)
    mark: Any = inspect.markcoroutinefunction  # type: ignore[attr-defined,unused-ignore]
    for name in ASYNC:
        mark(METHODS[name])


def _replace_inits(patches: Patches, owners: Iterable[tuple[Any, Any]]) -> None:
    for cls, adopt in owners:
        patches.replace(cls, "__init__", _adopting(cls.__init__))
        patches.replace(cls, "_hookbus", _OnFirstUse(adopt))


def _adopting(stock: Any) -> Any:
    """Return an `__init__` that also connects the existing plugins."""

    @functools.wraps(stock)
    def __init__(made: Any, /, *args: Any, **kwargs: Any) -> None:
        stock(made, *args, **kwargs)
        made._hookbus.sync()

    return __init__


class _OnFirstUse:
    """An attribute that is created for each object on first access, and then stored in the
    object."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __get__(self, owner: Any, cls: type) -> Any:
        if owner is None:
            return self
        made = vars(owner)["_hookbus"] = self._make(owner)
        return made


class _Adapter:
    """The replacements in Bub's classes while it runs on hookbus."""

    def __init__(self, bus: Bus, strict: bool, patches: Patches) -> None:
        self._strict, self._patches = strict, patches
        self._questions = Questions(bus, strict=strict)
        self._owners: weakref.WeakSet[Any] = weakref.WeakSet()
        self._managers: weakref.WeakSet[Any] = weakref.WeakSet()

    def declare(self, framework: Any) -> None:
        """Declare the questions for Bub's own hooks before any runtime calls a hook."""
        manager = framework.pluggy.PluginManager(framework.BUB_HOOK_NAMESPACE)
        manager.add_hookspecs(framework.BubHookSpecs)
        for caller in vars(manager.hook).values():
            self._questions.of(caller)

    def plugins_of(self, runtime: Any) -> Plugins:
        """Connect the plugins of a runtime, including plugins that are registered later."""
        manager = runtime._plugin_manager
        plugins = Plugins(self._questions, manager)
        self._adopt(runtime, plugins)
        if manager not in self._managers:
            self._managers.add(manager)
            for name in ("register", "unregister"):
                vars(manager)[name] = self._following(manager, name)
        return plugins

    def interceptions_of(self, hooks: Any) -> Interceptions:
        """Connect the plugins of the runtime of an `AgentHooks`."""
        interceptions = Interceptions(self._questions, hooks)
        self._adopt(hooks, interceptions)
        return interceptions

    def _adopt(self, owner: Any, plugins: Plugins | Interceptions) -> None:
        self._owners.add(owner)
        self._questions.adopt(owner, plugins.connected)

    def _following(self, manager: Any, name: str) -> Callable[..., Any]:
        """Return a method of pluggy that also updates the receivers."""
        stock, reference = getattr(type(manager), name), weakref.ref(manager)

        @functools.wraps(stock)
        def follow(*args: Any, **kwargs: Any) -> Any:
            manager = reference()
            if self._strict and name == "register" and self._patches.is_live:
                check_plugin(manager, args[0] if args else kwargs["plugin"])
            result = stock(manager, *args, **kwargs)
            for owner in list(self._owners):
                runtime = getattr(owner, "_runtime", owner)
                if self._patches.is_live and getattr(runtime, "_plugin_manager", None) is manager:
                    owner._hookbus.sync()
            return result

        return follow

    @property
    def question(self) -> Callable[[Any, str], Any]:
        """A method for the framework that returns one of the framework's hooks."""

        def question(framework: Any, name: str) -> Any:
            """Return a hook of Bub, for `explain`.

            Raises:
                HookError: if no hook has this name.
            """
            plugins = framework._hook_runtime._hookbus
            if name in INTERCEPTION:
                return getattr(framework.get_agent_hooks(), name)
            plugins.sync()
            asked = plugins.panels[name].question if name in plugins.panels else None
            if asked is None:
                raise HookError(f"Bub has no hook {name!r}{did_you_mean(name, plugins.panels)}")
            return asked.ask

        return question

    def give_back(self) -> None:
        """Disconnect everything, and remove the attributes added to Bub's objects."""
        for owner in list(self._owners):
            for panel in vars(owner).pop("_hookbus").panels.values():
                panel.disconnect()
        for manager in list(self._managers):
            for name in ("register", "unregister"):
                vars(manager).pop(name, None)
        self._questions.retire()
