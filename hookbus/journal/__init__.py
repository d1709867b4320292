"""The journal: record events in a file, read them, and replay calls against current guards."""

from ._checkpoint import Checkpoint
from ._cursor import Cursor
from ._journal import Journal
from ._replay import NotJudged, Replay, VerdictChange, replay
from ._retain import Retained
from ._verify import Verification
from ._words import Record

__all__ = [
    "Checkpoint", "Cursor", "VerdictChange", "Journal", "Record", "Replay",
    "Retained", "NotJudged", "Verification", "replay",
]  # fmt: skip
