"""The plugin hooks of OpenClaw 2026.9.6, in Python and on hookbus.

    registry = Registry()
    registry.on("audit", "after_tool_call", lambda event, ctx: log(event["toolName"]))
    runner = HookRunner(registry, failure_policy=GLOBAL_POLICY)
    result = await runner.run("before_tool_call", {"toolName": "exec", "params": {"cmd": "ls"}}, {})

OpenClaw is written in TypeScript. This package implements its plugin API, registry and hook runner
in Python, and does not need an OpenClaw package. Events and results are dicts with OpenClaw's own
keys. Every hook is a hookspec on `registry.bus`, and every handler is a receiver there.
"""

from ._approvals import ApprovalRequest
from ._background import Background
from ._errors import HandlerError, HandlerErrors, HandlerTimeout
from ._hooks import HOOKS
from ._plugins import Diagnostic, Plugin, PluginApi, Registration
from ._registry import Registry
from ._runner import GLOBAL_POLICY, HookRunner
from ._tools import ToolCalls
from ._values import NULL, IsolationError

__all__ = [
    "GLOBAL_POLICY", "HOOKS", "NULL", "ApprovalRequest", "Background", "Diagnostic", "HandlerError",
    "HandlerErrors", "HandlerTimeout", "HookRunner", "IsolationError", "Plugin", "PluginApi",
    "Registration", "Registry", "ToolCalls",
]  # fmt: skip
