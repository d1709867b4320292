"""Finds functions that are marked as tools of a framework whose adapter is not installed. The
sources are parsed, but not imported.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

MARKS: Final = {
    "agent_framework": ("agent_framework.tool", "agent_framework.ai_function"),
    "agno": ("agno.tools.tool", "agno.tools.decorator.tool"),
    "anthropic": ("anthropic.beta_tool", "anthropic.beta_async_tool"),
    "claude_agent": ("claude_agent_sdk.tool",),
    "crewai": ("crewai.tools.tool", "crewai_tools.tool"),
    "fastmcp": ("fastmcp.FastMCP().tool", "fastmcp.server.FastMCP().tool", "fastmcp.tools.tool"),
    "haystack": ("haystack.tools.tool",),
    "langchain": ("langchain.agents.tool", "langchain.tools.tool", "langchain_core.tools.tool"),
    "mcp": ("mcp.server.fastmcp.FastMCP().tool", "mcp.server.FastMCP().tool"),
    "openai_agents": ("agents.function_tool", "agents.tool.function_tool"),
    "pydantic_ai": ("pydantic_ai.Agent().tool", "pydantic_ai.Agent().tool_plain",
                    "pydantic_ai.FunctionToolset().tool"),
    "semantic_kernel": ("semantic_kernel.functions.kernel_function",),
    "smolagents": ("smolagents.tool", "smolagents.tools.tool"),
    "strands": ("strands.tool", "strands.tools.tool", "strands.tools.decorator.tool"),
}  # fmt: skip
"""For each adapter, the decorators that make a function a tool. `()` means an instance of a
class."""

_ADAPTER_OF: Final = {mark: adapter for adapter, marks in MARKS.items() for mark in marks}
_ADAPTERS: Final = "hookbus.adapters."


def find_bare_tools(module: str, installed: Collection[str]) -> Iterator[str]:
    """Yield a finding for each function that is marked as a framework's tool, unless a source
    installs the framework's adapter.

    Args:
        module: package.module, or the path of a file.
        installed: the adapters that the settings install.
    """
    found: list[tuple[str, str]] = []
    adapters = set(installed)
    for path in _sources_of(module):
        shown = _shown(path)
        try:
            source = _Source(ast.parse(path.read_bytes(), str(path)))
        except (OSError, SyntaxError, ValueError) as error:
            yield f"{shown} was not searched for tools: {error}"
            continue
        adapters |= source.adapters()
        found += [(adapter, f"{shown}:{line}: {name}") for adapter, name, line in source.tools()]
    for adapter, tool in found:
        if adapter not in adapters:
            yield (
                f"{tool} is a tool of {adapter}, but its calls have no hooks: call "
                f"{_ADAPTERS}{adapter}.install()"
            )


class _Source:
    """Maps the names in a source file to the full names of imported objects."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._names: dict[str, str] = {}
        for node in self._nodes:
            if isinstance(node, ast.Import):
                for each in node.names:
                    top = each.name.partition(".")[0]
                    self._names[each.asname or top] = each.name if each.asname else top
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                for each in node.names:
                    self._names[each.asname or each.name] = f"{node.module}.{each.name}"
        for node in self._nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Call):
                made = self._name_of(node.value.func)
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets if made else ():
                    if isinstance(target, ast.Name):
                        self._names[target.id] = f"{made}()"

    def _name_of(self, node: ast.expr) -> str | None:
        """Return the full name of an expression such as `tools.tool`, or None."""
        if isinstance(node, ast.Subscript):  # Agent[Deps, Output](...)
            return self._name_of(node.value)
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Attribute):
            around = self._name_of(node.value)
            return None if around is None else f"{around}.{node.attr}"
        return None

    def tools(self) -> Iterator[tuple[str, str, int]]:
        """Yield the adapter, the name and the line of each tool."""
        for node in self._nodes:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            for mark in node.decorator_list:
                called = mark.func if isinstance(mark, ast.Call) else mark
                adapter = _ADAPTER_OF.get(self._name_of(called) or "")
                if adapter is not None:
                    yield adapter, node.name, node.lineno

    def adapters(self) -> set[str]:
        """Return the adapters that the file installs."""
        found = set()
        for node in self._nodes:
            name = self._name_of(node.func) if isinstance(node, ast.Call) else None
            if name and name.startswith(_ADAPTERS) and name.endswith(".install"):
                found.add(name.removeprefix(_ADAPTERS).removesuffix(".install"))
        return found

    def imported(self) -> set[str]:
        """Return the top-level names of the modules that the file imports."""
        return {name.partition(".")[0] for name in self._names.values()}


def _sources_of(module: str) -> list[Path]:
    """Return the files of a package, or a file together with the files in its folder that it
    imports."""
    path = Path(module) if module.endswith(".py") else _place_of(module.partition(".")[0])
    if path.name == "__init__.py":
        return sorted(path.parent.rglob("*.py"))
    found, waiting = {path: None}, [path]
    while waiting:
        for beside in _imported_beside(waiting.pop()):
            if beside not in found:
                found[beside] = None
                waiting.append(beside)
    return list(found)


def _place_of(top: str) -> Path:
    """Return the file from which a module or package will be imported."""
    for path in (Path(top, "__init__.py"), Path(f"{top}.py")):
        if path.is_file():
            return path.absolute()
    spec = find_spec(top)
    return Path(spec.origin if spec is not None and spec.origin else f"{top}.py")


def _imported_beside(path: Path) -> Iterator[Path]:
    try:
        names = _Source(ast.parse(path.read_bytes())).imported()
    except (OSError, SyntaxError, ValueError):
        return  # find_bare_tools reports it
    for name in sorted(names):
        file, folder = path.parent / f"{name}.py", path.parent / name
        if file.is_file():
            yield file
        elif (folder / "__init__.py").is_file():
            yield from sorted(folder.rglob("*.py"))


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
