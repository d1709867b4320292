"""Tables: with rich where it is installed, plain otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from .harness import Measured
from .limits import KNOWN_MISSES, judge
from .peers import PEERS

COLUMNS = ("blinker", "pluggy")
OTHER_HANDS = ("loop", "wrapper")


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """Print a table; the first `left` columns are text, the others numbers."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print(plain(title, head, rows, left), end="\n\n")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(head):
        table.add_column(name, justify="left" if place < left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False, markup=False, width=250)  # nothing may be cut off
    console.print(title, style="bold")
    console.print(table)
    console.print()


def plain(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    lines = [head, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]

    def text(line: Sequence[str]) -> str:
        cells = [
            c.ljust(w) if place < left else c.rjust(w)
            for place, (c, w) in enumerate(zip(line, widths))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join(
        [
            title, text(head), "-" * (sum(widths) + 2 * (len(widths) - 1)),
            *(text(row) for row in rows),
        ]
    )  # fmt: skip


def number(value: float) -> str:
    """Write a ratio so that what differs can be seen."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def nanoseconds(value: float) -> str:
    """Write a time in the unit it is read in."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= 10 * size or (unit == "µs" and value >= size):
            return f"{value / size:,.1f} {unit}"
    return f"{value:,.0f} ns"


def goals(rows: Sequence[Measured], peers: Sequence[str] = ()) -> None:
    """Print the table of the goals: ratios to the first case of each row, and at the right the
    absolute times.
    """
    head = [
        "", "case / what it is measured against", "hookbus", "rounds", "limit", "verdict", "loop",
        *COLUMNS, *peers, "1.00 is", "hookbus is",
    ]  # fmt: skip
    show("Goals: ratios, of one run", head, [_goal(row, peers) for row in rows], left=2)
    for row in rows:
        for name, problem in row.failed.items():
            print(f"{row.key}, {name}: not timed: {problem}")
        if judge(row) == "known miss":
            known = KNOWN_MISSES[row.key]
            print(f"{row.key}: {known.reason}; at most {number(known.ceiling)}")
    for name in peers:
        print(f"{name} ({PEERS[name].requirements[0]}): {PEERS[name].left_out}")
    if any("wrapper" in row.ratios for row in rows):
        print("loop: the same by hand in a loop; in P1 a wrapper that takes *args and **kwargs.")


def costs(row: Measured) -> None:
    """Print what is switched on and costs, next to the bare method."""
    bare = next(iter(row.ns.values()), 0.0)
    lines = [
        [name, nanoseconds(ns), nanoseconds(ns - bare), number(row.ratios.get(name, 1.0))]
        for name, ns in row.ns.items()
    ]
    show(f"What it costs: {row.title}", ["", "a call", "more", "x bare"], lines)
    for name, problem in row.failed.items():
        print(f"{name}: not timed: {problem}")


def _goal(row: Measured, peers: Sequence[str]) -> list[str]:
    if row.missing is not None:
        return [
            row.key, row.title, "-", "", number(row.limit or 0), row.missing,
            *["-"] * (len(COLUMNS) + len(peers) + 3),
        ]  # fmt: skip
    first = next(iter(row.ns), "")
    if row.unit == "B":
        values = [f"{row.ratios['hookbus']:+.0f} B", "", f"+{row.limit:.0f} B", judge(row)]
        return [row.key, row.title, *values, *["-"] * (len(COLUMNS) + len(peers) + 3)]
    rounds = "-".join(number(end) for end in row.spread.get("hookbus", ()))
    other = next((row.ratios[name] for name in OTHER_HANDS if name in row.ratios), None)
    others = [row.ratios.get(name) if name != first else 1.0 for name in (*COLUMNS, *peers)]
    return [
        row.key, row.title, number(row.ratios["hookbus"]) if "hookbus" in row.ratios else "-",
        rounds,
        "" if row.limit is None else number(row.limit), judge(row),
        *("-" if value is None else number(value) for value in (other, *others)),
        *(nanoseconds(row.ns[name]) if name in row.ns else "-" for name in (first, "hookbus")),
    ]  # fmt: skip
