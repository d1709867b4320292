"""Replaces AgentScope's registration methods for `strict=True`. Each class has its own hooks, and
invalid registrations raise an exception immediately."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from hookbus import HookError

from ..._ground.errors import did_you_mean
from .._patches import Patches
from ._hooks import Lookup, Registry, lookup_of_instance

Hooks = dict[str, Callable[..., Any]]


class _Scopes:
    """The dicts of hooks. Agents and AgentScope's base classes have their own dicts, and this
    object stores the dicts of all other classes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._of_classes: weakref.WeakKeyDictionary[type, dict[str, Hooks]] = (
            weakref.WeakKeyDictionary()
        )

    def lookup(self, owner: Any, hook_type: str) -> Lookup:
        if not isinstance(owner, type):
            return lookup_of_instance(owner, f"_instance_{hook_type}_hooks")
        reference = weakref.ref(owner)

        def look() -> Hooks:
            cls = reference()
            if cls is None:
                return {}
            own: Hooks | None = vars(cls).get(f"_class_{hook_type}_hooks")
            if own is not None:
                return own
            return self._of_classes.setdefault(cls, {}).setdefault(hook_type, {})

        return look

    def change(self, owner: Any, hook_type: str, change: Callable[[Hooks], object]) -> None:
        """Change a dict of hooks and its connections. If one change fails, neither is made."""
        lookup = self.lookup(owner, hook_type)
        hooks: Any = lookup()
        before = dict(hooks)
        change(hooks)
        scope = "class" if isinstance(owner, type) else "instance"
        try:
            self._registry.sync(owner, scope, hook_type, lookup)
        except HookError:
            hooks.clear()
            hooks.update(before)
            self._registry.sync(owner, scope, hook_type, lookup)
            raise


def _check_type(owner: Any, hook_type: str) -> None:
    cls = owner if isinstance(owner, type) else type(owner)
    known: list[str] = getattr(cls, "supported_hook_types", [])
    if hook_type not in known:
        raise HookError(
            f"{cls.__qualname__} has no hook {hook_type!r}{did_you_mean(str(hook_type), known)}"
        )
    if not isinstance(owner, type) and not hasattr(owner, f"_instance_{hook_type}_hooks"):
        raise HookError(f"{cls.__qualname__} cannot have hooks yet: call super().__init__() first")


def replace_registration(patches: Patches, base: type, registry: Registry) -> None:
    """Put the strict registration methods into AgentScope's base class.

    A hook that is registered under an existing name replaces the old hook at the same position, as
    AgentScope documents.
    """
    scopes = _Scopes(registry)

    def register(
        owner: Any, hook_type: str, hook_name: str, hook: Callable[..., Any] | None = None
    ) -> Any:
        _check_type(owner, hook_type)
        if hook is None:
            return lambda function: register(owner, hook_type, hook_name, function) or function
        if not callable(hook):
            raise HookError(
                f"{hook!r:.60} cannot be registered as {hook_name!r}: it is not callable"
            )
        return scopes.change(owner, hook_type, lambda hooks: hooks.update({hook_name: hook}))

    def remove(owner: Any, hook_type: str, hook_name: str) -> None:
        _check_type(owner, hook_type)
        if hook_name not in scopes.lookup(owner, hook_type)():
            known = did_you_mean(hook_name, scopes.lookup(owner, hook_type)())
            raise ValueError(f"Hook '{hook_name}' not found in '{hook_type}' hooks{known}")
        scopes.change(owner, hook_type, lambda hooks: hooks.pop(hook_name))

    def clear(owner: Any, hook_type: str | None = None) -> None:
        for each in [hook_type] if hook_type is not None else list(owner.supported_hook_types):
            _check_type(owner, each)
            scopes.change(owner, each, lambda hooks: hooks.clear())

    methods: dict[str, Callable[..., Any]] = {
        "register_{}_hook": register, "remove_{}_hook": remove, "clear_{}_hooks": clear,
    }  # fmt: skip
    for name, function in methods.items():
        patches.replace(base, name.format("instance"), function)
        patches.replace(base, name.format("class"), classmethod(function))
