"""The OpenAI Agents SDK: hooks around tools, hand-offs, models and runs.

Not covered: tools that run at the provider (hosted tools, hosted MCP servers), hand-offs of
realtime sessions, and direct calls of `tool.on_invoke_tool`. Calls of
`agents.tool.invoke_function_tool` are covered.
"""

from ._install import SUPPORTED, install

__all__ = ["SUPPORTED", "install"]
