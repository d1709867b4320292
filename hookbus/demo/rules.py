"""Rules that an operator could write for the tools of AgentDojo's suites without knowing any task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

READS: Final = ("get_*", "read_*", "search_*", "list_*", "check_*")
"""Tools that only read. Reading a page can send data to its owner; `sinks` covers that."""


@attrs.frozen
class Rules:
    """The rules for one suite.

    Attributes:
        acts: globs of everyday tools.
        grave: globs of tools whose actions are hard to undo.
        sinks: the arguments that name a destination, by globs of tools.
        trusted: globs of tools, and of the fields of their results that only the user and the
            operator can write. A glob of tools without fields trusts all fields.
        once: globs of tools that remove something. An approval is for one call, and never stands.
    """

    acts: Sequence[str]
    grave: Sequence[str]
    sinks: Mapping[str, Sequence[str]]
    trusted: Sequence[str] | Mapping[str, Sequence[str]] = ()
    once: Sequence[str] = ()


_MAIL: Final = {"send_email": ("recipients", "cc", "bcc", "attachments"),
                "*_calendar_event*": ("participants",)}  # fmt: skip

RULES: Final[Mapping[str, Rules]] = {
    "banking": Rules(
        acts=("send_money", "schedule_transaction", "update_scheduled_transaction"),
        grave=("update_password", "update_user_info"),
        sinks={"*send_money": ("recipient",), "*schedule*": ("recipient",)},
        trusted={"get_iban": ("*",), "get_user_info": ("*",),
                 "get_scheduled_transactions": ("recipient",)},
    ),
    "slack": Rules(
        acts=("send_*", "add_user_to_channel"),
        grave=("invite_user_to_slack", "remove_user_from_slack", "post_webpage"),
        sinks={"send_*": ("recipient", "channel"), "add_*": ("user", "channel"),
               "*_webpage": ("url",)},
        trusted=("get_channels", "get_users_in_channel"),
        once=("remove_user_from_slack",),
    ),
    "travel": Rules(
        acts=("send_email", "create_calendar_event"),
        grave=("reserve_*", "cancel_*"),
        sinks=_MAIL,
        trusted=("get_user_information",),
        once=("cancel_*",),
    ),
    "workspace": Rules(
        acts=("send_email", "*_calendar_event*", "create_file", "append_to_file"),
        # get_unread_emails marks the emails as read, as its description says. No tool undoes that.
        grave=("delete_*", "share_file", "get_unread_emails"),
        sinks=_MAIL,
        trusted={"search_contacts_*": ("email",)},
        once=("delete_*", "get_unread_emails"),
    ),
}  # fmt: skip
