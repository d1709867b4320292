"""The OpenAI Agents SDK: hooks around tools, hand-offs, models and runs.

Not covered: hosted tools and hosted MCP servers, hand-offs of realtime sessions, and a program that
calls `tool.on_invoke_tool` itself. `agents.tool.invoke_function_tool` is covered.
"""

from ._install import SUPPORTED, install

__all__ = ["SUPPORTED", "install"]
