"""Stock AgenticX, AgenticX on hookbus, and after uninstall."""

import pytest
from agenticx.hooks import HookEvent

from .agenticx_parts import modules_in


@pytest.fixture(params=["stock", "installed", "uninstalled"], autouse=True)
def setting(request, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("agenticx.tools.executor.time.sleep", lambda seconds: None)
    with modules_in(request.param):
        yield request.param


def event(kind="command", action="new", **context):
    return HookEvent(type=kind, action=action, agent_id="me", context=context)


def noting(notes, name, answer=None):
    async def handler(event):
        notes.append(name)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return handler
