"""Human approval: answer the calls that a guard holds, in this process or days later."""

from ._answering import answering
from ._inbox import Inbox
from ._notify import notify
from ._store import Store
from ._terminal import terminal
from ._words import (
    AlreadyAnswered,
    ApprovalPending,
    ApprovalRecord,
    Approved,
    Denied,
    Parked,
    Request,
    RequestExpired,
    UnknownRequest,
)  # fmt: skip

__all__ = [
    "AlreadyAnswered", "ApprovalPending", "Approved", "ApprovalRecord", "Denied", "Inbox", "Parked", "Request",
    "RequestExpired", "Store", "UnknownRequest", "answering", "notify", "terminal",
]  # fmt: skip
