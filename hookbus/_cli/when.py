"""Parses times such as `2h`, `yesterday`, `03:15` and `2026-11-24T03:15`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from .. import HookError

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_DAYS: Final = {"today": 0, "yesterday": 1}


def moment(text: str, now: datetime | None = None) -> float:
    """Parse a time, and return it in seconds since 1970.

    Args:
        text: an age (`90s`, `15m`, `2h`, `3d`, `1w`), `today` or `yesterday` for midnight, a time
            of day, or a date with or without a time, in the local time zone unless the text names
            another.
        now: the current time.

    Raises:
        HookError: if the text is not a valid time.
    """
    lower, now = text.strip().lower(), now or datetime.now()
    if ago := _AGO.fullmatch(lower):
        return now.timestamp() - float(ago[1]) * _UNITS[ago[2]]
    if lower in _DAYS:
        day = now - timedelta(days=_DAYS[lower])
        return day.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    try:
        if re.fullmatch(r"\d{1,2}:\d\d(:\d\d)?", lower):
            clock = datetime.strptime(lower, "%H:%M:%S" if lower.count(":") == 2 else "%H:%M")
            at = now.replace(hour=clock.hour, minute=clock.minute, second=clock.second,
                             microsecond=0)  # fmt: skip
            return (at if at <= now else at - timedelta(days=1)).timestamp()
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise HookError(
            f"{text!r:.60} is not a valid time: "
            "write 15m, 2h, 3d, yesterday, 03:15 or 2026-11-24T03:15"
        ) from None
