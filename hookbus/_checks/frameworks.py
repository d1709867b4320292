"""Find agent frameworks that are imported without their adapter, because their tools have no
guards.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..exceptions import HookError

TOOL_HOOK: Final = "tool_call"
"""The hook that adapters use for the tools of a framework."""


class Framework(NamedTuple):
    """A framework with tools.

    Attributes:
        module: the module that is loaded if a program can use the framework's tools.
        package: the name of the framework's distribution.
        adapter: the name of the framework's adapter. AgentScope has two adapters, one for each
            supported major version.
    """

    module: str
    package: str
    adapter: str


FRAMEWORKS: Final = (
    Framework("agent_framework", "agent-framework-core", "agent_framework"),
    Framework("agenticx", "agenticx", "agenticx"),
    Framework("agentscope", "agentscope", "agentscope"),
    Framework("agno.tools", "agno", "agno"),
    Framework("autogen_core", "autogen-core", "autogen"),
    Framework("bub", "bub", "bub"),
    Framework("claude_agent_sdk", "claude-agent-sdk", "claude_agent"),
    Framework("crewai", "crewai", "crewai"),
    Framework("fastmcp", "fastmcp", "fastmcp"),
    Framework("google.adk", "google-adk", "google_adk"),
    Framework("haystack.tools", "haystack-ai", "haystack"),
    Framework("langchain_core.tools", "langchain-core", "langchain"),
    Framework("llama_index.core", "llama-index-core", "llama_index"),
    Framework("mcp", "mcp", "mcp"),
    Framework("agents.tool_context", "openai-agents", "openai_agents"),
    Framework("pydantic_ai", "pydantic-ai-slim", "pydantic_ai"),
    Framework("semantic_kernel", "semantic-kernel", "semantic_kernel"),
    Framework("smolagents", "smolagents", "smolagents"),
    Framework("strands", "strands-agents", "strands"),
)

_ADAPTERS: Final = "hookbus.adapters._patches"
"""The module that every installed adapter loads. This package does not import adapters itself."""

_NAME: Final = re.compile(r"[\w.-]+")


def check_adapters() -> None:
    """Check that the adapter of every imported framework is installed. A framework that an adapted
    framework requires is considered part of that framework.

    Raises:
        HookError: with a message that names each framework without its adapter, and says how to
            install the adapter.
    """
    imported = [each for each in FRAMEWORKS if each.module in sys.modules]
    adapters = sys.modules.get(_ADAPTERS)
    on_hookbus: frozenset[str] = frozenset() if adapters is None else adapters.packages_on_hookbus()
    bare = [each for each in imported if each.package not in on_hookbus]
    if bare:
        parts = _required_by([*on_hookbus])
        bare = [each for each in bare if each.package not in parts]
    if bare:
        named = ", ".join(f"{each.package} (hookbus.adapters.{_adapter(each)}.install())"
                          for each in bare)  # fmt: skip
        raise HookError(
            f"{TOOL_HOOK} is not guarded for every tool, because these frameworks are imported "
            f"without their adapter: {named}"
        )


def _adapter(framework: Framework) -> str:
    if framework.package != "agentscope" or _version(framework.package).startswith("1."):
        return framework.adapter
    return "agentscope2"


def _version(package: str) -> str:
    from importlib import metadata  # imports email, so import it only when needed

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _required_by(packages: list[str]) -> set[str]:
    """Return all requirements of packages, including their extras, and the requirements of these
    packages.
    """
    found: set[str] = set()
    waiting = [(package, True) for package in packages]
    while waiting:
        package, with_extras = waiting.pop()
        for name in _requirements(package, with_extras):
            if name not in found:
                found.add(name)
                waiting.append((name, False))
    return found


def _requirements(package: str, with_extras: bool) -> Iterator[str]:
    from importlib import metadata

    try:
        wanted = metadata.requires(package) or ()
    except metadata.PackageNotFoundError:
        return
    for each in wanted:
        name = _NAME.match(each)
        if name is not None and (with_extras or "extra ==" not in each):
            yield name[0].lower().replace("_", "-")
