"""The Claude Agent SDK's public way, hooks for one session, under the contract."""

from __future__ import annotations

from hookbus.adapters import claude_agent

from .test_claude_agent_contract import Outside
from .tool_contract import pytest_generate_tests  # noqa: F401


class TestGuarded(Outside):
    unnamed = ("*",)
    options = {}

    def install(self, bus, **options):
        self.options["hooks"] = claude_agent.guarded(bus, **options)
        return lambda: None

    # There is nothing to put back.
    test_uninstall_leaves_no_trace_and_nobody_is_asked = None
    test_installing_twice_and_an_unknown_version_are_refused = None
