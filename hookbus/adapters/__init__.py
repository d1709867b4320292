"""Frameworks that run on hookbus, one module each: `uninstall = adapters.langchain.install()`.

A module is imported on first access, and imports its framework only when `install` is called.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import agent_framework as agent_framework
    from . import agenticx as agenticx
    from . import agentscope as agentscope
    from . import agentscope2 as agentscope2
    from . import agno as agno
    from . import anthropic as anthropic
    from . import autogen as autogen
    from . import bub as bub
    from . import claude_agent as claude_agent
    from . import crewai as crewai
    from . import fastmcp as fastmcp
    from . import google_adk as google_adk
    from . import haystack as haystack
    from . import langchain as langchain
    from . import litellm as litellm
    from . import llama_index as llama_index
    from . import mcp as mcp
    from . import openai_agents as openai_agents
    from . import openclaw as openclaw
    from . import pydantic_ai as pydantic_ai
    from . import semantic_kernel as semantic_kernel
    from . import smolagents as smolagents
    from . import strands as strands

__all__ = [
    "agent_framework", "agenticx", "agentscope", "agentscope2", "agno", "anthropic", "autogen",
    "bub", "claude_agent", "crewai", "fastmcp", "google_adk", "haystack", "langchain", "litellm",
    "llama_index", "mcp", "openai_agents", "openclaw", "pydantic_ai", "semantic_kernel",
    "smolagents", "strands",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"hookbus has no adapter {name!r}; available: {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
