"""Records the calls in a block of code."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

from .._bus import Bus, default_bus
from .._ground.keywords import named_options
from .._views.html import Pictured
from ..events import Blocked, Event, Failed, Finished, Started

E = TypeVar("E", bound=Event)


class Recording(Pictured):
    """The events of a `with` block. Printing the recording, or displaying it in a notebook, shows a
    waterfall of the calls.

    Attributes:
        events: every event, in order.
    """

    def __init__(self, bus: Bus) -> None:
        self.events: list[Event] = []
        self._bus = bus

    def __enter__(self) -> Recording:
        from .._views.progress import progress

        self._progress = progress()
        self._connection = self._bus.events.connected_to(self._note, name="hookbus.testing.record")
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.disconnect()
        if self._progress is not None:
            self._progress.end()

    def __str__(self) -> str:
        from .._views.waterfall import as_text, waterfall

        return as_text(waterfall(self.events))

    def _html_parts(self) -> list[str]:
        from .._views.waterfall import as_html, waterfall

        return as_html(waterfall(self.events))

    def _note(self, bus: Bus, event: Event) -> None:
        self.events.append(event)
        if self._progress is not None:
            self._progress.note(event)

    def of(self, *kinds: type[E]) -> list[E]:
        """Return the events of these kinds, in order."""
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def hooks(self) -> list[str]:
        """The hooks that were called, in the order in which the calls started."""
        return [event.hook for event in self.of(Started)]

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        """The hook and outcome of every call, in the order in which the calls ended."""
        return [(event.hook, event.outcome) for event in self.of(Finished)]

    def count(self, hook: str) -> int:
        """Return the number of calls to a hook."""
        return self.hooks.count(hook)

    def exactly(self, **times: int) -> None:
        """Fail unless exactly these hooks were called, each as many times as stated.

        Raises:
            AssertionError: if the counts differ. The message lists the hooks that were called.
        """
        fired = Counter(self.hooks)
        if fired != Counter(times):
            raise AssertionError(f"expected exactly {_said(times)}, but got {_said(fired)}")

    def in_order(self, *hooks: str) -> None:
        """Fail unless exactly these hooks were called, in this order.

        Raises:
            AssertionError: if the hooks differ. The message lists the hooks that were called.
        """
        if self.hooks != list(hooks):
            raise AssertionError(f"expected {list(hooks)} in this order, but got {self.hooks}")

    def blocked_by(self, receiver: str) -> list[Blocked]:
        """Return the `Blocked` events of one receiver.

        Raises:
            AssertionError: if it blocked no call.
        """
        found = [event for event in self.of(Blocked) if event.receiver == receiver]
        if not found:
            others = sorted({event.receiver for event in self.of(Blocked)})
            raise AssertionError(f"{receiver} blocked no call; others that did: {others or 'none'}")
        return found

    def no_failures(self) -> None:
        """Fail if any receiver failed.

        Raises:
            AssertionError: if a receiver failed. The message lists each failed receiver with its
                exception.
        """
        failed = [
            f"{event.receiver} in {event.phase}_{event.hook}: {event.exception!r}"
            for event in self.of(Failed)
        ]
        if failed:
            raise AssertionError("receivers failed: " + "; ".join(failed))


def _said(times: dict[str, int]) -> str:
    return (
        ", ".join(f"{hook} {count}x" for hook, count in sorted(times.items()) if count) or "nothing"
    )


@named_options
def record(bus: Bus = default_bus) -> Recording:
    """Return a recording of a bus, to use in a `with` statement.

    The recording observes every call in the block, including calls without receivers.
    """
    return Recording(bus)
