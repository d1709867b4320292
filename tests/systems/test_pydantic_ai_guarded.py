"""Pydantic AI's public way, a capability, under the contract: for the tools of one agent."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent

from hookbus.adapters import pydantic_ai

from .test_pydantic_ai_contract import Outside
from .tool_contract import pytest_generate_tests  # noqa: F401


class TestGuarded(Outside):
    capabilities: list[Any] = []

    def install(self, bus, **options):
        self.capabilities.append(pydantic_ai.guarded(bus, **options))
        return lambda: None

    def agent(self, model, **options):
        return Agent(model, capabilities=self.capabilities[-1:], **options)

    # There is nothing to put back.
    test_uninstall_leaves_no_trace_and_nobody_is_asked = None
    test_installing_twice_and_an_unknown_version_are_refused = None
