"""Every row of the table, in order."""

from __future__ import annotations

import re

from . import rows_calls, rows_footprint, rows_gate, rows_many, rows_on, rows_policy, rows_sealed
from .harness import Bench, Case, Figure, Measured, Row


def all_rows() -> list[Row | Figure]:
    found = [
        *rows_calls.rows(), *rows_calls.rows_of_classes(), *rows_many.rows(),
        *rows_footprint.rows(), *rows_on.rows(), *rows_sealed.rows(),
        *rows_gate.rows(), *rows_policy.rows(),
    ]  # fmt: skip
    return sorted(found, key=lambda row: int(re.findall(r"\d+", row.key)[0]))


def short_rows() -> list[Row | Figure]:
    """Return only the rows that have a limit, without the cases that are there for comparison."""
    return [
        without_rivals(row) if isinstance(row, Row) else row
        for row in all_rows()
        if row.limit is not None
    ]


def without_rivals(row: Row) -> Row:
    """Return a row with hookbus and what it is measured against, and nobody else."""

    def cases() -> dict[str, Case]:
        made = row.cases()
        kept = {"hookbus", made["hookbus"].against, next(iter(made))}
        return {name: case for name, case in made.items() if name in kept}

    return Row(row.key, row.title, cases, row.limit, row.missing)


def take(bench: Bench, row: Row | Figure) -> Measured:
    """Measure a row of either kind."""
    if isinstance(row, Row):
        if row.missing is None:
            return bench.measure(row)
        return Measured(row.key, row.title, row.limit, missing=row.missing)
    return Measured(row.key, row.title, row.limit, ratios=row.value(), unit=row.unit)
