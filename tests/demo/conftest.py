"""What the tests of the demo share: AgentDojo's four suites, loaded once. They need the extra, and
fail without it.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hookbus.demo.benchmark import AttackedSuite

Suites = dict[str, "AttackedSuite"]
SUITES = ("banking", "slack", "travel", "workspace")


class Demo:
    """The modules of the demo, each imported when a test first uses it. AgentDojo takes seconds to
    import, and brings thousands of classes, through which each report() of later tests would walk.
    """

    def __getattr__(self, name: str) -> ModuleType:
        return importlib.import_module(f"hookbus.demo.{name}")


demo = Demo()


@pytest.fixture(scope="session")
def suites() -> Suites:
    """Every suite under the default attack, by name."""
    return {
        attacked.suite.name: attacked
        for attacked in demo.benchmark.attack_suites("all", "important_instructions")
    }


@pytest.fixture(scope="session")
def banking(suites: Suites) -> AttackedSuite:
    return suites["banking"]
