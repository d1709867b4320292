"""Makes tool calls in this order: trusted policies, `before_tool_call`, approval, the tool,
`after_tool_call`."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ClassVar, Final

from hookbus import Block, HookBlocked, HookContext, HookError

from ..._ground.errors import did_you_mean
from ..._ground.signatures import signature_of
from .._vocabulary import hook_tool_call
from ._approvals import Approve, ask
from ._dispatch import DISPATCH, Dispatch, current
from ._errors import HandlerError
from ._plugins import Registration
from ._turns import within
from ._values import MISSING, clone, get, is_truthy, spread

HOOK: Final = "tool_call"
PRE: Final = "pre_tool_call"
TRUSTED: Final = 1e12
"""The priority of bundled policies. Policies of installed plugins run next, then the approvals that
policies require, and then handlers."""

Tool = Callable[[Any], Any]


class ToolCall:
    """A call in progress, which all of its handlers share.

    Attributes:
        dispatch: the call's run of `before_tool_call`.
        tool: the function that is called.
        approve: the approver.
        params: the original params, without changes by handlers, as OpenClaw shows them.
        final: the params with which the tool is called; MISSING until the tool is called.
        written: the params that a handler set last.
        trusted: the first approval that a trusted policy requires.
        failed: the failure of a handler, if it blocked the call.
    """

    def __init__(self, dispatch: Dispatch, tool: Tool, approve: Approve | None) -> None:
        self.dispatch, self.tool, self.approve = dispatch, tool, approve
        self.params: Any = None
        self.final: Any = MISSING
        self.written: Any = MISSING
        self.trusted: Any = None
        self.failed: HandlerError | None = None

    def event(self, params: Any) -> dict[str, Any]:
        """Return the event for the next handler."""
        if params is not self.written or self.dispatch.is_strict:
            self.params = params
        merged = self.dispatch.merged
        if (
            self.dispatch.is_strict
            and get(merged, "params") is not MISSING
            and get(merged, "requireApproval") is MISSING
        ):
            self.dispatch.merged = {**merged, "params": params}
        return {**spread(self.dispatch.event), "params": self.params}

    async def ask(self, approval: Any, params: Any) -> str | None:
        """Ask for an approval. Return the reason if the call is blocked, or None."""
        name = self.dispatch.event["toolName"]
        return await ask(approval, name, params, self.approve, self.dispatch.logger)


class ToolAnswering:
    """The `pre_tool_call` receiver for one handler of `before_tool_call`."""

    __signature__: ClassVar[inspect.Signature] = signature_of(lambda tools, ctx: None)

    def __init__(self, registration: Registration) -> None:
        self.registration = registration

    @property
    def __wrapped__(self) -> Any:
        return self.registration.handler

    def is_asked(self, name: str, context: Any) -> bool:
        """Return whether the handler is called for this tool."""
        return current("before_tool_call").asks(self.registration, {"toolName": name}, context)

    async def __call__(self, tools: Any, ctx: HookContext) -> Any:
        call: ToolCall = current("before_tool_call").call
        dispatch, registration = call.dispatch, self.registration
        event = call.event(ctx.kwargs["arguments"])
        before = dispatch.merged
        try:
            returned = registration.handler(dispatch.event_for(event), ctx.kwargs["context"])
            returned = await within(returned, dispatch.budget(registration))
            wrong = dispatch.take(registration.name, returned)
            if wrong is not None:
                raise wrong if isinstance(wrong, Exception) else TypeError(wrong)
        except Exception as error:
            try:
                dispatch.fail(registration.name, error)
            except HandlerError as failed:
                call.failed = failed
                dispatch.logger.error("%s", failed)
                return Block("Tool call blocked because before_tool_call hook failed")
            raise
        return _verdict(call, before, returned)


def _verdict(call: ToolCall, before: Any, returned: Any) -> Block | dict[str, Any] | None:
    """Return the effect of a handler's result on the call."""
    merged = call.dispatch.merged
    if get(merged, "block") is True:
        return Block(get(merged, "blockReason") or "Tool call blocked by plugin hook")
    patch = {}
    params = get(merged, "params")
    is_said = get(returned, "params") is not MISSING  # an approval copies earlier results
    if is_said and isinstance(params, Mapping) and params is not get(before, "params"):
        patch["arguments"] = call.written = {**spread(call.params), **params}
    if get(merged, "requireApproval") is not get(before, "requireApproval"):
        patch["approval"] = merged["requireApproval"]
    return patch or None


class PolicyAnswering:
    """The `pre_tool_call` receiver for a trusted policy. It runs before all handlers, and blocks
    the call if it fails."""

    __signature__: ClassVar[inspect.Signature] = signature_of(lambda tools, ctx: None)

    def __init__(
        self, plugin_id: str, evaluate: Callable[..., Any], matches: Callable[[str], bool] | None
    ) -> None:
        self.plugin_id, self.evaluate, self._matches = plugin_id, evaluate, matches

    @property
    def __wrapped__(self) -> Any:
        return self.evaluate

    async def __call__(self, tools: Any, ctx: HookContext) -> Any:
        call: ToolCall = current("before_tool_call").call
        if self._matches is not None and not self._matches(ctx.kwargs["name"]):
            return None
        event = {**spread(call.dispatch.event), "params": ctx.kwargs["arguments"]}
        decision = self.evaluate(event, ctx.kwargs["context"])
        decision = await decision if inspect.isawaitable(decision) else decision
        if get(decision, "allow") is False or get(decision, "block") is True:
            key = "reason" if get(decision, "allow") is False else "blockReason"
            usual = f"Tool call blocked by trusted plugin policy of {self.plugin_id}"
            return Block(get(decision, key) or usual)
        if is_truthy(get(decision, "requireApproval")) and call.trusted is None:
            call.trusted = {"pluginId": self.plugin_id, **decision["requireApproval"]}
        params = get(decision, "params")
        return {"arguments": dict(params)} if isinstance(params, Mapping) else None


async def ask_trusted(tool: Any, arguments: Any) -> Block | None:
    """Ask for the approval that a trusted policy requires. This receiver runs after all trusted
    policies."""
    call: ToolCall = current("before_tool_call").call
    reason = None if call.trusted is None else await call.ask(call.trusted, arguments)
    return None if reason is None else Block(reason)


class ToolCalls:
    """Calls tools with the plugins of a runner's registry, as OpenClaw does.

    Every call runs the common hook `tool_call`, with the additional arguments `context` and
    `approval`. Handlers of `before_tool_call` are modifiers of this hook, ordered together with
    other `pre_tool_call` receivers. Guards run after all modifiers.

    Attributes:
        tool_call: the hookable method, such as for `explain`.
    """

    def __init__(
        self, runner: Any, tools: Mapping[str, Tool] | None = None, *,
        approve: Approve | None = None,
    ) -> None:  # fmt: skip
        """Create a caller of tools.

        Args:
            runner: a `HookRunner`.
            tools: functions that take the params, by tool name. Other names are looked up among the
                tools that plugins `provide` as `"tool"`.
            approve: called with an `ApprovalRequest`. It returns one of the request's decisions, or
                an awaitable. If it is None, every call that requires approval is blocked.
        """
        self._runner, self._tools, self._approve = runner, dict(tools or {}), approve

        async def tool_call(
            name: str, arguments: Any, call_id: str | None, kind: str, tool: Tool, caller: Any,
            context: Any, approval: Any = None,
        ) -> Any:  # fmt: skip
            """Run a tool; only `arguments` and `approval` can be changed."""
            return await self._execute(arguments, approval)

        owner: Any = type("ToolCalls", (), {HOOK: staticmethod(tool_call)})
        hook_tool_call(owner, HOOK, runner.registry.bus)
        self.tool_call: Callable[..., Coroutine[Any, Any, Any]] = owner.tool_call

    async def call(self, tool: str, params: Any, ctx: Any = None, **event: Any) -> Any:
        """Call a tool.

        Args:
            tool: the name of the tool.
            params: the params of the call.
            ctx: the context for OpenClaw's hooks; None means an empty dict.
            event: additional keys of the event, such as `toolCallId`.

        Returns:
            The result of the tool.

        Raises:
            HookError: if there is no such tool.
            HookBlocked: if a plugin or a guard blocks the call, or the call is not approved.
            Exception: any exception that the tool raises.
        """
        known = self._known()
        if tool not in known:
            raise HookError(f"unknown tool {tool!r}{did_you_mean(tool, known)}")
        dispatch = self._runner.dispatch(
            "before_tool_call", {"toolName": tool, "params": params, **event}, ctx
        )
        call = dispatch.call = ToolCall(dispatch, known[tool], self._approve)
        agent = get(dispatch.ctx, "agentId")
        started, previous = time.monotonic(), DISPATCH.get()
        try:
            DISPATCH.set(dispatch)
            result = await self.tool_call(
                tool, clone(params, "before_tool_call"), event.get("toolCallId"), "function",
                call.tool, None if agent is MISSING else agent, dispatch.ctx,
            )  # fmt: skip
        except Exception as error:
            said = error.reason if isinstance(error, HookBlocked) else str(error)
            await self._tell(call, started, error=said)
            if isinstance(error, HookBlocked) and call.failed is not None:
                raise error from call.failed
            raise
        finally:
            DISPATCH.set(previous)
        await self._tell(call, started, result=result)
        return result

    async def _tell(self, call: ToolCall, started: float, **ended: Any) -> None:
        event = call.dispatch.event
        params = event["params"] if call.final is MISSING else call.final
        milliseconds = round((time.monotonic() - started) * 1000)
        after = {**event, "params": params, **ended, "durationMs": milliseconds}
        await self._runner.run("after_tool_call", after, call.dispatch.ctx)

    def _known(self) -> dict[str, Tool]:
        return {**self._runner.registry.provided("tool"), **self._tools}

    async def _execute(self, params: Any, approval: Any) -> Any:
        call: ToolCall = current("before_tool_call").call
        call.final = params
        if approval is not None:
            reason = await call.ask(approval, params)
            if reason is not None:
                raise HookBlocked(reason, str(get(approval, "pluginId") or "approval"), HOOK)
        result = call.tool(params)
        return await result if inspect.isawaitable(result) else result
