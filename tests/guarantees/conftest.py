"""What the tests of several guarantees may use."""

import sys

import pytest


@pytest.fixture
def hasty_threads():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
