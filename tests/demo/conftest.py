"""What the tests of the demo share: AgentDojo's four suites, loaded once. They need the extra, and
fail without it.
"""

from __future__ import annotations

import pytest

from hookbus.demo.benchmark import AttackedSuite, attack_suites

Suites = dict[str, AttackedSuite]


@pytest.fixture(scope="session")
def suites() -> Suites:
    """Every suite under the default attack, by name."""
    return {
        attacked.suite.name: attacked for attacked in attack_suites("all", "important_instructions")
    }


@pytest.fixture(scope="session")
def banking(suites: Suites) -> AttackedSuite:
    return suites["banking"]
