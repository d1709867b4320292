"""Anthropic's SDK: hooks around every call to a tool by a tool runner.

`tool_call` (sender: the tool) covers every `call` of a function with `@beta_tool` or
`@beta_async_tool`, of a built-in tool such as memory, of a tool of an MCP server, and of a member
of a toolset. The tool can be called by `tool_runner` (sync, async or streamed), by the runner of a
session, or by a program. A blocked call raises the SDK's `ToolError`, which is also a
`HookBlocked`; the model reads its message as the result of a failed tool.

Not covered: `tool(...)`, which calls the function itself; tools that Anthropic's servers run; calls
by a program that handles the blocks of `messages.create` itself; models.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final

from ._parts import Held
from ._patches import Between
from ._unknown import answer_missing, answer_missing_async, call_of
from .kit import Adapter, Gate, ToolCall, refused_as, shown_as

SUPPORTED: Final = Between("2.0.0", "2.14.0")

_TOOLS: Final = "anthropic.lib.tools"
_RUNNER: Final = f"{_TOOLS}._beta_runner"
_ASKED: Final[ContextVar[tuple[Any, str] | None]] = ContextVar("hookbus_anthropic", default=None)
"""The tool that a runner is calling, and the id of the call."""

_ADAPTER: Final = Adapter(
    "anthropic", tested=SUPPORTED, shown=shown_as.pydantic,
    refused=refused_as(f"{_TOOLS}:ToolError", content=lambda refused: refused.text),
    sample="hookbus.adapters._seams.anthropic",
)  # fmt: skip


def _id(given: Mapping[str, Any]) -> str | None:
    tool, call_id = _ASKED.get() or (None, None)
    return call_id if tool is given["self"] else None


def _kind(tool: Any) -> str:
    return "mcp" if tool.func.__module__ == f"{_TOOLS}.mcp" else "function"


for _cls in ("BetaFunctionTool", "BetaAsyncFunctionTool"):
    _ADAPTER.tool(f"{_TOOLS}:{_cls}.call", arguments="input", call_id=_id, kind=_kind)
for _cls in ("BetaBuiltinFunctionTool", "BetaAsyncBuiltinFunctionTool"):
    _ADAPTER.tool(f"{_TOOLS}:{_cls}.call", arguments="input", call_id=_id, kind="builtin")
for _cls in ("BetaRunnableToolset", "BetaAsyncRunnableToolset"):
    _ADAPTER.tool(f"{_TOOLS}:{_cls}.call", arguments="input", kind="builtin",
                  call_id="context.tool_use.id")  # fmt: skip


@_ADAPTER.wrap(f"{_RUNNER}:BaseSyncToolRunner._run_tool")
def _run_tool(gate: Gate, stock: Any, runner: Any, tool: Any, asked: Any) -> Any:
    with Held(_ASKED, (tool, asked.id)):
        return stock(runner, tool, asked)


@_ADAPTER.wrap(f"{_RUNNER}:BaseAsyncToolRunner._run_tool")
async def _run_tool_async(gate: Gate, stock: Any, runner: Any, tool: Any, asked: Any) -> Any:
    with Held(_ASKED, (tool, asked.id)):
        return await stock(runner, tool, asked)


# -- tools that do not exist -----------------------------------------------------------------------


@_ADAPTER.wrap(f"{_RUNNER}:BaseSyncToolRunner._generate_tool_call_response")
def _answered(gate: Gate, stock: Any, runner: Any) -> Any:
    response = stock(runner)
    for result, call in _unknown(runner, runner._get_last_assistant_message_content(), response):
        result["content"] = answer_missing(gate, call, result["content"])
    return response


@_ADAPTER.wrap(f"{_RUNNER}:BaseAsyncToolRunner._generate_tool_call_response")
async def _answered_async(gate: Gate, stock: Any, runner: Any) -> Any:
    response = await stock(runner)
    blocks = await runner._get_last_assistant_message_content()
    for result, call in _unknown(runner, blocks, response):
        result["content"] = await answer_missing_async(gate, call, result["content"])
    return response


def _unknown(runner: Any, blocks: Any, response: Any) -> list[tuple[dict[str, Any], ToolCall]]:
    """Return the results about tools that were not found, each with its call."""
    asked = {each.id: each for each in blocks or () if each.type == "tool_use"}
    found = []
    for result in response["content"] if response else ():
        block = asked.get(result["tool_use_id"])
        if block and result.get("content") == f"Error: Tool '{block.name}' not found":
            found.append((result, call_of(block.name, block.input, block.id, runner, None)))
    return found


install = _ADAPTER.install
