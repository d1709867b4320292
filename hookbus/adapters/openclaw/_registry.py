"""Registers plugins: their typed hooks as receivers of hookspecs, and other values under a kind and
a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from hookbus import Bus, HookError

from ..._ground.errors import did_you_mean
from ._checks import (
    Matcher,
    Timeouts,
    check_timeouts,
    eligible,
    exact_matcher,
    free_matcher,
    is_seconds,
)  # fmt: skip
from ._errors import milliseconds
from ._hooks import HOOKS, MATCHED, OLDER, ClawHook, strict
from ._modes import declare
from ._plugins import OVERLAYS, Diagnostic, Handler, Plugin, PluginApi, Registration, Roster
from ._tools import PRE, TRUSTED, PolicyAnswering, ToolAnswering, ask_trusted
from ._turns import AsyncAnswering, SyncAnswering


class Registry(Roster):
    """The plugins of one host, with their handlers on a bus of hookbus.

    Throughout, `plugin_id` is the id of a plugin, `hook` is the name of one of OpenClaw's hooks,
    and `handler` is a sync or async function that takes event and ctx.

    Attributes:
        bus: the bus on which each hook is declared as a hookspec with the same name.
        is_strict: whether the defects of OpenClaw are fixed.
        hooks: all hooks, by name.
        plugins: the plugins, by id.
        diagnostics: the rejected registrations, with the reasons.
    """

    def __init__(
        self, bus: Bus | None = None, *, strict: bool = False, timeouts: Timeouts | None = None,
        older: bool = False,
    ) -> None:  # fmt: skip
        """Declare the hooks on a bus.

        Args:
            bus: the bus; None creates one.
            strict: fix the defects of OpenClaw instead of keeping them.
            timeouts: the operator's timeouts in seconds. For each plugin, a number for all handlers
                or a mapping of hooks to numbers. They override the timeouts of the plugin.
            older: also declare `before_agent_start`, which OpenClaw has removed.

        Raises:
            HookError: if a timeout is not between 0.001 and 600, or the bus already has one of
                these hooks.
        """
        super().__init__(is_strict=strict)
        self.bus: Bus = Bus() if bus is None else bus
        self.hooks: dict[str, ClawHook] = _hooks(strict, older)
        self._timeouts, self._asks_trusted = dict(timeouts or {}), False
        check_timeouts(self._timeouts, self.hooks)
        taken = sorted(set(self.hooks) & set(self.bus.hook_names()))
        if taken:
            raise HookError(
                f"this bus already has the hook {taken[0]}; each bus can have one registry: pass "
                "another Bus() to this one"
            )
        self.specs |= {name: declare(hook, self.bus) for name, hook in self.hooks.items()}

    # -- typed hooks -------------------------------------------------------------------------------

    def on(
        self, plugin_id: str, hook: str, handler: Handler, **options: Any
    ) -> Callable[[], None] | None:
        """Register a handler `(event, ctx)` of a plugin for a hook, like OpenClaw's `api.on`.

        Args:
            options: the options of `prepare`.

        Returns:
            With `strict=True` a function that removes the handler; otherwise None, as in OpenClaw.

        Raises:
            TypeError: if the matcher is invalid.
            HookError: if the handler is not callable; with `strict=True` also for any other
                malformed argument.
        """
        registration = self.prepare(plugin_id, hook, handler, **options)
        if registration is None:
            return None
        self.plugins.setdefault(plugin_id, Plugin(plugin_id))
        key = self._connect(registration)
        return (lambda: self._disconnect(key)) if self.is_strict else None

    def prepare(
        self, plugin_id: str, hook: str, handler: Handler, *, priority: float | None = None,
        timeout: float | None = None, matcher: Matcher | None = None,
        registration_id: str | None = None, eligible_triggers: Sequence[str] | None = None,
        eligible_dispatch_kinds: Sequence[str] | None = None, requires_tool_authority: bool = False,
    ) -> Registration | None:  # fmt: skip
        """Check and return a registration. For an unknown hook, add a diagnostic and return None.

        Args:
            priority: handlers with a higher priority are called first; None means 0. Handlers of
                equal priority are called in the order of registration.
            timeout: the time limit in seconds. It overrides the hook's time limit, and an
                operator's timeout overrides both.
            matcher: the exact ids of the tools for which the handler is called, for
                `before_tool_call` and `after_tool_call`. With `strict=True`, also globs, a regular
                expression, or a predicate that takes the id.
            registration_id: the handler's id among the plugin's handlers, which outcomes of
                evaluators include.
            eligible_triggers: for `before_agent_reply`: `cron`, `heartbeat`, `user`.
            eligible_dispatch_kinds: for `reply_dispatch`: `agent`, `acp`.
            requires_tool_authority: for `before_prompt_build`: whether to call the handler only in
                authorised prompt builds.

        Raises:
            HookError: as in `on`.
            TypeError: as in `on`.
        """
        if not callable(handler):
            no = f"{plugin_id} cannot register {handler!r:.60} for {hook}: it is not callable"
            raise HookError(no)
        if hook not in self.hooks:
            advice = did_you_mean(str(hook), self.hooks)
            self._object(plugin_id, f'unknown typed hook "{hook}" ignored', advice)
            return None
        needs_authority = hook == "before_prompt_build" and requires_tool_authority is True
        return Registration(
            plugin_id, self.hooks[hook], handler, plugin_id, registration_id, priority or 0,
            self._timeout(plugin_id, hook, timeout), self._matcher(plugin_id, hook, matcher),
            eligible(hook, "before_agent_reply", eligible_triggers),
            eligible(hook, "reply_dispatch", eligible_dispatch_kinds), needs_authority,
        )  # fmt: skip

    def _object(self, plugin_id: str, problem: str, advice: str = "") -> None:
        """Record a problem with a registration, or reject the registration with `strict=True`."""
        if self.is_strict:
            raise HookError(f"{plugin_id}: {problem}{advice}")
        self.diagnostics.append(Diagnostic("warn", plugin_id, problem))

    def _matcher(
        self, plugin_id: str, hook: str, matcher: Matcher | None
    ) -> Callable[[str], bool] | None:
        if matcher is None:
            return None
        if hook in MATCHED:
            return free_matcher(matcher) if self.is_strict else exact_matcher(matcher)
        advice = f"; only {' and '.join(MATCHED)} accept one"
        self._object(plugin_id, f'typed hook "{hook}" ignores tool matcher', advice)
        return None

    def _timeout(self, plugin_id: str, hook: str, given: float | None) -> float | None:
        """Return the operator's timeout for the hook or the plugin, or otherwise the plugin's own
        timeout."""
        said = self._timeouts.get(plugin_id)
        operators = said.get(hook, said.get("*")) if isinstance(said, Mapping) else said
        if operators is not None:
            return milliseconds(operators) / 1000
        if given is not None and not is_seconds(given):
            problem = f'typed hook "{hook}" ignores a timeout of {given!r:.40}'
            self._object(plugin_id, problem, "; write a number of seconds, at least 0.001")
            return None
        return None if given is None else milliseconds(given) / 1000

    def _connect(self, registration: Registration) -> tuple[str, str]:
        """Connect a handler and return its key. With `strict=True`, a handler that is already
        connected gets the new options."""
        hook, plugin = registration.hook, registration.plugin_id
        key = (hook, plugin)
        mine = [each for each, _ in self._registered.values() if (each.hook, each.plugin_id) == key]
        can_replace = self.is_strict and not registration.overlay
        again = [each for each in mine if can_replace and each.is_same_as(registration)]
        taken = {each.name for each in mine}
        names = (plugin, *(f"{plugin}#{number}" for number in range(2, len(mine) + 3)))
        name = again[0].name if again else next(name for name in names if name not in taken)
        registration = attrs.evolve(registration, name=name)
        receiver = (SyncAnswering if hook.kind == "sync" else AsyncAnswering)(registration)
        if again:
            self._disconnect((hook.name, name))
        place: dict[str, Any] = {"name": name, "priority": registration.priority}
        asked = self.specs[hook.name]
        connections = [asked.connected_to(receiver, when=receiver.is_asked, **place)]
        if hook.name == "before_tool_call":
            in_call, before = ToolAnswering(registration), self.bus.signal(PRE)
            connections.append(before.connected_to(in_call, when=in_call.is_asked, **place))
        self._registered[hook.name, name] = registration, connections
        return hook.name, name

    def _disconnect(self, key: tuple[str, str]) -> None:
        if key in self._registered:
            for connection in self._registered.pop(key)[1]:
                connection.disconnect()

    @contextmanager
    def overlay(self, plugin_id: str, register: Callable[[PluginApi], object]) -> Iterator[None]:
        """Let a plugin register handlers for the running task only, until the `with` block ends.

        The plugin's other handlers for the same hooks are hidden in this block.
        """
        mark, api = object(), PluginApi(self.prepare, plugin_id, {})
        register(api)
        api.close()
        keys = [self._connect(attrs.evolve(each, overlay=mark)) for each in api.registrations]
        previous = OVERLAYS.get()
        try:
            OVERLAYS.set((*OVERLAYS.get(), mark))
            yield
        finally:
            OVERLAYS.set(previous)
            for key in keys:
                self._disconnect(key)

    # -- plugins -----------------------------------------------------------------------------------

    def load(
        self, plugin_id: str, register: Callable[[PluginApi], object], *,
        version: str | None = None, config: Mapping[str, Any] | None = None,
    ) -> Plugin:  # fmt: skip
        """Load a plugin by calling its `register(api)`, with its config. Earlier registrations of
        the plugin, of any version, are replaced.

        If `register` raises an exception, it reaches the caller, and no registration changes.
        """
        api = PluginApi(self.prepare, plugin_id, config or {})
        try:
            register(api)
        finally:
            api.close()
        self._take_out(plugin_id)
        plugin = self.plugins[plugin_id] = Plugin(plugin_id, "loaded", version, api.config)
        for registration in api.registrations:
            self._connect(registration)
        for kind, name, value in api.provisions:
            self.provide(plugin_id, kind, name, value)
        return plugin

    def disable(self, plugin_id: str) -> None:
        """Remove all registrations of a plugin.

        Raises:
            HookError: if there is no such plugin.
        """
        if plugin_id not in self.plugins:
            raise HookError(f"unknown plugin {plugin_id!r}{did_you_mean(plugin_id, self.plugins)}")
        self._take_out(plugin_id)
        self.plugins[plugin_id].status = "disabled"

    def _take_out(self, plugin_id: str) -> None:
        registered = list(self._registered.items())
        for key in [key for key, (each, _) in registered if each.plugin_id == plugin_id]:
            self._disconnect(key)
        self._provided = {key: each for key, each in self._provided.items() if each[0] != plugin_id}

    def trust(
        self, plugin_id: str, evaluate: Callable[..., Any], *, matcher: Matcher | None = None,
        is_bundled: bool = False,
    ) -> None:  # fmt: skip
        """Register a trusted tool policy, `evaluate(event, ctx)`. Bundled policies (`is_bundled`)
        run first, and all policies run before any handler.

        The matcher selects the tools that the policy checks, as in `prepare`.

        The policy sees the latest params and returns None, `params`, `allow: False` or
        `block: True`, or `requireApproval`.
        """
        matches = None if matcher is None else exact_matcher(matcher)
        receiver, name = PolicyAnswering(plugin_id, evaluate, matches), f"{plugin_id} policy"
        priority = TRUSTED if is_bundled else TRUSTED / 10
        before = self.bus.signal(PRE)
        before.connect(receiver, name=name, priority=priority, on_error="block")
        if not self._asks_trusted:
            self._asks_trusted, name = True, "trusted approval"
            before.connect(ask_trusted, name=name, priority=TRUSTED / 100, on_error="block")


def _hooks(is_strict: bool, older: bool) -> dict[str, ClawHook]:
    hooks = {**HOOKS, **({OLDER.name: OLDER} if older else {})}
    return {name: strict(hook) for name, hook in hooks.items()} if is_strict else hooks
