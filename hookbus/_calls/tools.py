"""The functions that the templates of `story.txt` call, by their names in the templates. The
functions that wait for a receiver are in `_waiting`, and those that give advice in `_advice`. The
writer adds them where they are needed.
"""

from __future__ import annotations

import time
from typing import Any, Final

from .._callables import parameters
from .._contents import read_only
from .._ground.baggage import current_baggage
from .._ground.errors import is_a
from ..exceptions import CallPaused, HookBlocked
from . import attempts, carried, emitting, meaning, outcome, ports, seals
from .context import ENCLOSING, Call, ReadOnly, make_context
from .tasks import gather_observers

_HELPERS: Final = {
    meaning: (
        "Block DROPPED PLAIN READY Replace apply_guard_answer apply_patch apply_post_answer "
        "apply_pre_answer apply_rescue await_if_needed check_observer_answer check_untampered "
        "claimed is_awaitable raise_problem reject_late_awaitable value_of_answer"
    ),
    outcome: (
        "blocking classify_exit ends_with_value is_own_block on_around_error on_error "
        "on_error_deferred raise_block"
    ),
    parameters: "holds",
    read_only: "plain_copy read_only",
    seals: "CONTAINERS break_seal is_broken sealed_contents sealed_objects",
    ports: "apply_pre_guard_answer collect_ask start",
    emitting: "emit_finished emit_invoked emit_started emit_stream_started",
    carried: "enter_context leave_context",
    attempts: (
        "apply_around_answer check_open closed closed_async emit_attempts end_pause opened pause "
        "record_attempt recorded"
    ),
}

TOOLS: Final[dict[str, Any]] = {
    **{name: getattr(module, name) for module, names in _HELPERS.items() for name in names.split()},
    "Call": Call, "CallPaused": CallPaused, "ENCLOSING": ENCLOSING, "HookBlocked": HookBlocked,
    "ReadOnly": ReadOnly, "gather_observers": gather_observers, "clock": time.perf_counter,
    "is_a": is_a, "context": make_context, "baggage": current_baggage,
}  # fmt: skip
"""The functions that the templates call, by their names there."""
