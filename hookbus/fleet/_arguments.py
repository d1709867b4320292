"""Check the arguments of a fleet before they are sent."""

from __future__ import annotations

from typing import Any

from .. import HookError


def check_name(option: str, value: Any) -> str:
    """Return the value if it is a string that is not empty and that Postgres can store.

    Raises:
        HookError: if the value is not such a string.
    """
    if not isinstance(value, str) or not value.strip():
        raise HookError(f"{option}={value!r:.40} must be a non-empty string")
    return check_text(option, value)


def check_text(option: str, value: Any) -> str:
    """Return the value if it is a string that Postgres can store.

    Raises:
        HookError: if the value is not such a string.
    """
    if not isinstance(value, str) or "\0" in value or len(value) > 1000:
        raise HookError(f"{option}={value!r:.40} must be a string of at most 1000 characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise HookError(f"{option}={value!a:.40} contains a lone surrogate") from None
    return value


def check_hook(hook: Any) -> str:
    """Return the value if it is a valid name of a hook.

    Raises:
        HookError: if the value is not a valid name of a hook.
    """
    if not isinstance(hook, str) or not hook.isidentifier():
        raise HookError(f"hook={hook!r:.40} must be the name of a hook, such as 'tool_call'")
    return hook
