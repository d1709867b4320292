"""What the tests of every system may use."""

import pytest

from hookbus import Bus


@pytest.fixture
def bus():
    return Bus(values=True)
