"""`python -m hookbus.adapters`: prints the frameworks with adapters, their tested versions, whether
the installed ones fit, and where each is hooked.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Final, NamedTuple

from ._newer import find_problem
from ._patches import Patches
from ._versions import Between, Supported, all_of, describe, is_tested, is_too_old


class Seam(NamedTuple):
    """Where a framework is hooked.

    Attributes:
        package: the name of the framework on PyPI.
        hooks: the common hooks that the adapter runs.
        tools: the functions that every tool call passes through.
    """

    package: str
    hooks: str
    tools: str


_CALLS: Final = "tool_call model_call model_stream"

SEAMS: Final = {
    "agent_framework": Seam(
        "agent-framework-core", _CALLS, "FunctionTool.invoke, _AutoHandoffMiddleware.process"),
    "agentscope2": Seam(
        "agentscope", f"{_CALLS} agent_run agent_stream", "ToolBase.call, overrides of __call__"),
    "anthropic": Seam(
        "anthropic", "tool_call", "call of BetaFunctionTool, built-in tools and toolsets"),
    "autogen": Seam(
        "autogen-core", _CALLS,
        "Workbench.call_tool, BaseTool.run_json, BaseStreamTool.run_json_stream"),
    "claude_agent": Seam("claude-agent-sdk", "tool_call", "the hooks PreToolUse and PostToolUse"),
    "crewai": Seam(
        "crewai", "tool_call model_call", "CrewStructuredTool.invoke, ainvoke; BaseTool.run, arun"),
    "fastmcp": Seam("fastmcp", "tool_call", "Tool._run, run"),
    "google_adk": Seam(
        "google-adk", f"{_CALLS} agent_stream", "BaseTool.run_async, _dispatch_task_fc"),
    "haystack": Seam("haystack-ai", "tool_call", "Tool.invoke, invoke_async"),
    "langchain": Seam("langchain-core", _CALLS, "BaseTool.run, arun, ainvoke"),
    "litellm": Seam("litellm", "model_call model_stream", "completion, acompletion"),
    "llama_index": Seam("llama-index-core", _CALLS, "BaseTool.__call__; AsyncBaseTool.call, acall"),
    "mcp": Seam(
        "mcp", "tool_call",
        "ClientSession.call_tool; MCPServer.call_tool, Tool.run, Server.get_request_handler"),
    "openai_agents": Seam(
        "openai-agents", f"{_CALLS} agent_run agent_stream",
        "_invoke_function_tool_with_metadata, five actions, execute_handoffs"),
    "pydantic_ai": Seam(
        "pydantic-ai-slim", "tool_call model_call model_stream agent_run",
        "ToolManager._raw_execute, FunctionToolset.call_tool, execute_output_function"),
    "semantic_kernel": Seam(
        "semantic-kernel", _CALLS, "KernelFunction._invoke_internal, _invoke_internal_stream"),
    "smolagents": Seam(
        "smolagents", f"{_CALLS} agent_run agent_stream",
        "BaseTool.__call__, MultiStepAgent.__call__"),
    "strands": Seam("strands-agents", f"{_CALLS} agent_stream", "AgentTool.stream"),
}  # fmt: skip


_OF_ONE_SYSTEM: Final = {
    name: Seam(name, "tool_call and its own hooks", "docs/how-to")
    for name in ("agenticx", "agentscope", "agno", "bub")
}
"""Adapters that also provide their framework's own hooks, listed only if it is installed."""


def rows() -> list[tuple[str, ...]]:
    """Return a row for each adapter: its name, its package, the tested versions, the installed
    version and whether it is supported, the hooks, and the seam. If the installed version is newer
    than the tested ones, import the framework and run the adapter's self-test.
    """
    found: list[tuple[str, ...]] = []
    for name, seam in {**SEAMS, **_OF_ONE_SYSTEM}.items():
        tested: Between | Supported = import_module(f"{__package__}.{name}").SUPPORTED
        supported = all_of(tested)
        if name in _OF_ONE_SYSTEM and not _is_installed(name):
            continue
        state = _state(name, seam.package, supported)
        found.append((name, seam.package, describe(supported), state, seam.hooks, seam.tools))
    return found


def _is_installed(name: str) -> bool:
    """Return whether the framework of an adapter is installed. AgentScope 2 counts as another
    framework than AgentScope 1."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return name != "agentscope" or version.startswith("1.")


FITTING: Final = ("tested", "untested, self-test passed", "untested, runs on hookbus")
"""The states of an installed version on which the adapter can be installed."""


def _state(name: str, package: str, supported: Supported) -> str:
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        return "-"
    if is_tested(version, supported):
        return f"{version}: tested"
    if is_too_old(version, supported):
        return f"{version}: too old"
    if Patches.is_in_force(package):
        return f"{version}: untested, runs on hookbus"
    problem = find_problem(name)
    return f"{version}: untested, {'self-test passed' if problem is None else problem}"


def main() -> None:
    """Print the table."""
    head = ("adapter", "package", "versions", "installed", "hooks", "tool calls come through")
    table = [head, *rows()]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


if __name__ == "__main__":
    main()
