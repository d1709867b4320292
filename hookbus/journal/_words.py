"""The class of a journal's records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class Record:
    """One recorded event. Most fields have the same names as in CloudEvents.

    Attributes:
        seq: the number of the record in the file, counted from 1 without gaps.
        id: the id of the record, which is unique in all journals.
        source: the process that recorded it: `//host/program/pid`.
        type: `"hookbus."` and the event's name in lower case, `"hookbus.intent"`,
            `"hookbus.outcome"`, or `"hookbus.retained"`, which notes dropped records.
        subject: the name of the hook.
        time: when the event happened, in seconds since 1970.
        data: the content of the record, as returned by `event.as_dict()`.
        run: the id of the `Journal` object that wrote the record. `(run, data["call_id"])`
            identifies a call.
        baggage: the baggage, as set by `hookbus.baggage`.
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
