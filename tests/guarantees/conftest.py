"""Fixtures for the tests of several guarantees."""

import sys

import pytest

from ._calm import Stage


@pytest.fixture
def hasty_threads():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
def stage():
    stage = Stage()
    stage.connect("first")
    stage.connect("guard", role="guard")
    stage.warm()
    return stage
