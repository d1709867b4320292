"""smolagents: hooks around every call to a tool, a managed agent and a model.

`tool_call` covers every call to a tool (sender: the `Tool`), to `final_answer` (`kind="output"`)
and to a managed agent (sender: the agent, `kind="agent"`), by an agent, its code or a program.
`model_call` covers `Model.generate` and `generate_stream`, and `model_stream` gets the parts of a
streamed answer; `agent_run` and `agent_stream` cover `agent.run`.

A blocked call of a `ToolCallingAgent` becomes an observation, so that the agent keeps the results
of its other calls. In the code of a `CodeAgent` and in a program, it raises `HookBlocked`. The code
stops, and the model reads the reason. A blocked `final_answer` also raises `HookBlocked`, and does
not become the answer.

Not covered: tools that a remote executor runs, and direct calls to a tool's `forward`.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Final, NamedTuple

from ._arguments import named
from ._injected import is_written
from ._parts import Held
from ._patches import Between
from .kit import Adapter, Gate, Refusal, ToolCall

SUPPORTED: Final = Between("1.23.0", "1.26.0")


# -- results ---------------------------------------------------------------------------------------


@functools.cache
def _text() -> Any:
    return import_module("smolagents.agent_types").AgentText


def _shown(raw: Any) -> Any:
    return str(raw) if isinstance(raw, _text()) else raw


def _packed(call: ToolCall, raw: Any, value: Any) -> Any:
    return _text()(value) if isinstance(raw, _text()) and isinstance(value, str) else value


def _refused(refused: Refusal) -> Any:
    if refused.call.caller is None or refused.call.kind == "output":
        raise refused.blocked
    return refused.text


# -- tools -----------------------------------------------------------------------------------------

_ADAPTER: Final = Adapter(
    "smolagents", tested=SUPPORTED, shown=_shown, packed=_packed, refused=_refused,
    sample="hookbus.adapters._seams.smolagents",
)  # fmt: skip
_ADAPTER.pauses("smolagents.local_python_executor:FinalAnswerException")


class _Waiting(NamedTuple):
    """The agent that waits for a text, the name of the called tool, and the values from the agent's
    state. For each argument, `state` has the name that the model wrote, and the value that replaced
    it."""

    agent: Any
    name: str
    state: dict[str, tuple[str, Any]]


_WAITS: Final[ContextVar[_Waiting | None]] = ContextVar("hookbus_smolagents", default=None)

_AGENT: Final = "smolagents.agents:ToolCallingAgent"


@_ADAPTER.wrap(f"{_AGENT}.execute_tool_call")
def _execute_tool_call(gate: Gate, stock: Any, agent: Any, tool_name: str, arguments: Any) -> Any:
    if tool_name not in agent.tools and tool_name not in agent.managed_agents:
        given = arguments if isinstance(arguments, dict) else {"input": arguments}
        call = ToolCall(tool_name, dict(given), None, "unknown", agent, agent)
        return gate.run(call, lambda _: stock(agent, tool_name, arguments))
    with Held(_WAITS, _Waiting(agent, tool_name, {})):
        return stock(agent, tool_name, arguments)


@_ADAPTER.wrap(f"{_AGENT}._substitute_state_variables")
def _substitute(gate: Gate, stock: Any, agent: Any, arguments: Any) -> Any:
    found, waiting = stock(agent, arguments), _WAITS.get()
    if waiting is not None and waiting.agent is agent and isinstance(found, dict):
        waiting.state.update({
            name: (arguments[name], value) for name, value in found.items()
            if value is not arguments[name] and not is_written(value)
        })  # fmt: skip
    return found


def _who_waits(called: Any) -> _Waiting | None:
    waiting = _WAITS.get()
    if waiting is None:
        return None
    agent, name, _ = waiting
    own = agent.tools.get(name), agent.managed_agents.get(name)
    return waiting if any(each is called for each in own) else None


def _called(stock: Any, tool: Any, *args: Any, **kwargs: Any) -> Any:
    names, given = [*getattr(tool, "inputs", ())], args[0] if len(args) == 1 else None
    own = {each: kwargs.pop(each) for each in ("sanitize_inputs_outputs",) if each in kwargs}
    if isinstance(given, dict) and not kwargs and {*given} <= {*names}:
        args, kwargs = (), given
    kind = "output" if tool.name == "final_answer" else _kind(tool)
    return _read(stock, tool, kind, named(names, args, kwargs), own)


def _kind(tool: Any) -> str:
    return "mcp" if type(tool).__module__.partition(".")[0] == "mcpadapt" else "function"


def _managed(stock: Any, agent: Any, *args: Any, **kwargs: Any) -> Any:
    return _read(stock, agent, "agent", named(["task"], args, kwargs), {})


def _read(stock: Any, tool: Any, kind: str, given: Any, own: dict[str, Any]) -> Any:
    """Return the call and its body. `own` contains smolagents' own options. If an argument is an
    object from the agent's state, such as an image, receivers see the name that the model wrote."""
    arguments, spread = given
    waiting = _who_waits(tool)
    state = {
        name: kept for name, kept in (waiting.state if waiting else {}).items()
        if arguments.get(name) is kept[1]
    }  # fmt: skip
    arguments = {**arguments, **{name: kept[0] for name, kept in state.items()}}

    def body(arguments: dict[str, Any]) -> Any:
        back = {name: kept[1] for name, kept in state.items() if arguments.get(name) == kept[0]}
        by_place, by_name = spread({**arguments, **back})
        with Held(_WAITS, None):
            return stock(tool, *by_place, **by_name, **own)

    agent = waiting.agent if waiting else None
    return ToolCall(tool.name, arguments, None, kind, tool, agent), body


_ADAPTER.tool("smolagents.tools:BaseTool.__call__", _called)
_ADAPTER.tool("smolagents.agents:MultiStepAgent.__call__", _managed)


# -- models and runs -------------------------------------------------------------------------------


def _deltas(answer: Any) -> list[Any]:
    models = import_module("smolagents.models")
    if isinstance(answer, str):
        return [models.ChatMessageStreamDelta(content=answer)]
    calls = [
        models.ChatMessageToolCallStreamDelta(
            index=index, id=call.id, type=call.type, function=call.function
        )
        for index, call in enumerate(answer.tool_calls or ())
    ]
    usage = answer.token_usage
    return [models.ChatMessageStreamDelta(answer.content, calls or None, usage)]


_ADAPTER.model("smolagents.models:Model.generate").stream(
    "smolagents.models:Model.generate_stream", items=_deltas,
    whole=lambda parts: import_module("smolagents.models").agglomerate_stream_deltas(parts),
)  # fmt: skip
_ADAPTER.run("smolagents.agents:MultiStepAgent.run", input="task", stream="stream")

install = _ADAPTER.install
