"""The pytest plugin, with the fixture `hook_recorder`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .testing import Recording, record


@pytest.fixture
def hook_recorder() -> Iterator[Recording]:
    """Record the calls on `default_bus` during the test: `hook_recorder.exactly(reply=2)`,
    `hook_recorder.in_order("reply", "act")`.
    """
    with record() as recording:
        yield recording
