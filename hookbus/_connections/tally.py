"""What is counted of a receiver, for `report`: failures, long turns and odd answers."""

from __future__ import annotations

from types import CodeType
from typing import Final

from .._locks import Lock
from .failures import in_words, is_raised_by, place_of_failure

LONG_SECONDS: Final = 0.1
"""An observer without a deadline that takes longer is a finding: it holds the call up."""

TO_BLOCK: Final = "; if that was to block the call, write return Block(reason)"
"""Said of a guard that raises an exception itself, whose text nobody gets to read."""

MOST_REMARKS: Final = 20
"""The number of different remarks that are kept of one receiver."""

_tally: Final = Lock()
"""Held for the moment in which a receiver's counts change; by nobody who would call anything
meanwhile.
"""


class Tally:
    """The counts of one receiver.

    Attributes:
        failures: how often it failed.
        fail_opens: how often it failed and the call went on.
        watched: how many turns of it are still timed, of an observer without a deadline: a clock
            costs as much as a receiver.
        held_up: how many of those took long, and `longest` how many seconds.
        remarks: what is odd of its answers, and how often each was.
    """

    role: str
    place: CodeType | str
    is_spent = False
    failures = fail_opens = held_up = 0
    watched, longest = 8, 0.0
    remarks: dict[str, int] | None = None
    _raises = False
    _last: tuple[type[BaseException], str, str | None] | None = None

    def note_turn(self, seconds: float) -> None:
        """Note how long an observer without a deadline has held a call up, for `report`."""
        with _tally:
            self.watched = max(0, self.watched - 1)
            self.held_up += seconds > LONG_SECONDS
            self.longest = max(self.longest, seconds)

    def remark(self, said: str) -> bool:
        """Count what `report` is to say of its answers; True where this was not said before."""
        with _tally:
            remarks = self.remarks = self.remarks or {}
            if said in remarks or len(remarks) < MOST_REMARKS:
                remarks[said] = remarks.get(said, 0) + 1
            return remarks.get(said) == 1

    def claim(self) -> bool:
        """Take the only turn of a `once=True` receiver; False if it is taken."""
        with _tally:
            is_first, self.is_spent = not self.is_spent, True
        return is_first

    def count_failure(
        self, error: BaseException, *, is_open: bool, sentence: str | None = None
    ) -> str:
        """Count a failure, in a `sentence` where there is one, and return `file:line` of it."""
        place = place_of_failure(error, self.place)
        is_raised = self.role == "guard" and is_raised_by(error, self.place)
        with _tally:
            self.failures += 1
            self.fail_opens += is_open
            self._last = type(error), place, sentence
            self._raises = is_raised
        return place

    @property
    def last_failure(self) -> str | None:
        """How it last failed: a sentence of hookbus, or the exception's type and place."""
        if self._last is None:
            return None
        is_raised = self._raises and self._last[2] is None
        return in_words(*self._last) + (TO_BLOCK if is_raised else "")

