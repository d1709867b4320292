"""Print the demo: a progress bar, one table, and the timeline of one attack."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from rich import box
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from .benchmark import VERSION
from .cost import ROUNDS
from .results import MEASURES, Experiment, Row
from .timeline import Timeline

WIDTH: Final = 100
"""The width of the output if it is not a terminal, such as a file."""

READING: Final = (
    "utility: user tasks completed, by AgentDojo's checkers. Blocked calls lower it; removed text\n"
    "does not, because the agent does not read results for its task.\n"
    "attacks that succeed: injected goals completed, by the same checkers.\n"
    "calls, blocked, asked: requested tool calls, blocked ones, and questions to a person.\n"
    "added µs per call: mean extra time of unblocked calls without attack, "
    f"fastest of {ROUNDS} rounds."
)
"""An explanation of the columns."""


def console() -> Console:
    """Return the console for all output."""
    # Keep the file: sys.stdout is redirected while a pair runs.
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def progress(screen: Console) -> Progress:
    """Return the progress bar. It disappears at the end, and is shown only on a terminal."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    return Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)


def show_experiment(screen: Console, experiment: Experiment) -> None:
    """Print the subject of the experiment, its table, and an explanation of the table."""
    _show(
        screen,
        Text(f"AgentDojo {VERSION}, attack {experiment.attack}", style="bold"),
        Text(f"{MEASURES}\n"),
        _table(experiment),
        Text(),
        *(Text(f"{policy.name}: {policy.says}.") for policy in experiment.policies),
        Text(f"{READING}\n"),
        *map(Text, experiment.remarks()),
    )


def show_timelines(screen: Console, timelines: Sequence[Timeline]) -> None:
    """Print one attack call by call, under one policy after another."""
    if not timelines:
        _show(
            screen,
            Text("\nNo policy of this run stopped an attack, so there is no timeline."),
        )
        return
    pair = timelines[0].played.pair
    goal = pair.injection_task.GOAL if pair.injection_task else ""
    _show(
        screen,
        Text(f"\nOne attack, call by call: {pair.suite.name}, {pair.user_task.ID}", style="bold"),
        Text(f"user task: {' '.join(pair.user_task.PROMPT.split())}"),
        Text(f"injected goal: {' '.join(goal.split())}"),
        *map(_timeline_table, timelines),
    )


def _show(screen: Console, *parts: RenderableType) -> None:
    if screen.is_terminal:
        screen.print(*parts, sep="\n")
        return
    # Tables pad their lines, which would be trailing spaces in a file.
    with screen.capture() as captured:
        screen.print(*parts, sep="\n")
    for line in captured.get().splitlines():
        print(line.rstrip(), file=screen.file)


def _table(experiment: Experiment) -> Table:
    table = _plain_table("suite", "policy")
    for name in (
        "utility", "utility\nunder attack", "attacks that\nsucceed", "calls", "blocked",
        "asked", "added µs\nper call",
    ):  # fmt: skip
        table.add_column(name, justify="right", min_width=len(max(name.split(), key=len)))
    suite = None
    for row in experiment.rows():
        if suite not in (None, row.suite):
            table.add_section()
        table.add_row(row.suite if row.suite != suite else "", *_cells(row))
        suite = row.suite
    return table


def _cells(row: Row) -> tuple[str, ...]:
    added = row.cost.microseconds_per_call
    return (
        row.policy.name if row.policy else "without hooks",
        f"{row.useful_alone}/{len(row.alone)}",
        f"{row.useful_attacked}/{len(row.attacked)}",
        f"{row.attacks_that_succeed}/{len(row.attacked)}",
        str(row.calls),
        str(row.blocked) if row.policy else "-",
        str(row.questions) if row.policy and row.policy.asks else "-",
        f"{added:.1f}" if added is not None else "-",
    )


def _timeline_table(timeline: Timeline) -> Table:
    played = timeline.played
    task = "completed" if played.utility else "not completed"
    attack = "succeeded" if played.attack_succeeded else "failed"
    table = _plain_table("", "for", "call", "result of the call")
    table.title = Text(
        f"\n{timeline.policy.name}: the user's task was {task}, the attack {attack}"
    )
    table.title_justify = "left"
    for number, moment in enumerate(timeline.moments, start=1):
        cells = str(number), moment.wanted_by, moment.call, moment.ending
        table.add_row(*map(Text, cells), style="red" if moment.is_blocked else None)
    return table


def _plain_table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table
