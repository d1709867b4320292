"""Holds the registrations of plugins, and determines which registrations the running code sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Literal

import attrs

from hookbus import Connection, HookError

from ._hooks import ClawHook
from ._values import get

Handler = Callable[..., Any]

OVERLAYS: ContextVar[tuple[object, ...]] = ContextVar("hookbus_openclaw_overlays", default=())
"""The markers of the overlays that are open around the running code."""


@attrs.frozen
class Diagnostic:
    """A problem with a plugin's registration.

    Attributes:
        level: the severity.
        plugin_id: the plugin with the problem.
        message: the description of the problem.
    """

    level: Literal["warn", "error"]
    plugin_id: str
    message: str


@attrs.define
class Plugin:
    """A plugin that has made registrations.

    Attributes:
        id: the plugin's name.
        status: `loaded`, or `disabled` after the plugin was removed.
        version: the version of the plugin's package.
        config: the plugin's settings.
    """

    id: str
    status: Literal["loaded", "disabled"] = "loaded"
    version: str | None = None
    config: Mapping[str, Any] = attrs.field(factory=lambda: MappingProxyType({}))


@attrs.frozen(eq=False)
class Registration:
    """One handler of one plugin, with the arguments of `Registry.prepare`.

    Attributes:
        plugin_id: the id of the plugin.
        hook: the name of the hook.
        handler: the function that is called with event and ctx.
        name: the handler's name in events, `explain` and errors: the plugin's id, with a number if
            the plugin has several handlers for the hook.
        registration_id: the handler's id among the plugin's handlers.
        priority: handlers with a higher priority are called first.
        timeout: the handler's time limit in seconds, if the operator or the plugin set one.
        matcher: the tools for which the handler is called; None means all tools.
        eligible_triggers: for `before_agent_reply`, the triggers for which the handler is called;
            None means all triggers.
        eligible_dispatch_kinds: for `reply_dispatch`, the kinds for which the handler is called;
            None means all kinds.
        requires_tool_authority: for `before_prompt_build`, whether the handler is called only in
            authorised prompt builds.
        overlay: the marker of the overlay that contains the handler, or None.
    """

    plugin_id: str
    hook: ClawHook
    handler: Handler
    name: str
    registration_id: str | None = None
    priority: float = 0
    timeout: float | None = None
    matcher: Callable[[str], bool] | None = None
    eligible_triggers: tuple[str, ...] | None = None
    eligible_dispatch_kinds: tuple[str, ...] | None = None
    requires_tool_authority: bool = False
    overlay: object = None

    def is_same_as(self, other: Registration) -> bool:
        """Return whether the `other` registration has the same handler, plugin and hook."""
        mine, others = (
            (each.plugin_id, each.hook.name, each.handler, each.registration_id)
            for each in (self, other)
        )
        return mine == others

    def is_eligible(self, ctx: Any) -> bool:
        """Return whether the handler's restrictions include a run with this ctx."""
        if self.eligible_dispatch_kinds is not None:
            kind = get(ctx, "dispatchKind")
            return kind not in ("agent", "acp") or kind in self.eligible_dispatch_kinds
        return self.eligible_triggers is None or get(ctx, "trigger") in self.eligible_triggers


Prepare = Callable[..., Registration | None]


class PluginApi:
    """The object passed to `register(api)` of a plugin. Each registration is checked immediately,
    and connected after `register` has returned.

    Attributes:
        plugin_id: the id of the plugin.
        config: the plugin's settings, read-only.
    """

    plugin_id: str
    config: Mapping[str, Any]

    def __init__(self, prepare: Prepare, plugin_id: str, config: Mapping[str, Any]) -> None:
        self.plugin_id, self.config = plugin_id, MappingProxyType(dict(config))
        self.registrations: list[Registration] = []
        self.provisions: list[tuple[str, str, Any]] = []
        self._prepare, self._is_open = prepare, True

    def on(self, hook: str, handler: Callable[..., Any], **options: Any) -> None:
        """Register a handler for a hook. The options are the same as for `Registry.on`."""
        self._check_open()
        registration = self._prepare(self.plugin_id, hook, handler, **options)
        if registration is not None:
            self.registrations.append(registration)

    def provide(self, kind: str, name: str, value: Any) -> None:
        """Register a value under a kind and a name, which have a single owner. See
        `Registry.provide`."""
        self._check_open()
        self.provisions.append((kind, name, value))

    def close(self) -> None:
        """Reject further registrations, after `register` has returned."""
        self._is_open = False

    def _check_open(self) -> None:
        if not self._is_open:
            raise HookError(
                f"the plugin {self.plugin_id} has already registered: register inside register(api)"
            )


class Roster:
    """The part of a registry that a run of a hook uses.

    Attributes:
        is_strict: whether the defects of OpenClaw are fixed.
        plugins: the plugins, by id.
        diagnostics: the rejected registrations, with the reasons.
        specs: the hookspec of each hook, by name.
    """

    def __init__(self, *, is_strict: bool) -> None:
        self.is_strict = is_strict
        self.plugins: dict[str, Plugin] = {}
        self.specs: dict[str, Any] = {}
        self.diagnostics: list[Diagnostic] = []
        self._provided: dict[tuple[str, str], tuple[str, Any]] = {}
        # The handlers with their connections, by hook and name.
        self._registered: dict[tuple[str, str], tuple[Registration, list[Connection]]] = {}

    @property
    def typed_hooks(self) -> tuple[Registration, ...]:
        """The registered handlers, in the order of registration."""
        return tuple(each for each, _ in self._registered.values() if self.is_visible(each))

    def is_visible(self, registration: Registration) -> bool:
        """Return whether the running code sees a registration. An overlay hides its plugin's other
        handlers for the same hooks."""
        overlays = OVERLAYS.get()
        if registration.overlay is not None or not overlays:
            return registration.overlay is None or registration.overlay in overlays
        return not any(
            each.overlay in overlays
            and (each.plugin_id, each.hook) == (registration.plugin_id, registration.hook)
            for each, _ in self._registered.values()
        )

    def find(self, hook: str, name: str) -> Registration | None:
        """Return a hook's handler by its name, or None."""
        found = self._registered.get((hook, name))
        return found[0] if found else None

    def provide(self, plugin_id: str, kind: str, name: str, value: Any) -> bool:
        """Register a value, such as a command or a tool, under a kind and a name. Return whether
        the name was free.

        The first registration wins. A later one is rejected with a diagnostic that names the owner.
        """
        owner = self._provided.get((kind, name))
        if owner is not None:
            self.diagnostics.append(
                Diagnostic("error", plugin_id, f"{kind} already registered: {name} ({owner[0]})")
            )
            return False
        self._provided[kind, name] = plugin_id, value
        self.plugins.setdefault(plugin_id, Plugin(plugin_id))
        return True

    def provided(self, kind: str) -> dict[str, Any]:
        """Return the registered values of a kind, by name."""
        return {name: value for (each, name), (_, value) in self._provided.items() if each == kind}
