"""The allowed ratio of each row; P11 is in bytes, and P28 is in milliseconds.

A row that is not listed here is printed without a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .harness import Measured

LIMITS: dict[str, float] = {
    "P1 sync": 1.30,
    "P1 async": 1.25,
    "P2 sync": 1.75,
    "P2 async": 1.55,
    "P2 async, async receivers": 1.35,
    "P3 sync": 1.45,
    "P3 async": 1.45,
    "P3 async, async receivers": 1.35,
    "P4 sync": 2.3,
    "P4 sync, decorators": 4.0,
    "P4 async": 2.3,
    "P4 async, decorators": 4.0,
    "P5 sync": 1.1,
    "P5 async": 1.1,
    "P6": 1.1,
    "P7 sync": 1.1,
    "P7 async": 1.1,
    "P8": 1.25,
    "P9": 1.3,
    "P10 sync, 100": 2.0,
    "P10 sync, 1,000": 2.0,
    "P10 sync, 10,000": 2.0,
    "P10 async, 10,000": 2.0,
    "P10 connect": 5.5,
    "P11 sync": 0.0,
    "P11 async": 0.0,
    "P12 sync": 1.9,
    "P12 async": 1.9,
    "P13 sync": 1.9,
    "P13 async": 1.6,
    "P14 sync": 2.6,
    "P14 async": 2.6,
    "P15 sync": 1.05,
    "P15 async": 1.05,
    "P16 sync, predicate": 2.0,
    "P16 sync, glob": 2.0,
    "P16 async, predicate": 2.0,
    "P16 async, glob": 2.0,
    "P17 async": 1.2,
    "P18 sync": 2.0,
    "P19 sync": 2.5,
    "P19 sync, idle": 1.05,
    "P19 async": 2.5,
    "P19 async, idle": 1.05,
    "P20 sync": 2.0,
    "P20 async": 2.0,
    "P21 known form": 1.5,
    "P21 new form": 3.0,
    "P22 sync": 6.0,
    "P22 sync, same Block": 2.7,
    "P22 async": 6.0,
    "P22 async, same Block": 2.7,
    "P23 sync": 8.0,
    "P23 async": 8.0,
    "P24 sync": 3.0,
    "P24 async": 3.0,
    "P25 async": 2.5,
    "P26 sync": 2.5,
    "P26 async": 2.5,
    "P27 sync": 1.3,
    "P27 async": 1.3,
    "P28 processor": 25.0,
    "P31 policy": 2.0,
    "P32 remote": 2.0,
}

SLACK = 1.15
"""What `--short` forgives: its machine has other things to do."""


@dataclass(frozen=True)
class KnownMiss:
    """A limit that is knowingly not met: why, and what it must still stay below."""

    reason: str
    ceiling: float


KNOWN_MISSES: dict[str, KnownMiss] = {
    "P2 sync": KnownMiss("the look-up of what runs a call is as long as two plain calls", 2.1),
    "P3 sync": KnownMiss("as P2 sync", 1.8),
    "P3 async": KnownMiss("as P2 sync, and each answer may be one to await", 1.8),
    "P4 sync": KnownMiss("each level notes how what it has inside has ended", 3.2),
    "P4 sync, decorators": KnownMiss("as P4 sync", 4.6),
    "P4 async": KnownMiss("each level awaits once more than by hand, to judge what came out", 3.0),
    "P5 sync": KnownMiss("who has had a turn is noted at the turn", 1.4),
    "P5 async": KnownMiss("as P5 sync", 1.4),
    "P6": KnownMiss("each observer is kept from the others by a coroutine around it", 1.3),
    "P12 sync": KnownMiss("the look for an object costs as much as half a bare call", 2.05),
    "P13 sync": KnownMiss("two hookables are looked up, that of the parent, too", 2.4),
    "P13 async": KnownMiss("as P13 sync", 2.0),
    "P17 async": KnownMiss("a late answer is late, so the clock is read once more", 1.5),
    "P21 known form": KnownMiss("the plan is made and its text is put together", 2.0),
    "P21 new form": KnownMiss("the text is written before it is compiled", 4.0),
    "P22 sync": KnownMiss("the exception passes one frame more, and its traceback is cleared", 6.8),
    "P25 async": KnownMiss("each change is compared with what was there before", 3.0),
}

Verdict = Literal["pass", "miss", "known miss", "wrong", "not there yet", ""]


def judge(row: Measured, slack: float = 1.0, known: dict[str, KnownMiss] = KNOWN_MISSES) -> Verdict:
    """Say how hookbus did in a row: only a ratio over its limit, or a case that does the wrong
    work, counts against it.
    """
    if row.missing is not None:
        return "not there yet"
    if "hookbus" not in row.ratios:
        return "wrong"
    if row.limit is None:
        return ""
    ratio = row.ratios["hookbus"]
    # Half a byte is what the lists that hold 10^5 instances differ by from run to run.
    if ratio <= row.limit * slack + (0.5 if row.unit == "B" else 0):
        return "pass"
    return "known miss" if row.key in known and ratio <= known[row.key].ceiling * slack else "miss"
