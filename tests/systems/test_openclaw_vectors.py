"""What OpenClaw's own hook runner was recorded doing, done by hookbus."""

import json
import logging
from pathlib import Path

import pytest

from .openclaw_replay import replay

VECTORS = json.loads((Path(__file__).parent / "openclaw_vectors.json").read_text())
LEVELS = {"ERROR": "error", "WARNING": "warn"}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_recorded_run_is_the_same(vector, caplog):
    caplog.set_level(logging.WARNING)
    recorded = vector["recorded"]
    replayed = replay(vector)
    assert replayed == {key: recorded[key] for key in replayed}
    assert ("raised" in recorded) == ("raised" in replayed)
    assert [
        f"{LEVELS[record.levelname]}: {record.getMessage()}" for record in caplog.records
    ] == recorded["logs"]


def test_there_are_32_recorded_runs():
    assert len(VECTORS) == 32
