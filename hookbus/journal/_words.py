"""What is read in a journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class Record:
    """One thing that happened, as a journal keeps it; the names are those of CloudEvents.

    Attributes:
        seq: its place in the file, from 1, without a gap.
        id: of its own in all journals.
        source: which process told it: `//host/program/pid`.
        type: `"hookbus."` and the event's name in small letters, `"hookbus.intent"`,
            `"hookbus.outcome"`, or `"hookbus.retained"`, which says what was dropped for age.
        subject: the name of the hook.
        time: when it happened, in seconds since 1970.
        data: all it says, as `event.as_dict()`.
        run: which `Journal` object wrote it. A call is known by `(run, data["call_id"])`.
        baggage: what `hookbus.baggage` said around it.
    """

    seq: int
    id: str
    source: str
    type: str
    subject: str
    time: float
    data: dict[str, Any]
    run: str
    baggage: Mapping[str, Any]
