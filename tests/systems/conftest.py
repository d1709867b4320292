"""What the tests of every system may use, and which of them run here."""

import ast
import os
import re

import pytest

from hookbus import Bus

from .install import SYSTEMS

PACKAGES = {system.tests for system in SYSTEMS.values()} - {"openclaw"}


def pytest_ignore_collect(collection_path):
    """Leave a file out that imports a system's package, but in the environment of that system: there it must be importable."""
    if collection_path.suffix != ".py":
        return None
    here = re.sub("-.*", "", os.environ.get("HOOKBUS_SYSTEM", ""))
    return True if _imported(collection_path.read_text()) & (PACKAGES - {here}) else None


def _imported(source):
    nodes = ast.parse(source).body
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names}


@pytest.fixture
def bus():
    return Bus(values=True)
