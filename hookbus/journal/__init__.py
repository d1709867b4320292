"""The journal: record events in a file, read them, and replay calls against current guards."""

from ._checkpoint import Checkpoint
from ._cursor import Cursor
from ._journal import Journal
from ._replay import NotJudged, Replay, VerdictChange, replay
from ._retain import Retained
from ._verify import Verification
from ._words import Record

__all__ = [
    "Checkpoint", "Cursor", "Journal", "NotJudged", "Record", "Replay", "Retained",
    "VerdictChange", "Verification", "replay",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
