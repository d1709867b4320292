"""Measure cases against each other: alternately, without garbage collection, each checked first.

Nothing here imports hookbus. It also measures the systems of `peers`, in separate environments.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType
from typing import Any


class CheckFailed(Exception):
    """A case does not do the work it is there to do; it must not be timed."""


@dataclass(frozen=True)
class Expect:
    """What one call must do: how many receivers run, and what it returns."""

    runs: int
    result: Any


@dataclass(frozen=True)
class Case:
    """One way to do the work of a row.

    Attributes:
        once: one call, with its result; a coroutine is awaited.
        many: so many calls; a coroutine function where they are awaited.
        expect: what `once` must do.
        counted: the functions whose runs are counted, by their code, on this thread.
        tally: how often receivers that run on other threads have run so far, by their own count.
        unit: how many calls of the work one call of `once` is.
        elapsed: so many calls, with the nanoseconds they took, where `many` is not what is timed.
        against: the case this one is measured against; None is the first of its row.
    """

    once: Callable[[], Any]
    many: Callable[[int], Any]
    expect: Expect
    counted: tuple[Callable[..., Any], ...] = ()
    tally: Callable[[], int] = int
    unit: int = 1
    elapsed: Callable[[int], float] | None = None
    against: str | None = None


@dataclass(frozen=True)
class Row:
    """What is compared. `cases` makes them anew; what the others are measured against comes first.

    `missing` says why it cannot be measured.
    """

    key: str
    title: str
    cases: Callable[[], dict[str, Case]]
    limit: float | None = None
    missing: str | None = None


@dataclass(frozen=True)
class Figure:
    """A row that is no ratio: `value` gives one number per system, `unit` says of what."""

    key: str
    title: str
    value: Callable[[], dict[str, float]]
    unit: str
    limit: float | None = None


@dataclass
class Measured:
    """What came of a row: per case nanoseconds for one call, and the ratio with its lowest and
    highest round.
    """

    key: str
    title: str
    limit: float | None
    ratios: dict[str, float] = field(default_factory=dict)
    spread: dict[str, tuple[float, float]] = field(default_factory=dict)
    ns: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    unit: str = "x"
    missing: str | None = None


@dataclass(frozen=True)
class Effort:
    """How much time is spent: seconds per timing, timings per round of which the fastest counts,
    rounds.

    A timing is short, so that some of them are undisturbed on a machine that does other things too.
    """

    seconds: float = 0.002
    timings: int = 12
    rounds: int = 9


class Bench:
    """Measures rows, on one event loop. Use it as a `with` block."""

    def __init__(
        self, effort: Effort = Effort(), clock: Callable[[], float] = time.perf_counter_ns
    ) -> None:
        self.effort, self.clock = effort, clock
        self._runner = asyncio.Runner()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def measure(self, row: Row) -> Measured:
        """Measure a row; a case that fails its check is left out, and says why."""
        measured = Measured(row.key, row.title, row.limit)
        was_on = gc.isenabled()
        cases = row.cases()
        loops: dict[str, int] = {}
        gc.collect()
        gc.disable()
        try:
            for name, case in cases.items():
                try:
                    self.check(case)
                    calls = self.calibrate(case)
                    self.check(case)  # once more: what runs when it is hot must do the same
                    loops[name] = calls
                except CheckFailed as problem:
                    measured.failed[name] = str(problem)
            ready = {name: cases[name] for name in loops}
            rounds = self._rounds(ready, loops)
        finally:
            if was_on:
                gc.enable()
        reference = next(iter(cases))
        measured.ns = {
            name: statistics.median(times[name] for times in rounds) / case.unit
            for name, case in ready.items()
        }
        for name, case in ready.items():
            against = case.against or reference
            if against in ready and against != name:
                scale = cases[against].unit / case.unit
                paired = [times[name] / times[against] * scale for times in rounds]
                measured.ratios[name] = statistics.median(paired)
                measured.spread[name] = min(paired), max(paired)
        return measured

    def check(self, case: Case) -> None:
        """Raise CheckFailed unless one call runs the receivers it should and returns what it
        should.
        """
        before = case.tally()
        with Counted(case.counted) as counted:
            result = self._run(case.once)
        runs = counted.runs + case.tally() - before
        if runs != case.expect.runs:
            raise CheckFailed(f"{runs} receivers ran, not {case.expect.runs}")
        if result != case.expect.result:
            raise CheckFailed(f"the result was {result!r:.80}, not {case.expect.result!r:.80}")

    def calibrate(self, case: Case) -> int:
        """Return how many calls take the time of one timing.

        The calls made to find out warm it up.
        """
        goal, loops = self.effort.seconds * 1e9, 1
        while True:
            # Twice: what is loaded, walked or compiled at first must not make the timings short.
            took = min(self._time(case, loops), self._time(case, loops)) * loops
            if took >= goal / 2:
                return max(1, round(loops * goal / took))
            loops *= 2 if took <= goal / 64 else 4

    def _rounds(
        self, cases: Mapping[str, Case], loops: Mapping[str, int]
    ) -> list[dict[str, float]]:
        names, turn = list(cases), 0
        turn_takes = sum(self._time(cases[name], loops[name]) * loops[name] for name in names)
        # What takes long by itself is disturbed anyway, and need not be waited for so often.
        timings = min(self.effort.timings, max(3, round(1e8 / max(turn_takes, 1))))
        rounds = []
        for _ in range(self.effort.rounds):
            fastest = dict.fromkeys(names, float("inf"))
            for _ in range(timings):
                for name in rotated(names, turn):
                    fastest[name] = min(fastest[name], self._time(cases[name], loops[name]))
                turn += 1
            rounds.append(fastest)
            gc.collect()
        return rounds

    def _time(self, case: Case, loops: int) -> float:
        """Return the nanoseconds of one call of `once`, mean of so many."""
        if case.elapsed is not None:
            return case.elapsed(loops) / loops
        if inspect.iscoroutinefunction(case.many):
            return float(self._runner.run(self._time_awaited(case.many, loops))) / loops
        start = self.clock()
        case.many(loops)
        return (self.clock() - start) / loops

    async def _time_awaited(self, many: Callable[[int], Any], loops: int) -> float:
        start = self.clock()
        await many(loops)
        return self.clock() - start

    def _run(self, once: Callable[[], Any]) -> Any:
        async def awaited() -> Any:
            return await once()

        return self._runner.run(awaited()) if inspect.iscoroutinefunction(once) else once()


class Counted:
    """Counts, while the block runs, how often functions are called, without changing them: each
    frame of theirs is one run.
    """

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        self._codes: set[CodeType] = {code_of(function) for function in functions}
        self._frames: set[FrameType] = set()

    @property
    def runs(self) -> int:
        return len(self._frames)

    def _saw(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code in self._codes:
            self._frames.add(frame)  # a coroutine that goes on is the same frame again

    def __enter__(self) -> Counted:
        sys.setprofile(self._saw)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


def code_of(function: Any) -> CodeType:
    """Return the code of a function or bound method."""
    code: CodeType = getattr(function, "__func__", function).__code__
    return code


def rotated(names: Sequence[str], turn: int) -> list[str]:
    """Return the names beginning with another one each turn."""
    start = turn % max(1, len(names))
    return [*names[start:], *names[:start]]


def fresh(function: Any) -> Any:
    """Return a copy with code of its own: what the interpreter learns at a line of code is then not
    shared with other cases.
    """
    copy = FunctionType(
        function.__code__.replace(), function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    copy.__dict__.update(function.__dict__)
    return copy
