"""Fixtures for the tests of every system, and the selection of tests that run here."""

import ast
import logging
import os

import pytest

from hookbus import Bus

from .install import SYSTEMS

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # LiteLLM asks the network for prices

SYSTEM = SYSTEMS.get(os.environ.get("HOOKBUS_SYSTEM", ""))
HERE = SYSTEM.tests if SYSTEM else ""
FRAMEWORKS = {system.tests for system in SYSTEMS.values() if system.is_framework}
PACKAGES = {system.tests for system in SYSTEMS.values()} - FRAMEWORKS - {"openclaw"}


def pytest_ignore_collect(collection_path):
    """Leave a file out that is named after a framework or imports a system's package, but in the
    environment of that one: there it must be importable."""
    if collection_path.suffix != ".py":
        return None
    if collection_path.name == "test_seams.py":  # of whatever adapter is tested here
        return None if HERE and HERE != "openclaw" else True
    named = {each for each in FRAMEWORKS if collection_path.name.startswith(f"test_{each}_")}
    if named:
        return None if HERE in named else True
    return True if _imported(collection_path.read_text()) & (PACKAGES - {HERE}) else None


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "in_environment(system): for the environment of that system alone"
    )


def pytest_collection_modifyitems(config, items):
    """Leave single tests out, too, that are for another environment."""
    wanted = {item: item.get_closest_marker("in_environment") for item in items}
    config.hook.pytest_deselected(
        items=[item for item, mark in wanted.items() if mark and mark.args[0] != HERE]
    )
    items[:] = [item for item, mark in wanted.items() if not mark or mark.args[0] == HERE]


def _imported(source):
    nodes = ast.parse(source).body
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names}


@pytest.fixture
def bus():
    return Bus(values=True)


@pytest.fixture(autouse=True)
def of_the_system():
    """Leave in the log what a system's own loggers say; hookbus says what fails besides."""
    logger = logging.getLogger("hookbus")  # not its children, which adapters log for

    def is_not_ours(record):
        return False

    logger.addFilter(is_not_ours)
    yield
    logger.removeFilter(is_not_ours)
