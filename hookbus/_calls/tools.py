"""The functions that the templates of `story.txt` call, by their names in the templates."""

from __future__ import annotations

import time
from typing import Any, Final

from .._contents import read_only
from .._ground.baggage import current_baggage
from .._ground.errors import is_a
from .._waiting import deadline, loop_thread
from ..exceptions import CallPaused, HookBlocked
from . import attempts, carried, meaning, odd_answers, outcome, ports, seals, telling
from .context import ENCLOSING, Call, ReadOnly, make_context
from .tasks import beside

_HELPERS: Final = {
    meaning: "Block DROPPED PLAIN READY Replace check_untampered claimed decided holds "
    "is_awaitable judged meant misfit patched rescued resolved revised ruled unawaited",
    outcome: "blocking deferred escaped failed is_own_block over parted stand",
    read_only: "plain_copy read_only",
    seals: "CONTAINERS break_seal is_broken sealed_contents sealed_objects",
    ports: "start weighed",
    telling: "begun begun_stream finished tell_turn",
    carried: "enter_context leave_context",
    odd_answers: "with_keys",
    attempts: "attempted check_open closed closed_async end_pause judged_around opened pause "
    "recorded tried",
    deadline: "timed timed_async within",
    loop_thread: "elsewhere",
}

TOOLS: Final[dict[str, Any]] = {
    **{name: getattr(module, name) for module, names in _HELPERS.items() for name in names.split()},
    "Call": Call, "CallPaused": CallPaused, "ENCLOSING": ENCLOSING, "HookBlocked": HookBlocked,
    "ReadOnly": ReadOnly, "beside": beside, "clock": time.perf_counter, "is_a": is_a,
    "context": make_context, "baggage": current_baggage,
}  # fmt: skip
"""The functions that the templates call, by their names there."""
