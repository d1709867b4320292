"""The pytest plugin: the fixture `fired`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .testing import Recording, record


@pytest.fixture
def fired() -> Iterator[Recording]:
    """What fires on `default_bus` during the test: `fired.exactly(reply=2)`,
    `fired.in_order("reply", "act")`.
    """
    with record() as recording:
        yield recording
