"""What plugins register, what is known of it, and which of it the running code sees."""

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
"""What marks the overlays that are open around the running code."""


@attrs.frozen
class Diagnostic:
    """A problem with a registration or a plugin.

    Attributes:
        level: its severity.
        plugin_id: the plugin that it is about.
        message: a description.
    """

    level: Literal["warn", "error"]
    plugin_id: str
    message: str


@attrs.define
class Plugin:
    """A plugin that has registered something.

    Attributes:
        id: its name.
        status: `loaded`, or `disabled` after `Registry.disable`.
        version: of its package.
        config: its settings.
    """

    id: str
    status: Literal["loaded", "disabled"] = "loaded"
    version: str | None = None
    config: Mapping[str, Any] = attrs.field(factory=lambda: MappingProxyType({}))


@attrs.frozen(eq=False)
class Registration:
    """One handler of one plugin, with what `Registry.prepare` was given.

    Attributes:
        plugin_id: the plugin.
        hook: the name of its hook.
        handler: the function of event and ctx.
        name: its name in events, `explain` and errors: the plugin, with a number if it has several
            handlers of a hook.
        registration_id: who it is among the plugin's handlers.
        priority: higher runs first.
        timeout: its limit in seconds, if the operator or the plugin has set one.
        matcher: the tools it is for; None for all.
        eligible_triggers: of `before_agent_reply`, the triggers it is for; None for all.
        eligible_dispatch_kinds: of `reply_dispatch`, the kinds it is for; None for all.
        requires_tool_authority: of `before_prompt_build`, whether it runs in the authorised build
            only.
        overlay: the `with` block in which it exists; None for the others.
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
        """Return whether it is the same handler of the same plugin for the same hook."""
        mine, others = (
            (each.plugin_id, each.hook.name, each.handler, each.registration_id)
            for each in (self, other)
        )
        return mine == others

    def is_eligible(self, ctx: Any) -> bool:
        """Return whether it is for runs with this ctx."""
        if self.eligible_dispatch_kinds is not None:
            kind = get(ctx, "dispatchKind")
            return kind not in ("agent", "acp") or kind in self.eligible_dispatch_kinds
        return self.eligible_triggers is None or get(ctx, "trigger") in self.eligible_triggers


Prepare = Callable[..., Registration | None]


class PluginApi:
    """The argument of a plugin's `register(api)`. It checks all registrations, and connects them
    once `register` has returned.

    Attributes:
        plugin_id: the plugin.
        config: its settings, read-only.
    """

    plugin_id: str
    config: Mapping[str, Any]

    def __init__(self, prepare: Prepare, plugin_id: str, config: Mapping[str, Any]) -> None:
        self.plugin_id, self.config = plugin_id, MappingProxyType(dict(config))
        self.registrations: list[Registration] = []
        self.provisions: list[tuple[str, str, Any]] = []
        self._prepare, self._is_open = prepare, True

    def on(self, hook: str, handler: Callable[..., Any], **options: Any) -> None:
        """Register a handler for a hook; the options are those of `Registry.on`."""
        self._check_open()
        registration = self._prepare(self.plugin_id, hook, handler, **options)
        if registration is not None:
            self.registrations.append(registration)

    def provide(self, kind: str, name: str, value: Any) -> None:
        """Register a value that has one owner, by kind and name; see `Registry.provide`."""
        self._check_open()
        self.provisions.append((kind, name, value))

    def close(self) -> None:
        """Accept no more registrations: `register` has returned."""
        self._is_open = False

    def _check_open(self) -> None:
        if not self._is_open:
            raise HookError(
                f"the plugin {self.plugin_id} has registered already: say it inside register(api)"
            )


class Roster:
    """What a run knows of the registry whose handlers it asks.

    Attributes:
        is_strict: whether the defects of OpenClaw are corrected.
        plugins: the plugins, by id.
        diagnostics: what was refused, and why.
        specs: the question of each hook, by its name.
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
        """The handlers that are registered, in the order they were."""
        return tuple(each for each, _ in self._registered.values() if self.is_visible(each))

    def is_visible(self, registration: Registration) -> bool:
        """Tell whether a registration is there for the running code: an overlay hides what its
        plugin has for the same hooks."""
        overlays = OVERLAYS.get()
        if registration.overlay is not None or not overlays:
            return registration.overlay is None or registration.overlay in overlays
        return not any(
            each.overlay in overlays
            and (each.plugin_id, each.hook) == (registration.plugin_id, registration.hook)
            for each, _ in self._registered.values()
        )

    def find(self, hook: str, name: str) -> Registration | None:
        """Return the handler that goes by a name among the receivers of a hook."""
        found = self._registered.get((hook, name))
        return found[0] if found else None

    def provide(self, plugin_id: str, kind: str, name: str, value: Any) -> bool:
        """Register a value that has one owner, by kind and name, such as a command or a tool;
        return whether it was free.

        The first registration remains. A later one is refused with a diagnostic that names the
        owner.
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
        """Return what is registered of a kind, by name."""
        return {name: value for (each, name), (_, value) in self._provided.items() if each == kind}
