"""The demo on the screen: a progress bar, one table, and the timeline of one attack."""

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
"""How wide the output is where it goes to no terminal: into a file or a README."""

READING: Final = (
    "utility: user tasks done, as AgentDojo's checkers see it; the agent plays the ground truth, "
    "so a refused call costs utility, but words that quarantine took out of a result do not. "
    "calls, blocked, asked: in all runs of the row. added: the fastest of "
    f"{ROUNDS} rounds with hooks less the fastest without, by turns, mean over the calls of user "
    "tasks nobody attacked; refused calls left out."
)
"""How to read the columns."""


def console() -> Console:
    """Return the console everything is printed on."""
    # The file is fixed now: while a pair is played, sys.stdout points elsewhere.
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def progress(screen: Console) -> Progress:
    """Return the progress bar, which leaves no trace when it is done, and none at all where there
    is no terminal."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    return Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)


def show_experiment(screen: Console, experiment: Experiment) -> None:
    """Print what is measured, the table, and what a reader has to know about it."""
    _show(
        screen,
        Text(f"AgentDojo {VERSION}, attack {experiment.attack}", style="bold"),
        Text(f"{MEASURES}\n"),
        _table(experiment),
        Text(),
        *(Text(f"{policy.name}: {policy.says}.") for policy in experiment.policies),
        Text(READING),
        *map(Text, experiment.remarks()),
    )


def show_timelines(screen: Console, timelines: Sequence[Timeline]) -> None:
    """Print one attack call by call, under one policy after another."""
    if not timelines:
        _show(
            screen,
            Text("\nNo policy of this run stopped an attack, so there is no timeline to show."),
        )
        return
    pair = timelines[0].played.pair
    goal = pair.injection_task.GOAL if pair.injection_task else ""
    _show(
        screen,
        Text(f"\nOne attack, call by call: {pair.suite.name}, {pair.user_task.ID}", style="bold"),
        Text(f"the user asks: {' '.join(pair.user_task.PROMPT.split())}"),
        Text(f"the data says: {' '.join(goal.split())}"),
        *map(_timeline_table, timelines),
    )


def _show(screen: Console, *parts: RenderableType) -> None:
    if screen.is_terminal:
        screen.print(*parts, sep="\n")
        return
    # Tables pad their lines; in a file that would be trailing blanks.
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
    task = "done" if played.utility else "not done"
    attack = "succeeded" if played.attack_succeeded else "failed"
    table = _plain_table("", "for", "call", "what changed, or who blocked it and why")
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
