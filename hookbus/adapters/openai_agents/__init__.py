"""The OpenAI Agents SDK: tools, hand-offs, models and runs through hooks of hookbus.

Not here: what the provider runs (hosted tools, hosted MCP servers), hand-offs of realtime sessions,
and a program that calls `tool.on_invoke_tool` itself; `agents.tool.invoke_function_tool` is.
"""

from ._install import SUPPORTED, install

__all__ = ["SUPPORTED", "install"]
