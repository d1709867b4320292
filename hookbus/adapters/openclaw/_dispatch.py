"""Holds the settings of one run of a hook, and the results of its handlers so far."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Literal

import attrs

from hookbus import HookError

from ._errors import HandlerError, HandlerErrors, failure, first_line, with_causes
from ._hooks import FROZEN, ClawHook
from ._merges import visible_payload
from ._plugins import Registration, Roster
from ._values import MISSING, NULL, IsolationError, clone, first, frozen, get, is_truthy, spread

Receipt = Literal["allowed", "blocked", "approval_required", "failed_open", "failed_closed"]


@attrs.define(eq=False)
class Dispatch:
    """One run of a hook, from the first handler to the last.

    Attributes:
        catches: whether the failure of a handler is logged and the next handler is called;
            otherwise, the failure is raised.
        registry: the registry whose handlers are called.
        budgets: the runner's own time limits for handlers in seconds, by hook.
        only: the only plugin to call in a targeted run; None if all plugins are called.
        authority: the tool authority of an authorised prompt build; None in an ordinary prompt
            build.
        call: the tool call to which the run belongs, if any.
        merged: the merged results of the handlers so far.
        first_error: the message of the first failing handler of a claim.
        assert_active: called between handlers; raises an exception if the host has stopped waiting.
        receipt: called with the decision of each handler of `before_tool_call`.
    """

    hook: ClawHook
    event: Any
    ctx: Any
    catches: bool
    registry: Roster
    logger: logging.Logger
    budgets: Mapping[str, float] = attrs.field(factory=dict)
    only: str | None = None
    authority: Any = None
    receipt: Callable[[str, Receipt], object] | None = None
    assert_active: Callable[[], object] = bool
    call: Any = None
    merged: Any = MISSING
    first_error: str | None = None

    @property
    def is_strict(self) -> bool:
        """Whether the defects of OpenClaw are fixed."""
        return self.registry.is_strict

    # -- who is asked ------------------------------------------------------------------------------

    def asks(self, registration: Registration, event: Any, ctx: Any) -> bool:
        """Return whether a handler is called in this run."""
        if not self.registry.is_visible(registration) or self.only not in (
            None,
            registration.plugin_id,
        ):
            return False
        if (
            registration.requires_tool_authority is not (self.authority is not None)
            and self.hook.name == "before_prompt_build"
        ):
            return False
        if registration.matcher is not None and not registration.matcher(
            str(get(event, "toolName"))
        ):
            return False
        return registration.is_eligible(ctx)

    def budget(self, registration: Registration) -> float | None:
        """Return the time limit of a handler in seconds, or None."""
        return registration.timeout or self.budgets.get(self.hook.name, self.hook.budget)

    # -- what it sees ------------------------------------------------------------------------------

    def event_for(self, event: Any) -> Any:
        """Return the event for the next handler.

        Raises:
            IsolationError: if the event must be copied but cannot be copied.
        """
        self.event, name = event, self.hook.name
        if name == "reply_payload_sending":
            return {
                **spread(event),
                "payload": visible_payload(
                    first(get(self.merged, "payload"), get(event, "payload"))
                ),
            }
        if self.hook.kind == "sync":
            message = get(event, "message") if self.merged is MISSING else self.merged
            event = event if message is MISSING else {**spread(event), "message": message}
            return clone(event, name) if self.is_strict else event
        if self.is_strict:
            return self._latest(event)
        return clone(event, name) if name == "before_tool_call" else event

    def _latest(self, event: Any) -> Any:
        """Return a copy of the event with the changes so far. The copy is read-only if the hook has
        no results."""
        if not self.hook.merges:
            return event if self.hook.name in FROZEN else frozen(event)
        chained = {"before_tool_call": "params", "message_sending": "content"}.get(
            self.hook.name, ""
        )
        latest = get(self.merged, chained)
        return clone(
            event if latest is MISSING else {**spread(event), chained: latest}, self.hook.name
        )

    # -- what it returns ---------------------------------------------------------------------------

    def take(self, name: str, returned: Any) -> str | Exception | None:
        """Merge the result of a handler. Return the problem if the result is invalid, or None.

        Raises:
            IsolationError: if params that must be frozen cannot be copied.
        """
        if self.receipt is not None and self.hook.name == "before_tool_call":
            self.receipt(self.plugin_of(name), _receipt_for(returned))
        if returned is None or (returned is NULL and self.hook.kind != "gate"):
            return None
        wrong = self._malformed(returned) if self.is_strict else None
        if wrong is None:
            try:
                self.merged = self.hook.merge(
                    self.merged, returned, self.plugin_of(name), self.event
                )
            except IsolationError:
                raise
            except Exception as error:  # the merge rule rejects the result: the handler failed
                return error
        return wrong

    def _malformed(self, returned: Any) -> str | None:
        hook = self.hook
        if hook.kind == "gate":
            return None  # it blocks
        if not isinstance(returned, Mapping):
            return f"{hook.name} returned a {type(returned).__name__}; return a mapping"
        unknown = sorted(set(returned) - hook.keys) if hook.keys else []
        if unknown:
            known = ", ".join(sorted(hook.keys))
            return f"{hook.name} has no result key {unknown[0]!r}; known keys are {known}"
        for key in ("block", "cancel"):
            if key in returned and not isinstance(returned[key], bool):
                return f"{key} must be True or False, not {returned[key]!r:.40}"
        if "params" in returned and get(self.merged, "requireApproval") is not MISSING:
            return "an approval was already requested, so params can no longer be changed"
        return None

    def plugin_of(self, name: str) -> str:
        """Return the plugin id of a receiver. For a receiver that is connected to hookbus directly,
        this is the receiver's name."""
        registration = self.registry.find(self.hook.name, name)
        return name if registration is None else registration.plugin_id

    # -- failures ----------------------------------------------------------------------------------

    def fail(self, name: str, error: BaseException) -> None:
        """Log the failure of a handler, or raise it.

        Raises:
            HandlerError: if the hook fails closed.
            IsolationError: if the event could not be copied.
        """
        plugin, hook = self.plugin_of(name), self.hook
        catches = self.catches and not isinstance(error, IsolationError)
        if self.receipt is not None and hook.name == "before_tool_call":
            self.receipt(plugin, "failed_open" if catches else "failed_closed")
        if isinstance(error, IsolationError):
            raise error
        self.first_error = self.first_error or first_line(error)
        failed = failure(hook.name, plugin, error, is_sync=hook.kind == "sync")
        if not catches:
            raise failed from error
        self.logger.error("%s", failed)

    def fail_together(self, failed: list[tuple[str, BaseException]]) -> None:
        """Log the failures of observers, or raise them as one group."""
        raised: list[HandlerError] = []
        for name, error in failed:
            try:
                self.fail(name, error)
            except HandlerError as one:
                raised.append(one)
        if len(raised) == 1:
            raise raised[0]
        if raised:
            raise HandlerErrors("; ".join(map(with_causes, raised)), raised)


def _receipt_for(returned: Any) -> Receipt:
    if get(returned, "block") is True:
        return "blocked"
    return "approval_required" if is_truthy(get(returned, "requireApproval")) else "allowed"


DISPATCH: ContextVar[Dispatch | None] = ContextVar("hookbus_openclaw_dispatch", default=None)


def current(hook: str) -> Dispatch:
    """Return the run in progress.

    Raises:
        HookError: if the hook was not called through a runner.
    """
    dispatch = DISPATCH.get()
    if dispatch is None or dispatch.hook.name != hook:
        raise HookError(
            f"{hook} must be called through a runner: "
            f"HookRunner(registry).run({hook!r}, event, ctx)"
        )
    return dispatch
