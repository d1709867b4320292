"""Measure the time that a policy adds to one tool call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import attrs
from agentdojo.functions_runtime import FunctionsRuntime

from hookbus import Bus

from .benchmark import Pair
from .policies import Policy
from .run import hooked_runtime, person_of, register_policy, task_of

ROUNDS: Final = 7
"""The number of times that each call is timed with and without hooks. The fastest time is used,
because noise only adds time.
"""

Timings = list[float | None]


@attrs.frozen
class Cost:
    """The total seconds that hooks added to this number of calls."""

    seconds: float = 0.0
    calls: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.calls + other.calls)

    @property
    def microseconds_per_call(self) -> float | None:
        """The mean time that hooks added, or None if no call could be compared."""
        return self.seconds / self.calls * 1e6 if self.calls else None


def added_cost(pair: Pair, policy: Policy) -> Cost:
    """Time the calls of a user task's ground truth, alternately without and with hooks, and return
    the difference. A refused call is left out, because it is faster than the tool that it prevents.
    """
    bare = FunctionsRuntime.run_function
    bus = Bus()
    without: list[Timings] = []
    with_hooks: list[Timings] = []
    with hooked_runtime(bus):
        for _ in range(ROUNDS):
            without.append(_replay(pair, bare))
            with register_policy(bus, policy, task_of(pair), person_of(pair)):
                with_hooks.append(_replay(pair, FunctionsRuntime.run_function))
    differences = [
        hooked - plain
        for hooked, plain in zip(_fastest(with_hooks), _fastest(without), strict=True)
        if hooked is not None and plain is not None
    ]
    return Cost(sum(differences), len(differences))


def _replay(pair: Pair, run_function: Callable[..., tuple[Any, str | None]]) -> Timings:
    """Run the ground truth on a fresh copy of the data. Return the seconds of each call, or None
    for a call that failed.
    """
    environment = pair.environment.model_copy(deep=True)
    runtime = FunctionsRuntime(pair.suite.tools)
    seconds: Timings = []
    for call in pair.user_task.ground_truth(environment):
        started = time.perf_counter()
        _, error = run_function(runtime, environment, call.function, call.args)
        elapsed = time.perf_counter() - started
        seconds.append(None if error else elapsed)
    return seconds


def _fastest(rounds: Sequence[Timings]) -> Iterable[float | None]:
    for timings in zip(*rounds, strict=True):
        known = [seconds for seconds in timings if seconds is not None]
        yield min(known) if len(known) == len(timings) else None
