"""Fixtures for every test."""

import gc
import os
import sys

import pytest

from hookbus._connections import tally

pytest_plugins = ["pytester"]

# Without stored bytecode, each worker and each of the hundreds of subprocesses compiles everything.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(scope="module", autouse=True)
def what_is_imported_stays():
    """The many collections that tests ask for pass over what earlier modules have imported."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def a_busy_machine_is_no_finding(request, monkeypatch):
    """Only tests with the mark `seconds` see the finding that a receiver held a call up: elsewhere
    the machine may have, and a test would fail by chance.
    """
    if request.node.get_closest_marker("seconds") is None:
        monkeypatch.setattr(tally, "LONG_SECONDS", 60.0)
