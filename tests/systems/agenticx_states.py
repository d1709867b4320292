"""AgenticX's modules of hooks, stock and those of hookbus."""

import pytest

from .agenticx_parts import IS_INSTALLED, modules_in

SETTINGS = ["stock", "installed", "uninstalled", "namespaces"] if IS_INSTALLED else ["namespaces"]


@pytest.fixture(params=SETTINGS)
def agx(request):
    with modules_in(request.param) as modules:
        yield modules


@pytest.fixture(params=["llm", "tool"])
def kind(request):
    return request.param


def core_context(agx, kind):
    if kind == "llm":
        return agx.core.LLMCallHookContext("me")
    return agx.core.ToolCallHookContext("me", tool_name="read")


def core_of(agx, kind, what):
    return getattr(agx.core, what.format(kind))


def legacy_context(agx, kind):
    if kind == "llm":
        return agx.llm.LLMCallHookContext(messages=[{"role": "user", "content": "hi"}])
    return agx.tool.ToolCallHookContext(tool_name="read", tool_input={"path": "a"})


def legacy_of(agx, kind, what):
    return getattr(getattr(agx, kind), what.format(kind))
