"""Decides whether a model's answer is held back until guards return, and whether it changed."""

from __future__ import annotations

from copy import deepcopy
from inspect import iscoroutinefunction
from typing import Any, Final

from hookbus import explain

from ._vocabulary import Vocabulary

PHASES: Final = ("pre", "around", "item", "post", "error", "finally")
_UNKNOWN: Final = object()


class Kept:
    """An answer and its copy, which was made before any receiver could change the answer in
    place.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            self._before = deepcopy(value)
        except Exception:  # its changes cannot be detected
            self._before = _UNKNOWN

    def is_still(self, answer: Any) -> bool:
        """Return whether an answer is the same object and is known to be unmodified."""
        if answer is not self.value or self._before is _UNKNOWN:
            return False
        try:
            return bool(answer == self._before)
        except Exception:
            return False


def receivers_of(words: Vocabulary, model: Any, phase: str, hook: str = "model_call") -> list[Any]:
    """Return the receivers connected for a model to a phase of a hook."""
    return [*words.bus.signal(f"{phase}_{hook}").receivers_for(model)]


def is_held_back(words: Vocabulary, model: Any, *, is_async: bool) -> bool:
    """Return whether any receiver needs the whole answer before its first part is passed on."""
    arounds = receivers_of(words, model, "around")
    if any(not getattr(each, "__hookbus_live__", False) for each in arounds):
        return True
    if receivers_of(words, model, "post"):
        rows = explain(words.hookable("model_call", is_async=is_async), sender=model)
        if any(row.phase == "post" and row.role != "observe" for row in rows):
            return True
    # A sync generator does not wait for async receivers, but a sync call does.
    everybody = (each for phase in PHASES for each in receivers_of(words, model, phase))
    return not is_async and any(map(_is_async, everybody))


def _is_async(receiver: Any) -> bool:
    return iscoroutinefunction(receiver) or iscoroutinefunction(
        vars(type(receiver)).get("__call__")
    )
