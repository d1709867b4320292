"""Fixtures for every test."""

import gc
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hookbus._checks.frameworks import FRAMEWORKS
from hookbus._connections import tally

pytest_plugins = ["pytester"]

# Without stored bytecode, each worker and each of the hundreds of subprocesses compiles everything.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


TESTS = Path(__file__).parent
LATE = "demo", "examples", "gate", "fleet"
"""The folders whose tests are the last. AgentDojo brings the demo thousands of classes, through
which each `report()` of later tests would walk. The others have many files that are about equally
long, so that the workers end at about the same time.
"""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collecting makes objects that stay, so that looking for garbage meanwhile is for nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items):
    def place(item):
        folder = item.path.relative_to(TESTS).parts[0] if TESTS in item.path.parents else ""
        return LATE.index(folder) if folder in LATE else -1

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from .workers import ByFile  # needs pytest-xdist

    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="module", autouse=True)
def what_is_imported_stays():
    """The many collections that tests ask for pass over what earlier modules have imported."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def imported(monkeypatch):
    """Make only these frameworks look imported: at first none, whatever other tests have imported.
    """

    def have(*names):
        for each in FRAMEWORKS:
            monkeypatch.delitem(sys.modules, each.module, raising=False)
        for name in names:
            monkeypatch.setitem(sys.modules, name, ModuleType(name))

    have()
    return have


@pytest.fixture(autouse=True)
def a_busy_machine_is_no_finding(request, monkeypatch):
    """Only tests with the mark `seconds` see the finding that a receiver held a call up: elsewhere
    the machine may have, and a test would fail by chance.
    """
    if request.node.get_closest_marker("seconds") is None:
        monkeypatch.setattr(tally, "LONG_SECONDS", 60.0)
