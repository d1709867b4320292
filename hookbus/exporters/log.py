"""Log each call in one line when it ends."""

from __future__ import annotations

import json as json_
import logging
from typing import Any, Final

import attrs

from .._ground.errors import name_of_class
from .._ground.keywords import named_options
from .._outgoing.exporting import Exporter
from .._views.values import place_of_change, title, verb_of_block
from ..events import Blocked, Event, Failed, Finished, Mutated, Started
from ._open_calls import OpenCalls

__all__ = ["Logging"]


def __dir__() -> list[str]:
    return sorted(__all__)


LEVELS: Final = {
    "returned": logging.INFO, "replaced": logging.INFO, "cancelled": logging.INFO,
    "paused": logging.INFO,
    "blocked": logging.WARNING, "raised": logging.ERROR,
}  # fmt: skip

_MOST: Final = 20
"""The maximum number of receivers to name in the line of one call."""


@attrs.define
class _Call:
    title: str
    did: list[str] = attrs.Factory(list)


@named_options
class Logging(Exporter):
    """Logs each call in one line when it ends. The level is INFO for success or cancellation,
    WARNING for a block, and ERROR for an exception.

    For JSON formatters, the log record has the fields of the line in its attribute `hookbus`. A
    structlog logger gets them as keyword arguments.

    Args:
        logger: the logger to use. Default: the logger `hookbus.calls`.
        json: whether to log the line as JSON.
    """

    def __init__(self, logger: Any = None, json: bool = False) -> None:
        self._logger = logging.getLogger("hookbus.calls") if logger is None else logger
        self._is_json, self._calls = json, OpenCalls[_Call]()

    def __call__(self, bus: Any, event: Event) -> None:
        self.is_used = True
        if isinstance(event, Started):
            self._calls.begin(event.call_id, _Call(title(event.hook, event.labels)))
            return
        if isinstance(event, Finished):
            self._log(event, self._calls.end(event.call_id) or _Call(event.hook))
            return
        call, did = self._calls.of(event.call_id), _did(event)
        if call is not None and did is not None and len(call.did) < _MOST:
            call.did.append(did)

    def close(self) -> None:
        """Disconnect the exporter from every bus, and drop the calls in flight."""
        self._disconnect()
        self._calls.clear()

    def _log(self, event: Finished, call: _Call) -> None:
        error = name_of_class(type(event.error)) if event.error is not None else None
        facts = {
            "call": call.title, "hook": event.hook, "sender": event.sender,
            "call_id": event.call_id, "parent_id": event.parent_id, "outcome": event.outcome,
            "seconds": round(event.seconds, 6), "error": error, "receivers": call.did,
            "baggage": event.as_dict()["baggage"],
        }  # fmt: skip
        ended = event.outcome if error is None else f"{event.outcome} {error}"
        line = f"{call.title} of {event.sender}: {ended} after {event.seconds:.6f} s"
        line = printable("; ".join([line, *call.did]))
        level, logger = LEVELS[event.outcome], self._logger
        text = json_.dumps(facts, allow_nan=False) if self._is_json else line
        if isinstance(logger, (logging.Logger, logging.LoggerAdapter)):
            logger.log(level, "%s", text, extra={"hookbus": facts})
        else:
            logger.log(level, text, **({} if self._is_json else facts))


def _did(event: Event) -> str | None:
    """Describe a receiver's action in a call, or return None if it is not worth logging."""
    if isinstance(event, Blocked):
        blocked = verb_of_block(event.enforced, event.asked)
        return f"{event.receiver} {blocked}: {event.reason:.200}"
    if isinstance(event, Failed):
        return f"{event.receiver} failed: {name_of_class(type(event.exception))}, {event.action}"
    if isinstance(event, Mutated) and not event.index:
        return f"{event.receiver} changed {place_of_change(event.name)}"
    return None


def printable(text: str) -> str:
    """Return a string on one line, with control characters escaped."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
