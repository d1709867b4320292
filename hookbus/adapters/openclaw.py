"""The plugin hooks of OpenClaw 2026.9.6 in Python, on hookbus.

    registry = Registry()
    registry.on("audit", "after_tool_call", lambda event, ctx: log(event["toolName"]))
    runner = HookRunner(registry, failure_policy=GLOBAL_POLICY)
    result = await runner.run("before_tool_call", {"toolName": "exec", "params": {"cmd": "ls"}}, {})

OpenClaw is TypeScript: this is its plugin API, its registry and its hook runner, and no package of it is needed. Events and
results are dicts with OpenClaw's own keys. Every hook is a hookspec on `registry.bus`, and every handler a receiver there.
"""

from ._openclaw_approvals import ApprovalRequest
from ._openclaw_background import Background
from ._openclaw_dispatch import Registration
from ._openclaw_errors import HandlerError, HandlerErrors, HandlerTimeout
from ._openclaw_hooks import HOOKS
from ._openclaw_plugins import Diagnostic, Plugin, PluginApi
from ._openclaw_registry import Registry
from ._openclaw_runner import GLOBAL_POLICY, HookRunner
from ._openclaw_tools import ToolCalls
from ._openclaw_values import NULL, IsolationError

__all__ = [
    "GLOBAL_POLICY", "HOOKS", "NULL", "ApprovalRequest", "Background", "Diagnostic", "HandlerError", "HandlerErrors",
    "HandlerTimeout", "HookRunner", "IsolationError", "Plugin", "PluginApi", "Registration", "Registry", "ToolCalls",
]  # fmt: skip
