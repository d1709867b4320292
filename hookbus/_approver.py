"""Who answers for a bus where a guard asks for a yes."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

from ._keywords import named_options
from .exceptions import HookError

A = TypeVar("A")


class Answered:
    """The part of a bus that somebody answers for."""

    _approver: Any = None

    @named_options
    def approver(self, approver: A, *, timeout: float | None = None) -> A:
        """Say who is asked where a guard answers `Ask`; without one that is a no. A decorator, too.

        Args:
            approver: a function of the `approvals.Request`, async where the hook is, that returns
                `Approved`, `Denied` or `Parked`; or a `Inbox`, a `Store`, the `terminal`. None takes
                it away.
            timeout: how many seconds the person has; then it is a no.

        Returns:
            The approver.

        Raises:
            HookError: if the bus has another one already, this one cannot be asked, or the extra
                `approvals` is not installed.
        """
        made, before = None, self._approver
        if approver is not None:
            made = import_module("hookbus.approvals").answering(approver, timeout)
            if before is not None:
                if timeout is None and (made.key, made.name) == (before.key, before.name):
                    return approver
                raise HookError(
                    f"this bus asks {before.name} already; bus.approver(None) takes it away"
                )
        self._approver = made
        return approver
