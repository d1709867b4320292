"""The exceptions that hookbus raises. Attributes contain their data."""

from __future__ import annotations

from typing import Any, Literal

__all__ = [
    "CallPaused", "HookBlocked", "HookError", "HookWarning", "PluginError", "ReceiverError",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


Failure = Literal["absent", "late", "refused", "malformed", "unsent"]


class HookError(Exception):
    """hookbus was used incorrectly, or a service that hookbus needs failed. The message states what
    happened, where, and what to write instead.

    Attributes:
        failure: the kind of failure of a service, such as the server of a fleet. `absent`: the
            service cannot be reached. `late`: it did not answer in time. `refused`: it did not
            accept the request. `malformed`: its answer is not valid. `unsent`: the request was not
            sent. Other errors have None. If a guard or an approver raises an exception with this
            attribute, the block contains its value in `details["failure"]`.
    """

    failure: Failure | None = None


class HookWarning(UserWarning):
    """Warns about code that is allowed but is probably a mistake, such as a guard on a class whose
    override is not hooked.
    """


class HookBlocked(HookError):
    """A call was blocked: it must not run, or its result must not be returned.

    The exception never contains the message of a receiver's own exception, because a model may read
    it.

    Attributes:
        verdict: the `Block` with its `code` and `details`.
        call_id: the number of the call, as in its events.
    """

    args: tuple[str, ...]
    verdict: Any = None
    call_id: int | None = None

    @property
    def reason(self) -> str:
        """The reason that the blocking receiver gave."""
        return self._said(0)

    @property
    def receiver(self) -> str:
        """The name of the receiver that blocked the call."""
        return self._said(1)

    @property
    def hook(self) -> str:
        """The name of the hook whose call was blocked."""
        return self._said(2)

    def _said(self, number: int) -> str:
        return self.args[number] if number < len(self.args) else "?"  # created elsewhere

    def __str__(self) -> str:
        return f"{self.hook} was blocked by {self.receiver}: {self.reason}"


class CallPaused(BaseException):
    """A method handed control back to its framework with an exception that is listed in `passes=`.

    An `around` gets it from `call_next` in place of that exception. `CallPaused` is not an
    `Exception`, so a retry or fallback does not mistake a pause for a failure. The caller of the
    method gets the framework's exception.

    Attributes:
        error: the exception of the framework.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class ReceiverError(HookError):
    """A receiver that is connected with `on_error="raise"` failed. Its own exception is the
    `__cause__`.

    Attributes:
        receiver: the name of the receiver that failed.
        hook: the name of the hook whose call ran the receiver.
        phase: the phase in which the receiver failed, such as `"pre"`.
    """

    receiver: str
    hook: str
    phase: str

    def __init__(self, receiver: str, hook: str, phase: str) -> None:
        super().__init__(receiver, hook, phase)
        self.receiver, self.hook, self.phase = receiver, hook, phase

    def __str__(self) -> str:
        where = self.hook if self.phase == "answer" else f"{self.phase}_{self.hook}"
        return f"receiver {self.receiver} failed in {where} and has on_error='raise'"


class PluginError(HookError):
    """A plugin cannot be loaded. `load_plugins` turns this exception into a diagnostic.

    Attributes:
        problem: a description of the problem.
        advice: how to fix the problem.
    """

    problem: str
    advice: str

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem, advice)
        self.problem, self.advice = problem, advice
        self.traceback: str | None = None

    def __str__(self) -> str:
        return f"{self.problem}; {self.advice}"
