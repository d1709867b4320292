"""The OpenAI Agents SDK: hooks around calls of tools and models, hand-offs, and runs.

Not covered: tools that the provider runs (hosted tools, hosted MCP servers), hand-offs in realtime
sessions, and direct calls of `tool.on_invoke_tool`. Calls of `agents.tool.invoke_function_tool` are
covered.
"""

from ._install import SUPPORTED, install

__all__ = ["SUPPORTED", "install"]
