"""The seconds an operator gives the handlers of a plugin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from hookbus import HookError
from hookbus.exceptions import did_you_mean

from ._hooks import ClawHook

Timeouts = Mapping[str, float | Mapping[str, float]]

LONGEST: Final = 600.0
"""The most seconds an operator may give a handler."""


def is_seconds(value: Any) -> bool:
    """Tell whether a value is a number of seconds, of a millisecond at least."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0.001


def check_timeouts(timeouts: Timeouts, hooks: Mapping[str, ClawHook]) -> None:
    """Raise HookError unless an operator's timeouts name hooks there are and seconds he may give."""
    for plugin, said in timeouts.items():
        for hook, seconds in said.items() if isinstance(said, Mapping) else [("*", said)]:
            if hook != "*" and hook not in hooks:
                raise HookError(f"timeouts of {plugin} name {hook!r}, which is no hook{did_you_mean(hook, hooks)}")
            if not is_seconds(seconds) or seconds > LONGEST:
                raise HookError(f"timeouts give {plugin} {seconds!r:.40} for {hook}; give seconds, from 0.001 to {LONGEST:.0f}")
