"""The OpenAI Agents SDK: hooks around calls to tools and models, hand-offs, and runs.

`tool_call` (sender: the tool) covers every call to a function tool, a tool of a local MCP server,
an agent used as a tool, and a custom, shell, local shell, patch or computer tool. It also covers
every hand-off (sender: the `Handoff`). The model reads the reason for a blocked call, and a blocked
hand-off does not happen. A blocked call is never the final output of a run: if `tool_use_behavior`
would stop the run after the call, the run continues and the model reads the reason. A patch with
several operations makes one call for each operation. `model_call` and `model_stream` (sender: the
`Model`) cover the calls to every model. `agent_run` covers `Runner.run` and `run_sync`; its result
is the `RunResult`. `agent_stream` covers a whole streamed run, and yields the same parts as
`model_stream`. A blocked model call or run raises `HookBlocked`.

While the `approver` decides, the run is interrupted. Approve or reject the run's `interruptions` in
its `RunState`, and resume the run with this state. Local shell and computer tools, patches of
several files and hand-offs cannot be interrupted, so they are blocked instead.

Not covered: tools that the provider runs (hosted tools, hosted MCP servers), hand-offs in realtime
sessions, and direct calls to `tool.on_invoke_tool`. Calls to `agents.tool.invoke_function_tool` are
covered.
"""

from ._install import SUPPORTED, install

__all__ = ["SUPPORTED", "install"]
