"""The hook runner, which calls the handlers of a registry and applies the failure policy."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Final, Literal

import attrs

from hookbus import HookError

from ..._ground.errors import did_you_mean
from ..._ground.numbers import is_number
from ._dispatch import DISPATCH, Dispatch, Receipt
from ._hooks import FAIL_CLOSED, FROZEN
from ._registry import Registry
from ._turns import ToolAuthority
from ._values import clone, frozen, get, is_same, is_truthy, spread

Policy = Literal["fail-open", "fail-closed"]

GLOBAL_POLICY: Final[Mapping[str, Policy]] = dict.fromkeys(FAIL_CLOSED, "fail-closed")
"""The failure policy of OpenClaw's own global runner."""

_log: Final = logging.getLogger("hookbus.adapters.openclaw")


@attrs.define(eq=False)
class _Build:
    """A prompt build in progress."""

    runner: object
    is_open: bool = True


_building: ContextVar[_Build | None] = ContextVar("hookbus_openclaw_prompt_build", default=None)


class HookRunner:
    """Runs the hooks of the current registry.

    Throughout, `hook` is the name of one of OpenClaw's hooks, `event` and `ctx` are OpenClaw's
    event and the event's context, and `plugin_id` is the id of a plugin.
    """

    def __init__(
        self, registry: Registry | Callable[[], Registry], *, catch_errors: bool = True,
        failure_policy: Mapping[str, Policy] | None = None,
        timeouts: Mapping[str, float] | None = None, logger: logging.Logger = _log,
    ) -> None:  # fmt: skip
        """Create a runner.

        Args:
            registry: the registry, or a function that returns the current registry and is called
                for each run.
            catch_errors: whether failures in hooks that fail open are logged and skipped; otherwise
                every failure is raised.
            failure_policy: `"fail-open"` or `"fail-closed"` by hook. By default, `before_agent_run`
                fails closed and all other hooks fail open.
            timeouts: time limits in seconds by hook, for handlers without a timeout. They replace
                OpenClaw's limits.
            logger: the logger for failures.

        Raises:
            HookError: if a policy or a number of seconds is invalid.
        """
        self._registry = registry
        self._catches, self._logger = catch_errors, logger
        self._policy = _policies(failure_policy or {})
        self._timeouts = _seconds(timeouts or {})

    @property
    def registry(self) -> Registry:
        """The current registry."""
        return self._registry if isinstance(self._registry, Registry) else self._registry()

    # -- running -----------------------------------------------------------------------------------

    def run(
        self, hook: str, event: Any, ctx: Any = None, *,
        receipt: Callable[[str, Receipt], object] | None = None,
    ) -> Any:  # fmt: skip
        """Run a hook.

        Args:
            event: the event, with OpenClaw's keys.
            ctx: the context of the event; None means an empty dict.
            receipt: for `before_tool_call`, a function called with each handler's plugin and
                decision.

        Returns:
            The result of the hook, or None if there is none. Unless the hook is synchronous
            (`tool_result_persist` and `before_message_write`), this is an awaitable.

        Raises:
            HookError: if there is no such hook.
            HandlerError: if a handler of a hook that fails closed has failed.
            HandlerErrors: if several observers have failed.
            IsolationError: if the event must be copied but cannot be copied.
        """
        dispatch = self.dispatch(hook, event, ctx)
        dispatch.receipt = receipt
        return self._run_sync(dispatch) if dispatch.hook.kind == "sync" else self._run(dispatch)

    def dispatch(self, hook: str, event: Any, ctx: Any) -> Dispatch:
        """Return a new run of a hook, without starting it.

        Raises:
            HookError: if there is no such hook.
        """
        registry = self.registry
        if hook not in registry.hooks:
            raise HookError(f"{hook!r} is not a hook{did_you_mean(str(hook), registry.hooks)}")
        catches = self._catches and self._policy.get(hook, "fail-open") == "fail-open"
        return Dispatch(
            registry.hooks[hook], event, {} if ctx is None else ctx, catches, registry,
            self._logger, self._timeouts,
        )  # fmt: skip

    def _run_sync(self, dispatch: Dispatch) -> Any:
        event, previous = dispatch.event, DISPATCH.get()
        try:
            DISPATCH.set(dispatch)
            result = dispatch.registry.specs[dispatch.hook.name](event, dispatch.ctx)
        finally:
            DISPATCH.set(previous)
        if (
            dispatch.hook.name == "before_message_write"
            and result is not None
            and "block" not in result
        ):
            return None if is_same(get(result, "message"), get(event, "message")) else result
        return result

    async def _run(self, dispatch: Dispatch) -> Any:
        if dispatch.hook.name != "before_prompt_build" or dispatch.authority is not None:
            return await self._ask(dispatch)
        outer = _building.get()
        if outer is not None and outer.is_open and outer.runner is self:
            return None  # called by one of its own handlers
        build = _Build(self)
        previous = _building.get()
        try:
            _building.set(build)
            return await self._ask(dispatch)
        finally:
            build.is_open = False  # for tasks that handlers left running
            _building.set(previous)

    async def _ask(self, dispatch: Dispatch) -> Any:
        hook = dispatch.hook.name
        event = dispatch.event = self._prepared(dispatch)
        previous = DISPATCH.get()
        try:
            DISPATCH.set(dispatch)
            result = await dispatch.registry.specs[hook](event, dispatch.ctx)
        finally:
            DISPATCH.set(previous)
        if hook == "resolve_exec_env":
            return {} if result is None else result
        return result

    def _prepared(self, dispatch: Dispatch) -> Any:
        """Return the event that all handlers of one run share."""
        hook, event, ctx = dispatch.hook.name, dispatch.event, dispatch.ctx
        if (
            hook in ("agent_end", "before_agent_finalize")
            and not is_truthy(get(event, "runId"))
            and is_truthy(get(ctx, "runId"))
        ):
            return {**spread(event), "runId": ctx["runId"]}
        if not any(each.hook.name == hook for each in dispatch.registry.typed_hooks):
            return event
        if hook in FROZEN:
            return frozen(clone(event, hook))
        if hook in ("before_prompt_build", "agent_turn_prepare") and isinstance(
            get(event, "messages"), list
        ):
            return clone(
                {**event, "messages": [_for_models(message) for message in event["messages"]]}, hook
            )
        return event

    # -- other ways to run -------------------------------------------------------------------------

    async def run_authorized_prompt_build(
        self, event: Any, ctx: Any = None, *, active_tools: Iterable[str], fingerprint: str,
        assert_host_active: Callable[[], object] = bool,
    ) -> Any:  # fmt: skip
        """Call the `before_prompt_build` handlers that require tool authority, after the tools for
        the model's turn are fixed.

        Args:
            active_tools: the tools of this turn.
            fingerprint: identifies the source of the tools. If it is empty, no handler is called.
            assert_host_active: called between handlers; raises an exception if the host has stopped
                waiting.

        Returns:
            `prependContext` and `appendContext`, as far as handlers returned them, or None.
        """
        if not fingerprint.strip():
            return None
        authority = ToolAuthority(active_tools, fingerprint.strip(), assert_host_active)
        dispatch = self.dispatch("before_prompt_build", event, ctx)
        dispatch.authority = {"toolAuthority": authority}
        dispatch.assert_active = authority.assert_active
        try:
            result = await self._run(dispatch)
        finally:
            authority.end()
        return result and {
            key: result[key]
            for key in ("prependContext", "appendContext")
            if is_truthy(get(result, key))
        }

    async def run_inbound_claim_for_plugin(
        self, plugin_id: str, event: Any, ctx: Any = None
    ) -> dict[str, Any]:
        """Call the plugin that owns a conversation, which may handle a message.

        Returns:
            `status`: `handled` (with `result`), `declined`, `error` (with `error`), `no_handler` or
            `missing_plugin`.
        """
        registry = self.registry
        plugin = registry.plugins.get(plugin_id)
        if plugin is None or plugin.status != "loaded":
            return {"status": "missing_plugin"}
        if not any(
            each.plugin_id == plugin_id and each.hook.name == "inbound_claim"
            for each in registry.typed_hooks
        ):
            return {"status": "no_handler"}
        dispatch = self.dispatch("inbound_claim", event, ctx)
        dispatch.only = plugin_id
        result = await self._run(dispatch)
        if result is not None:
            return {"status": "handled", "result": result}
        if dispatch.first_error:
            return {"status": "error", "error": dispatch.first_error}
        return {"status": "declined"}

    # -- who is there ------------------------------------------------------------------------------

    def has_hooks(self, hook: str, ctx: Any = None) -> bool:
        """Return whether a hook has handlers. If a ctx is given, only eligible handlers count."""
        return any(
            each.hook.name == hook and (ctx is None or each.is_eligible(ctx))
            for each in self.registry.typed_hooks
        )

    def get_hook_count(self, hook: str) -> int:
        """Return the number of all handlers that are registered for a hook."""
        return sum(each.hook.name == hook for each in self.registry.typed_hooks)


def _policies(given: Mapping[str, Policy]) -> dict[str, Policy]:
    for hook, policy in given.items():
        if policy not in ("fail-open", "fail-closed"):
            problem = f"the failure policy of {hook} is {policy!r:.40}"
            raise HookError(f"{problem}; write 'fail-open' or 'fail-closed'")
    return {"before_agent_run": "fail-closed", **given}


def _seconds(given: Mapping[str, float]) -> dict[str, float]:
    for hook, seconds in given.items():
        if not is_number(seconds) or not seconds > 0:
            raise HookError(f"the timeout of {hook} is {seconds!r:.40}; write a number of seconds")
    return dict(given)


def _for_models(message: Any) -> Any:
    """Return a message without the details of tool results and the user's upstream text, which
    models must not see."""
    if get(message, "role") == "toolResult" and "details" in message:
        message = {key: value for key, value in message.items() if key != "details"}
    private = get(message, "__openclaw")
    if isinstance(private, Mapping) and "upstreamUserText" in private:
        kept = {key: value for key, value in private.items() if key != "upstreamUserText"}
        message = {**message, "__openclaw": kept}
    return message
