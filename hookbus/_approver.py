"""`Bus.approver`: sets the approver, which decides when a guard returns `Ask`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

from ._keywords import named_options
from .exceptions import HookError

A = TypeVar("A")


class Answered:
    """The part of `Bus` that holds its approver."""

    _approver: Any = None

    @named_options
    def approver(self, approver: A, *, timeout: float | None = None) -> A:
        """Set the approver of this bus, which decides when a guard returns `Ask`.

        Without an approver, every such call is blocked. You can use this method as a decorator.

        Args:
            approver: a function that takes an `approvals.Request` and returns `Approved`, `Denied`
                or `Parked`. It may be async if the hook is async. It can also be an `Inbox`, a
                `Store` or the `terminal`. None removes the current approver.
            timeout: the time limit for the approver, in seconds. After that, the call is denied.

        Returns:
            The approver.

        Raises:
            HookError: if the bus already has another approver, if this object cannot be an
                approver, or if the extra `approvals` is not installed.
        """
        made, before = None, self._approver
        if approver is not None:
            made = import_module("hookbus.approvals._answering").answering(approver, timeout)
            if before is not None:
                if timeout is None and (made.key, made.name) == (before.key, before.name):
                    return approver
                raise HookError(
                    f"this bus already has an approver, {before.name}: call bus.approver(None) "
                    "first to remove it"
                )
        self._approver = made
        return approver
