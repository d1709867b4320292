"""Human approval: answer requests for approval in this process, or days later in another
process."""

from ._inbox import Inbox
from ._memory import check_answer
from ._notify import notify
from ._people import Proof
from ._standing import StandingRule
from ._store import Store
from ._terminal import terminal
from ._words import (
    AlreadyAnswered,
    ApprovalPending,
    ApprovalRecord,
    Approved,
    Approver,
    Between,
    Denied,
    Parked,
    Request,
    RequestExpired,
    Rule,
    UnknownRequest,
)  # fmt: skip

__all__ = [
    "AlreadyAnswered", "ApprovalPending", "ApprovalRecord", "Approved", "Approver", "Between",
    "Denied", "Inbox", "Parked", "Proof", "Request", "RequestExpired", "Rule", "StandingRule",
    "Store", "UnknownRequest", "check_answer", "notify", "terminal",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
