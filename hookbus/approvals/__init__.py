"""Approvals: who answers where a guard asks for a yes, in this process or days later."""

from ._answering import answering
from ._desk import Desk
from ._store import Store
from ._terminal import terminal
from ._words import ApprovalPending, Approved, Case, Denied, Parked, Request

__all__ = [
    "ApprovalPending", "Approved", "Case", "Denied", "Desk", "Parked", "Request", "Store",
    "answering", "terminal",
]  # fmt: skip
