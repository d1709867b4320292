"""Which agent frameworks are imported and run without their adapter: their tools are not guarded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..exceptions import HookError

TOOL_HOOK: Final = "tool_call"
"""The hook of every adapter whose framework has tools."""


class Framework(NamedTuple):
    """A framework that has tools.

    Attributes:
        module: what is loaded where its tools may be used.
        package: what it is installed under.
        adapter: the name of its adapter; of a framework with two, by its major version.
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
"""What every adapter that is installed has loaded. The kernel imports no adapter."""

_NAME: Final = re.compile(r"[\w.-]+")


def check_adapters() -> None:
    """Check that the tools of every framework that is imported come through hookbus.

    A framework that another one requires, which has its adapter, is taken for a part of that.

    Raises:
        HookError: naming each framework without its adapter, and how to install that.
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
            f"{TOOL_HOOK} is not guarded for every tool: imported, and without their adapter, are "
            f"{named}"
        )


def _adapter(framework: Framework) -> str:
    if framework.package != "agentscope" or _version(framework.package).startswith("1."):
        return framework.adapter
    return "agentscope2"


def _version(package: str) -> str:
    from importlib import metadata  # with e-mail behind it: not for programs that do not ask

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _required_by(packages: list[str]) -> set[str]:
    """Return all that packages require, with what their extras do, and what that requires."""
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
