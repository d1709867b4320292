"""Checks settings of plugins and operators: matchers for tools, restrictions of runs, and
timeouts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from hookbus import HookError

from ..._ground.errors import did_you_mean
from ._hooks import ClawHook

Matcher = Sequence[str] | Callable[[str], bool]
Timeouts = Mapping[str, float | Mapping[str, float]]

_NOT_CANONICAL: Final = {"bash", "exec_command", "apply-patch", "agent"}

_ELIGIBLE: Final = {
    "before_agent_reply": ("cron", "heartbeat", "user"),
    "reply_dispatch": ("agent", "acp"),
}

LONGEST: Final = 600.0
"""The longest timeout, in seconds, that an operator may set for a handler."""


def is_seconds(value: Any) -> bool:
    """Return whether a value is a number of seconds, at least one millisecond."""
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value >= 0.001
    )


def check_timeouts(timeouts: Timeouts, hooks: Mapping[str, ClawHook]) -> None:
    """Raise HookError unless an operator's timeouts name known hooks and allowed seconds."""
    for plugin, said in timeouts.items():
        for hook, seconds in said.items() if isinstance(said, Mapping) else [("*", said)]:
            if hook != "*" and hook not in hooks:
                raise HookError(
                    f"the timeouts of {plugin} name {hook!r}, which is not a "
                    f"hook{did_you_mean(hook, hooks)}"
                )
            if not is_seconds(seconds) or seconds > LONGEST:
                raise HookError(
                    f"the timeout of {plugin} for {hook} is {seconds!r:.40}; write a number of "
                    f"seconds from 0.001 to {LONGEST:.0f}"
                )


def exact_matcher(matcher: object) -> Callable[[str], bool]:
    """Return a predicate that is true for tools with any of these ids.

    Raises:
        TypeError: unless the matcher is a non-empty list of OpenClaw's tool ids, without wildcards
            or aliases.
    """
    if not isinstance(matcher, (list, tuple)):
        raise TypeError("tool hook matcher must be an array of tool names")
    if not matcher:
        raise TypeError("tool hook matcher must contain at least one tool name")
    ids = set()
    for tool in matcher:
        name = tool.strip().lower() if isinstance(tool, str) else ""
        if not name:
            raise TypeError("tool hook matcher entries must be non-empty strings")
        if name == "*":
            raise TypeError("tool hook matcher wildcard entries are not supported")
        if name in _NOT_CANONICAL or tool.strip() in ("Write", "Edit"):
            raise TypeError("tool hook matcher entries must use canonical OpenClaw tool ids")
        ids.add(name)
    return lambda tool: tool.strip().lower() in ids


def free_matcher(matcher: Any) -> Callable[[str], bool]:
    """Return a predicate for tools, made from ids and globs, a regular expression, or another
    predicate.

    Raises:
        TypeError: if the matcher has another type or is empty.
    """
    if isinstance(matcher, re.Pattern):
        return lambda tool: matcher.fullmatch(tool) is not None
    if callable(matcher):
        return lambda tool: bool(matcher(tool))
    globs = [matcher] if isinstance(matcher, str) else matcher
    if (
        not isinstance(globs, (list, tuple))
        or not globs
        or not all(isinstance(glob, str) and glob.strip() for glob in globs)
    ):
        raise TypeError(
            "a matcher must be a glob, several globs, a pattern or a predicate of the tool's id, "
            f"not {matcher!r:.60}"
        )
    return lambda tool: any(fnmatchcase(tool, glob) for glob in globs)


def eligible(hook: str, of: str, values: Any) -> tuple[str, ...] | None:
    """Return the restriction of a handler for the hook `of`. Return None (no restriction) for any
    other hook, or if `values` is malformed."""
    is_list = isinstance(values, (list, tuple)) and values
    if hook != of or not is_list or not all(value in _ELIGIBLE[of] for value in values):
        return None
    return tuple(dict.fromkeys(values))
