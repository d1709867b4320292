"""Make an environment per system, with the real package from PyPI, hookbus and pytest.

    python -m tests.systems.install            all of them
    python -m tests.systems.install agno bub   these
    python -m tests.systems.install --frameworks   only list the agent frameworks
    python -m tests.systems.install --update       write new constraints: the newest of all
    python -m tests.systems.install --update agno tools   of these; `tools` is the repository's own,
                                                          `servers` that of tests.servers

They are in .venv-systems/<name>, and an existing one is updated. Every package has the version in
.ci/constraints/<name>.txt, so that a new release changes no test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
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
    "anthropic": System("anthropic", "3.12", extras=("anthropic",)),
    "autogen": System(
        "autogen", "3.11", extras=("autogen",),
        packages=("autogen-ext[mcp]>=0.7.1,<1", "mcp<2"),
    ),  # fmt: skip
    "claude_agent": System("claude_agent", "3.12", extras=("claude-agent",)),
    "crewai": System("crewai", "3.12", extras=("crewai",)),
    "fastmcp": System("fastmcp", "3.11", extras=("fastmcp", "cli")),
    "google_adk": System("google_adk", "3.12", extras=("google-adk",), packages=("mcp",)),
    "haystack": System("haystack", "3.12", extras=("haystack",), packages=("mcp-haystack",)),
    "langchain": System(
        "langchain", "3.11", extras=("langchain", "cli"),
        packages=("langchain[anthropic,mcp]", "langgraph-checkpoint-sqlite", "deepagents",
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


EXTRAS_OF = {
    "tools": ("dev", "demo", "docs", "release"),
    "servers": ("test", "cli", "servers"),
}
"""Environments that are of no system, and the extras in them: the repository's own, and that of
`tests.servers`."""


def python_of(name: str, folder: str = ".venv-systems") -> Path:
    """Return the interpreter of a system's environment, which may not be there yet."""
    return ROOT / folder / name / "bin" / "python"


def constraints_of(name: str) -> Path:
    """Return the file with the version of every package in an environment."""
    return ROOT / ".ci" / "constraints" / f"{name}.txt"


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
    print(f"{name}: Python {system.python}, {', '.join(wanted_by(name))}", flush=True)
    make_environment(python, system.python)
    run_pip(python, "install", "--editable", *wanted_by(name), constraints=constraints_of(name))
    if system.source:
        _keep_source(python, system.source)


def wanted_by(name: str) -> list[str]:
    """Return what an environment is made of, as pip takes it."""
    if name in EXTRAS_OF:
        return [f"{ROOT}[{','.join(EXTRAS_OF[name])}]"]
    system = SYSTEMS[name]
    return [f"{ROOT}[{','.join(('test', *system.extras))}]", *system.packages]


def make_environment(python: Path, version: str) -> None:
    """Make an empty environment where there is none, whose interpreter is then `python`."""
    if not python.exists():
        subprocess.run([find_python(version), "-m", "venv", python.parent.parent], check=True)


def run_pip(python: Path, command: str, *options: str, constraints: Path | None = None) -> None:
    """Run a command of an environment's pip, with the constraints of that environment alone.

    Raises:
        subprocess.CalledProcessError: if pip could not.
    """
    environment = {key: each for key, each in os.environ.items() if key != "PIP_CONSTRAINT"}
    pip = [python, "-m", "pip", command, "--quiet", "--disable-pip-version-check"]
    given = ["--constraint", constraints] if constraints and constraints.exists() else []
    subprocess.run([*pip, *given, *options], check=True, env=environment)


def update_constraints(name: str) -> None:
    """Write down what pip installs today, with the newest of all that moves.

    Raises:
        subprocess.CalledProcessError: if pip could not.
    """
    version = "3.11" if name in EXTRAS_OF else SYSTEMS[name].python
    with TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        make_environment(python, version)
        run_pip(python, "install", "--editable", *wanted_by(name))
        write_constraints(name, python)


def write_constraints(name: str, python: Path) -> None:
    """Write down what an environment has, but hookbus and pip."""
    ask = [python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"]
    found = subprocess.check_output(ask, text=True).splitlines()
    kept = [each for each in found if each.partition("==")[0] not in ("hookbus", "pip")]
    head = f"# Written by `python -m tests.systems.install --update {name}`.\n"
    constraints_of(name).parent.mkdir(exist_ok=True)
    constraints_of(name).write_text(head + "".join(f"{each}\n" for each in kept))
    print(f"{name}: {len(kept)} packages", flush=True)


def _keep_source(python: Path, package: str) -> None:
    """Keep the source distribution of what is installed, for the examples in it."""
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    version = subprocess.check_output([python, "-c", asked], text=True).strip()
    folder = python.parent.parent / "sources"
    if not [*folder.glob(f"*-{version}.tar.gz")]:
        run_pip(python, "download", "--no-deps", "--no-binary=:all:", "--dest", str(folder),
                f"{package}=={version}")  # fmt: skip


def main(arguments: list[str]) -> None:
    if arguments == ["--frameworks"]:
        print(*(name for name, system in SYSTEMS.items() if system.is_framework), sep="\n")
        return
    updates = arguments[:1] == ["--update"]
    known = [*SYSTEMS, *EXTRAS_OF] if updates else [*SYSTEMS]
    for chosen in arguments[updates:] or known:
        if chosen not in known:
            sys.exit(f"there is no system {chosen!r}; there are {', '.join(known)}")
        (update_constraints if updates else install)(chosen)


if __name__ == "__main__":
    main(sys.argv[1:])
