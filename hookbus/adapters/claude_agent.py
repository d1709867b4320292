"""The Claude Agent SDK: hooks around every tool call of its CLI, including the CLI's own tools such
as Bash.

`tool_call` covers every call to a tool, including calls by sub-agents. The sender is one object for
each session, because the tools are in the CLI. `caller` is the type of the sub-agent, and `kind` is
`"mcp"`, `"agent"` or `"builtin"`. For a blocked call, the model reads a tool result that is marked
as an error. If a receiver returns a result whose shape differs from the tool's own, the run ends,
because the CLI would otherwise pass on the old result.

The CLI has one hook before a tool and one after it; the adapter combines them into one call.
Receivers do not see changes to the arguments by other PreToolUse hooks, `can_use_tool` and
settings, because the CLI runs them concurrently or later. You can add to the text of a failed tool,
but not change it. Models and tools that Anthropic runs are not hooked. A guard that requires
approval uses the bus's approver, never the user of the CLI, because the CLI's own "ask" does not
report who approved, and some modes skip it. Sessions that are open when you install the adapter are
not hooked.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, Final
from weakref import WeakKeyDictionary

from hookbus import Bus, HookBlocked, HookError, default_bus

from .._ground.signatures import signature_of
from ._arguments import text_of
from ._halves import LONGEST
from ._newer import Untested
from ._patches import Between
from ._vocabulary import refusal
from .kit import Adapter, Gate, Go, Refusal, SplitCalls, ToolCall

SUPPORTED: Final = Between("0.2.180", "0.2.188")

AGENTS: Final = {"Agent", "Task"}
"""The current and earlier names of the CLI's tools that run a sub-agent."""


def guarded(
    bus: Bus = default_bus, *, hooks: Mapping[str, Any] | None = None,
    say: Callable[[HookBlocked], str] = refusal, untested: Untested = "check",
) -> dict[str, Any]:  # fmt: skip
    """Return hooks that send the tool calls of one session through `tool_call`, without patching
    the SDK: `ClaudeAgentOptions(hooks=guarded())`. They cover the same calls as `install`.

    Args:
        bus: the bus to declare the hooks on.
        hooks: your own hooks, which are included in the result.
        say: a function that turns a `HookBlocked` into the text that the model reads.
        untested: how to treat a release newer than the tested releases: `"check"` checks the
            replaced functions and runs a self-test, `"refuse"` raises an exception.

    Raises:
        HookError: if claude-agent-sdk is not installed or has an unsupported version.
    """
    session = _Session(_ADAPTER.gate(bus, say=say, untested=untested))
    matcher = import_module("claude_agent_sdk").HookMatcher
    return session.hooks_besides(hooks, lambda options: matcher(**options))


class _Session:
    """A session of the CLI, which is the sender of the session's tool calls."""

    def __init__(self, gate: Gate) -> None:
        self._calls = SplitCalls(gate)

    def hooks_besides(
        self, hooks: Mapping[str, Any] | None, make: Callable[[dict[str, Any]], Any] = dict
    ) -> dict[str, Any]:
        """Return existing hooks together with the hooks of this session. `make` creates a hook from
        its options.
        """
        found = {name: [*each] for name, each in (hooks or {}).items()}
        for name, hook in (("PreToolUse", self._before), ("PostToolUse", self._after),
                           ("PostToolUseFailure", self._failed)):  # fmt: skip
            options = {"hooks": [_closing(hook)], "timeout": LONGEST, "on_failure": "block"}
            found.setdefault(name, []).append(make({"matcher": None, **options}))
        return found

    async def close(self) -> None:
        """Cancel the calls that the CLI never reported as finished."""
        await self._calls.close()

    async def _before(self, given: dict[str, Any]) -> dict[str, Any]:
        call = self._call(given)
        begun = await self._calls.begin(_key(given), call)
        if not isinstance(begun, Go):
            return _denied(text_of(begun.value))
        if begun.arguments == given["tool_input"]:
            return {}  # this gives no permission: the CLI's own permission checks still run
        return _output("PreToolUse", updatedInput=begun.arguments)

    async def _after(self, given: dict[str, Any]) -> dict[str, Any]:
        raw = given["tool_response"]
        found = await self._calls.end(_key(given), raw)
        if found is raw:
            return {}
        fitting = _fitted(raw, found)
        if fitting is None:
            return _withheld(given, "a receiver changed its structure, which must match the tool's")
        return _output("PostToolUse", updatedToolOutput=fitting)

    async def _failed(self, given: dict[str, Any]) -> dict[str, Any]:
        error = RuntimeError(given["error"])
        try:
            found = await self._calls.fail(_key(given), error)
        except RuntimeError as raised:
            if raised is not error:
                raise
            return {}
        return _output("PostToolUseFailure", additionalContext=str(found))

    def _call(self, given: dict[str, Any]) -> ToolCall:
        name = given["tool_name"]
        kind = "mcp" if name.startswith("mcp__") else "agent" if name in AGENTS else "builtin"
        arguments = copy.deepcopy(given["tool_input"])
        return ToolCall(name, arguments, given["tool_use_id"], kind, self, given.get("agent_type"))


def _key(given: dict[str, Any]) -> tuple[str | None, ...]:
    return given["session_id"], given.get("agent_id"), given["tool_use_id"]


Hook = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def _closing(hook: Hook) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return the callback for a hook. If the hook fails, the callback blocks the call. It reports
    only the type of the exception, except for a HookError, because the CLI would report the text of
    any exception.
    """

    async def callback(given: dict[str, Any], tool_use_id: str | None, context: Any) -> Any:
        try:
            return await hook(given)
        except Exception as error:
            text = str(error) if isinstance(error, HookError) else type(error).__name__
            if given["hook_event_name"] == "PreToolUse":
                return _denied(f"Error: a hook of the call failed: {text}")
            return _withheld(given, f"a hook of the call failed: {text}")

    return callback


def _output(event: str, **output: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **output}}


def _denied(text: str) -> dict[str, Any]:
    return _output("PreToolUse", permissionDecision="deny", permissionDecisionReason=text)


def _withheld(given: dict[str, Any], why: str) -> dict[str, Any]:
    """Return the output that withholds a result from the model. If the tool's result cannot contain
    the reason, the run ends.
    """
    text = f"Error: the result of {given['tool_name']} was withheld: {why}"
    fitting = _fitted(given.get("tool_response"), text)
    if fitting is None:
        return {"continue_": False, "stopReason": text}
    return _output("PostToolUse", updatedToolOutput=fitting)


# -- results ---------------------------------------------------------------------------------------


def _shown(raw: Any) -> Any:
    """Return the text of a result that contains only text, and otherwise its plain data."""
    if isinstance(raw, list) and raw and all(_is_text(each) for each in raw):
        return "\n".join(each["text"] for each in raw)
    return raw


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.keys() == {"type", "text"}


def _refused(refused: Refusal) -> str:
    return refused.text


def _fitted(raw: Any, value: Any) -> Any:
    """Convert a value to the structure of a tool's result, or return None if this is not
    possible."""
    if _has_shape(raw, value):
        return value
    if isinstance(raw, list):  # of an MCP server
        return [{"type": "text", "text": text_of(value)}]
    if isinstance(raw, dict) and isinstance(value, str) and raw.keys() >= {"stdout", "stderr"}:
        return {**_emptied(raw), "stdout": value}  # of a shell
    return None


def _emptied(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a shell without its output, which can be in several places:
    `structuredContent` replaces the text, and `persistedOutputPath` names a file with all of it.
    """
    empty: dict[type, Any] = {str: "", list: [], dict: {}}
    return {
        name: each if name == "backgroundTaskId" else empty.get(type(each), each)
        for name, each in raw.items()
    }


def _has_shape(raw: Any, value: Any) -> bool:
    if isinstance(raw, dict) and isinstance(value, dict):
        return raw.keys() == value.keys() and all(_has_shape(raw[key], value[key]) for key in raw)
    if isinstance(raw, list) and isinstance(value, list):
        return all(any(_has_shape(one, each) for one in raw) for each in value)
    return type(raw) is type(value)


# -- sessions that connect -------------------------------------------------------------------------

_ADAPTER: Final = Adapter(
    "claude-agent-sdk", tested=SUPPORTED, shown=_shown, refused=_refused,
    sample="hookbus.adapters._seams.claude_agent",
)  # fmt: skip
_ADAPTER.words("tool_call")
_QUERY: Final = "claude_agent_sdk._internal.query:Query"
_SESSIONS: Final[WeakKeyDictionary[Any, _Session]] = WeakKeyDictionary()


@_ADAPTER.wrap(f"{_QUERY}.__init__")
def _connect(gate: Gate, stock: Any, query: Any, *args: Any, **kwargs: Any) -> None:
    given = signature_of(stock).bind(query, *args, **kwargs).arguments
    del given["self"]
    if query not in _SESSIONS:  # a subclass calls its parent's method
        _SESSIONS[query] = session = _Session(gate)
        given["hooks"] = session.hooks_besides(given.get("hooks"))
    stock(query, **given)


@_ADAPTER.wrap(f"{_QUERY}.close")
async def _close(gate: Gate, stock: Any, query: Any) -> None:
    try:
        await stock(query)
    finally:
        if query in _SESSIONS:
            await _SESSIONS[query].close()


install = _ADAPTER.install
