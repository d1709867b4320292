"""`hookbus check` lists the tools of frameworks whose adapter nothing installs."""

import json

import pytest

from hookbus import adapters

INSIDE = "def make():\n    {imports}\n    {mark}\n    def pay(amount): ...\n"
"""The framework is not installed here: a function that nobody calls imports it."""

MARKS = {
    "langchain": ["from langchain_core.tools import tool; @tool",
                  "import langchain_core.tools as t; @t.tool('pay', return_direct=True)",
                  "from langchain import tools; @tools.tool"],
    "openai_agents": ["from agents import function_tool; @function_tool",
                      "import agents; @agents.function_tool(strict_mode=False)"],
    "smolagents": ["from smolagents import tool as mark; @mark"],
    "crewai": ["from crewai.tools import tool; @tool('pay')"],
    "strands": ["from strands import tool; @tool"],
    "agno": ["from agno.tools import tool; @tool()"],
    "fastmcp": ["from fastmcp import FastMCP; server = FastMCP('shop'); @server.tool"],
    "mcp": ["from mcp.server.fastmcp import FastMCP; s: FastMCP = FastMCP('s'); @s.tool()"],
    "pydantic_ai": ["from pydantic_ai import Agent; agent = Agent[int, str]('test'); @agent.tool",
                    "import pydantic_ai as p; agent = p.Agent('a'); @agent.tool_plain(retries=2)"],
    "semantic_kernel": ["from semantic_kernel.functions import kernel_function; @kernel_function"],
}  # fmt: skip
CASES = [(adapter, mark) for adapter, marks in MARKS.items() for mark in marks]


def source(mark):
    imports, _, decorator = mark.rpartition("; ")
    return INSIDE.format(imports=imports.replace("; ", "\n    "), mark=decorator)


@pytest.fixture
def findings(hookbus, folder):
    """Write files, check the first, and return the findings."""

    def check(*words, **files):
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        code, out, _ = hookbus("check", *words, "--json")
        found = json.loads(out)["findings"]
        assert code == bool(found)
        return found

    return check


@pytest.mark.parametrize("adapter, mark", CASES, ids=[mark for _, mark in CASES])
def test_a_tool_without_its_adapter_is_found_with_its_line(findings, adapter, mark):
    assert adapter in adapters.__all__
    [found] = findings("agent.py", agent=source(mark))
    line = source(mark).splitlines().index("    def pay(amount): ...") + 1
    assert found.startswith(f"agent.py:{line}: pay is a tool of {adapter}, ")
    assert found.endswith(f"call hookbus.adapters.{adapter}.install()")


@pytest.mark.parametrize("installing", [
    "from hookbus import adapters\n    adapters.langchain.install()",
    "import hookbus\n    hookbus.adapters.langchain.install(bus=None)",
    "from hookbus.adapters import langchain as lc\n    lc.install()",
    "from hookbus.adapters.langchain import install\n    undo = install()",
    "import hookbus.adapters.langchain\n    hookbus.adapters.langchain.install()",
])  # fmt: skip
def test_a_source_that_installs_the_adapter_hooks_the_tools_of_all(findings, folder, installing):
    tool = source("from langchain_core.tools import tool; @tool")
    main = f"import agent\n\ndef main():\n    {installing}\n"
    assert findings("agent", agent=tool) != []
    assert findings("empty.py", empty=main) == []


def test_an_adapter_of_the_settings_is_installed(findings, folder, monkeypatch):
    monkeypatch.setattr(adapters.smolagents, "install", lambda bus: None)
    (folder / "hookbus.toml").write_text('adapters = ["smolagents"]\n')
    assert findings("agent", agent=source("from smolagents import tool; @tool")) == []
    assert len(findings("agent", agent=source("from strands import tool; @tool"))) == 1


def test_all_files_of_a_package_are_searched(findings, folder):
    (folder / "package" / "main.py").write_text("")
    (folder / "package" / "tools.py").write_text(source("from strands import tool; @tool"))
    [found] = findings("package.main")
    assert found.startswith(f"{(folder / 'package/tools.py').relative_to(folder)}:4: pay")


@pytest.mark.parametrize("mark", [
    "from tools import tool; @tool", "import functools; @functools.cache",
    "from langchain_core.tools import tool; @property",
    "from langchain_core.tools import StructuredTool as tool; @tool",
])  # fmt: skip
def test_other_decorators_are_no_tools(findings, mark):
    assert findings("agent", agent=source(mark)) == []


def test_a_file_that_cannot_be_read_is_said(findings):
    main = "def main():\n    import other\n"
    [found] = findings("agent", agent=main, other="def (\n")
    assert found.startswith("other.py was not searched for tools: ")
