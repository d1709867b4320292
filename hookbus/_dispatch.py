"""Send a signal to its receivers without a hook, as in blinker. Calls of hooks send no signals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from inspect import iscoroutinefunction
from typing import Any

from ._callables.parameters import holds
from ._connections.receiver import Connected
from ._connections.sending import Sending
from ._ground.errors import did_you_mean
from .exceptions import HookError


class Dispatch:
    """Finds the receivers that `send` and `send_async` of one bus's signals call."""

    def __init__(self, bus: Any) -> None:
        """Create it for a bus, as each port of a bus requires."""

    def callees(
        self, signal: Sending, sender: Any, sent: dict[str, Any], wrap: Callable[..., Any] | None,
        *, is_async: bool,
    ) -> Iterator[tuple[Callable[..., Any], Callable[..., Any]]]:  # fmt: skip
        """Yield the receivers of a sender whose `when=` is true, in order. Each is a pair: the
        receiver, and the function to call for it.
        """
        signal._was_asked = True
        for connected, function in signal._in_order(sender):
            if connected.when is not None and not _holds(connected, sent):
                continue
            call: Callable[..., Any] = function
            if iscoroutinefunction(function) is not is_async:
                if wrap is None:
                    kind = "non-coroutine" if is_async else "coroutine"
                    raise RuntimeError(f"Cannot send to a {kind} function.")
                call = wrap(function)
            if connected.options.once:
                if not connected.claim():
                    continue
                signal._drop(connected)
            connected.has_fired = True
            yield function, call


def _holds(connected: Connected, sent: dict[str, Any]) -> bool:
    """Return whether the condition `when=` is true for the arguments that are sent."""
    when: Any = connected.when
    if lacking := when.parameters.missing(sent):
        name, signal = lacking[0], connected.signal.name
        raise HookError(
            f"{connected.label} has a when= that needs {name!r}, but {signal} was sent without "
            f"it{did_you_mean(name, sent)}"
        )
    if not callable(when.condition):
        globs = when.condition.items()
        return all(fnmatchcase(str(sent[name]), glob) for name, glob in globs)
    passed = when.parameters.written(sent)
    args = [sent[name] for key, name in passed if not key]
    return holds(when.condition(*args, **{key: sent[name] for key, name in passed if key}))
