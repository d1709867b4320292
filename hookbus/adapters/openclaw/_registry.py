"""What plugins have registered: typed hooks as receivers of hookspecs, and whatever else has a kind
and a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from hookbus import Bus, HookError

from ..._errors import did_you_mean
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

    Everywhere `plugin_id` is the id of a plugin, `hook` the name of one of OpenClaw's hooks, and
    `handler` a function of event and ctx, plain or async.

    Attributes:
        bus: the bus with the hooks, one hookspec of the same name for each.
        is_strict: whether the defects of OpenClaw are corrected.
        hooks: the hooks, by name.
        plugins: the plugins, by id.
        diagnostics: what was refused, and why.
    """

    def __init__(
        self, bus: Bus | None = None, *, strict: bool = False, timeouts: Timeouts | None = None,
        older: bool = False,
    ) -> None:  # fmt: skip
        """Declare the hooks on a bus.

        Args:
            bus: the bus; None makes one.
            strict: cure the defects of OpenClaw instead of keeping them.
            timeouts: the operator's word, in seconds: for each plugin a number for all its
                handlers, or a mapping of hook to number; it goes before what the plugin says.
            older: have `before_agent_start`, too, which OpenClaw has removed.

        Raises:
            HookError: if a timeout is not between 0.001 and 600, or the bus has one of these hooks
                already.
        """
        super().__init__(is_strict=strict)
        self.bus: Bus = Bus() if bus is None else bus
        self.hooks: dict[str, ClawHook] = _hooks(strict, older)
        self._timeouts, self._asks_trusted = dict(timeouts or {}), False
        check_timeouts(self._timeouts, self.hooks)
        taken = sorted(set(self.hooks) & set(self.bus.hook_names()))
        if taken:
            raise HookError(
                f"this bus already has the hook {taken[0]}; each registry needs its own Bus()"
            )
        self.specs |= {name: declare(hook, self.bus) for name, hook in self.hooks.items()}

    # -- typed hooks -------------------------------------------------------------------------------

    def on(
        self, plugin_id: str, hook: str, handler: Handler, **options: Any
    ) -> Callable[[], None] | None:
        """Register a handler `(event, ctx)` of a plugin for a hook, as `api.on` of OpenClaw.

        Args:
            options: those of `prepare`.

        Returns:
            With `strict=True` a function that disconnects it; otherwise None, as in OpenClaw.

        Raises:
            TypeError: for an invalid matcher.
            HookError: if the handler is not callable; with `strict=True` also for other invalid
                arguments.
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
        """Check a registration and return it; None, with a diagnostic, for an unknown hook.

        Args:
            priority: higher runs first; None is 0. Among equals the first registered runs first.
            timeout: its limit in seconds; the operator's setting comes first, that of the hook
                last.
            matcher: the exact ids of the tools it is for, of `before_tool_call` and
                `after_tool_call`; with `strict=True` also globs, a pattern, a predicate of the id.
            registration_id: who it is among the plugin's handlers, in the outcomes of evaluators.
            eligible_triggers: of `before_agent_reply`: `cron`, `heartbeat`, `user`.
            eligible_dispatch_kinds: of `reply_dispatch`: `agent`, `acp`.
            requires_tool_authority: of `before_prompt_build`: runs in the authorised build only.

        Raises:
            HookError: as `on`.
            TypeError: as `on`.
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
        """Note what is wrong with a registration; with `strict=True` refuse it."""
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
        advice = f"; {' and '.join(MATCHED)} take one"
        self._object(plugin_id, f'typed hook "{hook}" ignores tool matcher', advice)
        return None

    def _timeout(self, plugin_id: str, hook: str, given: float | None) -> float | None:
        """Return the seconds of the operator's word for the hook, for the plugin, or of the
        plugin's own."""
        said = self._timeouts.get(plugin_id)
        operators = said.get(hook, said.get("*")) if isinstance(said, Mapping) else said
        if operators is not None:
            return milliseconds(operators) / 1000
        if given is not None and not is_seconds(given):
            problem = f'typed hook "{hook}" ignores a timeout of {given!r:.40}'
            self._object(plugin_id, problem, "; give seconds, from 0.001 on")
            return None
        return None if given is None else milliseconds(given) / 1000

    def _connect(self, registration: Registration) -> tuple[str, str]:
        """Connect a handler and return its key. With `strict=True` one that is there already takes
        the new options."""
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
        """Let a plugin register for the running task only, while the block is open.

        There, these registrations hide the plugin's others for the same hooks.
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
        """Let a plugin register: call `register(api)`, with its config. This replaces its earlier
        registrations, of any version.

        An exception of `register` propagates, and nothing has changed then.
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
        """Register a trusted tool policy, `evaluate(event, ctx)`; the bundled ones (`is_bundled`)
        first, all before any handler.

        The matcher says which tools it is for, as in `prepare`.

        It sees the latest params and returns None, `params`, `allow: False` or `block: True`, or
        `requireApproval`.
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
