"""The run of one of Bub's tools as the hook `tool_call`."""

from __future__ import annotations

from typing import Any

from hookbus import Bus, HookError, instrument

from .._patches import Patches
from ._questions import Listeners


def hook_tools(patches: Patches, bus: Bus, module: Any, errors: Any) -> None:
    """Make what runs between `before_tool_call` and `after_tool_call` the hook `tool_call`."""
    cls, listeners = module.ToolExecutor, Listeners(bus, "tool_call", "tool_call")
    stock = vars(cls)["_invoke_normalized"]

    async def tool_call(
        executor: Any, name: str, arguments: dict[str, Any], call: Any, tool: Any
    ) -> Any:
        """Run a tool; what it raises is Bub's BubError by now. Only `arguments` can be changed."""
        if arguments is not call.arguments:
            call = module.replace(call, arguments=dict(arguments))
        return await stock(executor, tool, call, call.context)

    async def heard(executor: Any, tool: Any, call: Any) -> Any:
        try:
            return await executor.tool_call(call.tool, call.arguments, call, tool)
        except HookError as failure:
            raise errors.BubError(errors.ErrorKind.TOOL, str(failure)) from failure

    def _invoke_normalized(executor: Any, tool_obj: Any, call: Any, context: Any) -> Any:
        if not patches.is_live or listeners.is_quiet():
            return stock(executor, tool_obj, call, context)
        return heard(executor, tool_obj, call)

    patches.replace(cls, "tool_call", tool_call)
    patches.on_restore(instrument(cls, "tool_call", bus=bus))
    patches.replace(cls, "_invoke_normalized", _invoke_normalized)
