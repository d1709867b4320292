"""The advice of one bus. The kernel calls it where a program has probably made a mistake."""

from __future__ import annotations

from typing import Any

from .answers import note_bool, with_keys
from .blocking import watching
from .functions import problem_with_function
from .misuse import describe_misuse


class Advice:
    """The functions of this package. None of them changes what a call does."""

    with_keys, note_bool = staticmethod(with_keys), staticmethod(note_bool)
    problem_with_function = staticmethod(problem_with_function)
    watching, describe_misuse = staticmethod(watching), staticmethod(describe_misuse)

    def __init__(self, bus: Any) -> None:
        """Create the advice for a bus, as each port of a bus requires."""
