"""Hooks every tool call of AgenticX's executor or runtime as `tool_call`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from hookbus import HookBlocked, HookError

from .._patches import Patches, carries
from ._bus import TURN
from ._points import Points
from ._turns import Turn

_HIDDEN: Final = ("__tool_call_id", "__agent_id")


class ToolCall:
    """One call to a tool, as receivers see it in their argument `call`.

    Attributes:
        tool: AgenticX's tool object; None in a runtime, which knows tools only by name.
        agent_id, task_id: the agent and task of the call; None if the caller did not give them.
        session: the session of the runtime; None in an executor.
    """

    def __init__(
        self, name: str, body: Callable[[dict[str, Any]], Any], *, tool: Any = None,
        agent_id: Any = None, task_id: Any = None, session: Any = None,
    ) -> None:  # fmt: skip
        self.tool, self.agent_id, self.task_id, self.session = tool, agent_id, task_id, session
        self._name, self._body = name, body
        # The executor's result of the call, or the exception it raised.
        self._outcome: Any = None
        self._raised: BaseException | None = None

    def __repr__(self) -> str:
        return f"<call of {self._name}>"

    def words(
        self, arguments: dict[str, Any], sender: Any, call_id: str | None = None
    ) -> tuple[Any, ...]:
        """Return the arguments for the hook `tool_call`. `sender` is the tool, or an object in its
        place.
        """
        turn = None if self.tool is None else TURN.get()
        agent = self.agent_id if turn is None or turn.agent is None else turn.agent
        return self._name, arguments, call_id, _kind_of(self._name, self.tool), sender, agent, self

    def run(self, name: str, args: Mapping[str, Any]) -> Any:
        """Run the tool, and raise any exception that it raises."""
        try:
            return self._result(self._body(self._checked(name, args)))
        except BaseException as error:
            self._raised = self._raised or error
            raise

    async def run_async(self, name: str, args: Mapping[str, Any]) -> Any:
        """Like `run`, but on an event loop."""
        try:
            return self._result(await self._body(self._checked(name, args)))
        except BaseException as error:
            self._raised = self._raised or error
            raise

    def _checked(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        if name != self._name:
            raise HookError(
                f"a receiver changed the name of the tool {self._name} to {name!r}; only the "
                "arguments of a tool call can be changed"
            )
        return dict(args)

    def _result(self, outcome: Any) -> Any:
        if self.tool is None:
            return outcome
        self._outcome = outcome
        if not outcome.success:
            self._raised = error = outcome.error or RuntimeError(
                f"{self._name} failed without an error message"
            )
            raise error
        return outcome.result

    def outcome(self, make: Callable[..., Any], result: Any) -> Any:
        """Return the executor's outcome object for a result."""
        if self._outcome is None or not self._outcome.success:
            return make(tool_name=self._name, success=True, result=result)
        if result is not self._outcome.result:
            self._outcome.result = result
        return self._outcome

    def result_of(self, make: Callable[..., Any], error: Exception) -> Any:
        """Return the executor's outcome object for an exception.

        If the executor itself raised the exception, raise it again.
        """
        if error is not self._raised:
            return make(tool_name=self._name, success=False, error=error)
        if self._outcome is None:
            raise error
        return self._outcome


_KINDS: Final = {
    "agenticx.collaboration.delegation": "agent", "agenticx.protocols.tools": "agent",
    "agenticx.tools.mcp_hub": "mcp", "agenticx.tools.remote": "mcp",
    "agenticx.tools.remote_v2": "mcp", "mcp_call": "mcp", "spawn_subagent": "agent",
    "delegate_to_avatar": "agent",
}  # fmt: skip
"""The kinds of tools, by the module of the tool's class or of a parent class. For a runtime, the
key is the tool's name.
"""


def _kind_of(name: str, tool: Any) -> str:
    said = [name] if tool is None else [cls.__module__ for cls in type(tool).__mro__]
    return next((_KINDS[each] for each in said if each in _KINDS), "function")


@carries("call")
def tool_call(
    name: str, arguments: dict[str, Any], call_id: str | None, kind: str, tool: Any, caller: Any,
    call: Any,
) -> Any:  # fmt: skip
    """Run a tool; only `arguments` can be changed."""
    return call.run(name, arguments)


@carries("call")
async def tool_call_async(
    name: str, arguments: dict[str, Any], call_id: str | None, kind: str, tool: Any, caller: Any,
    call: Any,
) -> Any:  # fmt: skip
    """Run a tool on an event loop; only `arguments` can be changed."""
    return await call.run_async(name, arguments)


class RuntimeTools:
    """The sender of `tool_call` in a runtime, which knows tools only by name."""


def replaced_execute(
    patches: Patches, executor_class: Any, make: Callable[..., Any]
) -> dict[str, Callable[..., Any]]:
    """Return the methods of AgenticX's ToolExecutor that run a tool."""
    stock, stock_async = executor_class.execute, executor_class.aexecute

    @functools.wraps(stock)
    def execute(
        self: Any, tool: Any, agent_id: Any = None, task_id: Any = None, **kwargs: Any
    ) -> Any:
        if not patches.is_live:
            return stock(self, tool, agent_id, task_id, **kwargs)
        run = functools.partial(stock, self, tool, agent_id, task_id)
        call = ToolCall(
            tool.name, lambda args: run(**args), tool=tool, agent_id=agent_id, task_id=task_id
        )
        try:
            return call.outcome(make, executor_class.tool_call(*call.words(kwargs, tool)))
        except Exception as error:
            return call.result_of(make, error)

    @functools.wraps(stock_async)
    async def aexecute(
        self: Any, tool: Any, agent_id: Any = None, task_id: Any = None, **kwargs: Any
    ) -> Any:
        if not patches.is_live:
            return await stock_async(self, tool, agent_id, task_id, **kwargs)
        run = functools.partial(stock_async, self, tool, agent_id, task_id)
        call = ToolCall(
            tool.name, lambda args: run(**args), tool=tool, agent_id=agent_id, task_id=task_id
        )
        try:
            result = await executor_class.tool_call_async(*call.words(kwargs, tool))
            return call.outcome(make, result)
        except Exception as error:
            return call.result_of(make, error)

    return {"execute": execute, "aexecute": aexecute}


Executed = Callable[[Any, str, dict[str, Any]], dict[str, Any]]
"""Returns the arguments for a runtime's tool. It takes the session, the tool's name, and the
arguments that the runtime would pass.
"""


def replaced_dispatch(
    patches: Patches, hooked: Callable[..., Any], tools: Any, stock: Any, executed: Executed
) -> Callable[..., Any]:
    """Return the function with which a runtime runs a tool."""

    @functools.wraps(stock)
    async def dispatch(name: str, arguments: Any, session: Any = None, **kwargs: Any) -> Any:
        if not patches.is_live:
            return await _dispatched(stock, name, arguments, session, kwargs)
        hidden = {key: arguments[key] for key in _HIDDEN if key in arguments}
        args = executed(
            session, name, {key: value for key, value in arguments.items() if key not in hidden}
        )
        call = ToolCall(
            name, lambda args: _dispatched(stock, name, {**args, **hidden}, session, kwargs),
            agent_id=hidden.get("__agent_id"), session=session,
        )  # fmt: skip
        return await hooked(*call.words(args, tools, hidden.get("__tool_call_id")))

    return dispatch


def _dispatched(stock: Any, name: str, arguments: Any, session: Any, kwargs: Any) -> Any:
    # One of AgenticX's two functions takes the session only as a keyword argument.
    if "session" in (stock.__kwdefaults__ or ()):
        return stock(name, arguments, session=session, **kwargs)
    return stock(name, arguments, session, **kwargs)


Ended = Callable[[Turn, Exception], None]
"""Called with a call that failed between its before-hooks and its after-hooks."""


def replaced_turns(
    patches: Patches, points: Points, executor_class: Any, ended: Ended
) -> dict[str, Callable[..., Any]]:
    """Return the methods of AgenticX's AgentExecutor that call models and tools."""

    def run(kind: str, agent: Any, call: Callable[[Any], Any]) -> Any:
        turn = Turn(agent, kind, strict=points.strict)
        previous = TURN.get()
        try:
            TURN.set(turn)
            return call(turn.view())
        except Exception as error:
            if turn.blocked is None and turn.context is not None and not turn.has_ended:
                ended(turn, error)
            if isinstance(turn.blocked, HookBlocked) and error.__cause__ is None:
                error.__cause__ = turn.blocked
            raise
        finally:
            TURN.set(previous)

    stock_model, stock_tool = executor_class._get_next_action, executor_class._execute_tool_call

    @functools.wraps(stock_model)
    def get_next_action(self: Any, agent: Any, task: Any, event_log: Any) -> Any:
        if not patches.is_live:
            return stock_model(self, agent, task, event_log)
        return run("llm", agent, lambda seen: stock_model(self, seen, task, event_log))

    @functools.wraps(stock_tool)
    def execute_tool_call(self: Any, action: Any, event_log: Any, agent: Any = None) -> Any:
        if not patches.is_live:
            return stock_tool(self, action, event_log, agent)
        return run("tool", agent, lambda seen: stock_tool(self, action, event_log, seen))

    return {"_get_next_action": get_next_action, "_execute_tool_call": execute_tool_call}
