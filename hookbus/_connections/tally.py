"""Count the failures, slow calls and unusual answers of a receiver for `report`."""

from __future__ import annotations

from types import CodeType
from typing import Final

from .._ground.locks import Lock
from .failures import in_words, is_raised_by, place_of_failure

LONG_SECONDS: Final = 0.1
"""If an observer without a deadline takes longer than this, `report` lists it, because it delays
the call.
"""

TO_BLOCK: Final = "; if it was meant to block the call, write return Block(reason)"
"""Added for a guard that raises an exception itself, because the exception's message is not
shown.
"""

MOST_REMARKS: Final = 20
"""The maximum number of different remarks to keep for one receiver."""

_tally: Final = Lock()
"""Held while a receiver's counts change. Code that holds it calls no other code."""


class Tally:
    """The counts of one receiver.

    Attributes:
        failures: the number of failures.
        fail_opens: the number of failures after which the call continued.
        watched: the number of calls that are still to be timed, for an observer without a deadline.
            The number is limited, because timing costs as much as a receiver.
        held_up: the number of timed calls that took too long. `longest` is the longest duration in
            seconds.
        remarks: descriptions of unusual answers, each with the number of occurrences.
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
        """Record how long an observer without a deadline delayed a call, for `report`."""
        with _tally:
            self.watched = max(0, self.watched - 1)
            self.held_up += seconds > LONG_SECONDS
            self.longest = max(self.longest, seconds)

    def remark(self, message: str) -> bool:
        """Count a remark about the receiver's answers for `report`. Return True if the remark is
        new.
        """
        with _tally:
            remarks = self.remarks = self.remarks or {}
            if message in remarks or len(remarks) < MOST_REMARKS:
                remarks[message] = remarks.get(message, 0) + 1
            return remarks.get(message) == 1

    def claim(self) -> bool:
        """Claim the only call of a `once=True` receiver. Return False if another call has claimed
        it.
        """
        with _tally:
            is_first, self.is_spent = not self.is_spent, True
        return is_first

    def count_failure(
        self, error: BaseException, *, is_open: bool, sentence: str | None = None
    ) -> str:
        """Count a failure. `sentence` describes the failure, or is None. Return the `file:line` of
        the failure.
        """
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
        """The last failure of the receiver: a sentence of hookbus, or the exception's type and
        location.
        """
        if self._last is None:
            return None
        is_raised = self._raises and self._last[2] is None
        return in_words(*self._last) + (TO_BLOCK if is_raised else "")

