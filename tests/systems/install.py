"""Make an environment per system, with the real package from PyPI, hookbus and pytest.

    python -m tests.systems.install            all of them
    python -m tests.systems.install agno bub   these
    python -m tests.systems.install --frameworks   installs nothing: names the agent frameworks

They stand in .venv-systems/<name>; one that is there is brought up to date.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent


class System(NamedTuple):
    """An environment: the tests it is for, its Python, the extras of hookbus and packages that are
    installed besides, and the package whose source, with its examples, is kept there."""

    tests: str
    python: str
    extras: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    source: str = ""

    @property
    def is_framework(self) -> bool:
        """Whether its adapter speaks the vocabulary alone: its tests stand in files named after
        it."""
        return self.tests.replace("_", "-") in self.extras and self.tests not in SEEDS


SEEDS = {"agentscope", "agno", "agenticx", "bub", "openclaw"}

SYSTEMS = {
    "agentscope": System("agentscope", "3.11", extras=("agentscope",)),
    "agentscope2": System("agentscope2", "3.11", extras=("agentscope2",)),
    "agno": System("agno", "3.11", extras=("agno", "cli"), packages=("openai",)),
    "agno-2": System("agno", "3.11", extras=("cli",), packages=("agno==2.9.0", "openai")),
    "agenticx": System("agenticx", "3.11", extras=("agenticx",), packages=("opentelemetry-sdk",)),
    "bub": System("bub", "3.12", extras=("bub",)),
    "openclaw": System("openclaw", "3.11"),
    "agent_framework": System(
        "agent_framework", "3.12", extras=("agent-framework",),
        packages=("agent-framework-orchestrations>=1.0", "mcp"),
    ),  # fmt: skip
    "autogen": System(
        "autogen", "3.11", extras=("autogen",),
        packages=("autogen-ext[mcp]>=0.7.1,<0.8", "mcp<2"),
    ),  # fmt: skip
    "claude_agent": System("claude_agent", "3.12", extras=("claude-agent",)),
    "crewai": System("crewai", "3.12", extras=("crewai",)),
    "fastmcp": System("fastmcp", "3.11", extras=("fastmcp",)),
    "google_adk": System("google_adk", "3.12", extras=("google-adk",), packages=("mcp",)),
    "haystack": System("haystack", "3.12", extras=("haystack",), packages=("mcp-haystack",)),
    "langchain": System(
        "langchain", "3.11", extras=("langchain", "cli"),
        packages=("langchain[anthropic,mcp]==1.5.2", "langgraph-checkpoint-sqlite", "deepagents",
                  "langgraph-supervisor", "langgraph-swarm"),
        source="langchain",
    ),  # fmt: skip
    "litellm": System("litellm", "3.12", extras=("litellm",), packages=("tenacity",)),
    "llama_index": System("llama_index", "3.12", extras=("llama-index",)),
    "mcp": System("mcp", "3.11", extras=("mcp",)),
    "openai_agents": System(
        "openai_agents", "3.11", extras=("openai-agents", "cli"), source="openai-agents"
    ),
    "pydantic_ai": System(
        "pydantic_ai", "3.12", extras=("pydantic-ai",), packages=("pydantic-ai-slim[mcp]",)
    ),
    "semantic_kernel": System(
        "semantic_kernel", "3.11", extras=("semantic-kernel",),
        packages=("semantic-kernel[mcp]", "protobuf"),
    ),  # fmt: skip
    "smolagents": System("smolagents", "3.12", extras=("smolagents",)),
    "strands": System("strands", "3.12", extras=("strands",)),
}


def python_of(name: str) -> Path:
    """Return the interpreter of a system's environment, which may not be there yet."""
    return ROOT / ".venv-systems" / name / "bin" / "python"


def find_python(version: str) -> str:
    """Return an interpreter of this version: the running one, one of pyenv's, or one on the
    PATH."""
    if "{}.{}".format(*sys.version_info) == version:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(pyenv.glob(f"{version}.*/bin/python")) or [shutil.which(f"python{version}")]
    if found[-1] is None:
        sys.exit(
            f"Python {version} is needed, and is neither among pyenv's versions nor on the PATH "
            f"as python{version}"
        )
    return str(found[-1])


def install(name: str) -> None:
    """Make or update one environment.

    Raises:
        subprocess.CalledProcessError: if pip could not.
    """
    system, python = SYSTEMS[name], python_of(name)
    wanted = [f"{ROOT}[{','.join(('test', *system.extras))}]", *system.packages]
    print(f"{name}: Python {system.python}, {', '.join(wanted)}", flush=True)
    if not python.exists():
        subprocess.run([find_python(system.python), "-m", "venv", python.parent.parent], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--editable", *wanted], check=True)
    if system.source:
        _keep_source(python, system.source)


def _keep_source(python: Path, package: str) -> None:
    """Keep the source distribution of what is installed, for the examples in it."""
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    version = subprocess.check_output([python, "-c", asked], text=True).strip()
    folder = python.parent.parent / "sources"
    if not [*folder.glob(f"*-{version}.tar.gz")]:
        pip = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:"]
        subprocess.run([*pip, "--dest", folder, f"{package}=={version}"], check=True)


if sys.argv[1:] == ["--frameworks"] and __name__ == "__main__":
    print(*(name for name, system in SYSTEMS.items() if system.is_framework), sep="\n")
elif __name__ == "__main__":
    for chosen in sys.argv[1:] or SYSTEMS:
        if chosen not in SYSTEMS:
            sys.exit(f"there is no system {chosen!r}; there are {', '.join(SYSTEMS)}")
        install(chosen)
