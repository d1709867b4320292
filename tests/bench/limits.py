"""What may be reached, per row, as a ratio; P11 is in bytes.

A row that is not named here is printed without a verdict.
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
    "P2 async, async receivers": 1.55,
    "P3 sync": 1.40,
    "P3 async": 1.25,
    "P3 async, async receivers": 1.25,
    "P4 sync": 2.6,
    "P4 async": 2.0,
    "P5 sync": 1.1,
    "P5 async": 1.1,
    "P6": 0.65,
    "P7 sync": 1.1,
    "P7 async": 1.1,
    "P8": 1.25,
    "P9": 1.3,
    "P10 sync, 100": 2.0,
    "P10 sync, 1,000": 2.0,
    "P10 sync, 10,000": 2.0,
    "P10 async, 10,000": 2.0,
    "P10 connect": 3.0,
    "P11 sync": 0.0,
    "P11 async": 0.0,
    "P12 sync": 1.9,
    "P12 async": 1.9,
    "P13 sync": 2.0,
    "P13 async": 2.0,
}

SLACK = 1.15
"""What `--short` forgives: its machine has other things to do."""


@dataclass(frozen=True)
class KnownMiss:
    """A limit that is knowingly not met: why, and what it must still stay below."""

    reason: str
    ceiling: float


KNOWN_MISSES: dict[str, KnownMiss] = {
    "P2 async, async receivers": KnownMiss(
        "after each that was awaited hookbus looks for a swallowed cancellation", 2.6
    ),
    "P3 async, async receivers": KnownMiss("as P2", 2.0),
    "P4 async": KnownMiss(
        "each level awaits once more than by hand, to judge what came out of it", 3.0
    ),
    "P5 async": KnownMiss("as P2", 1.8),
    "P10 connect": KnownMiss(
        "blinker looks neither at what a receiver asks for nor at what it may be connected to", 13
    ),
    "P12 sync": KnownMiss("the look for an object costs as much as half a bare call", 2.05),
    "P13 sync": KnownMiss(
        "a context variable is set and reset, which is as long as two bare calls", 3.8
    ),
    "P13 async": KnownMiss("as P13 sync", 2.7),
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
