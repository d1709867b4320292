"""The failure table, cell by cell: whoever fails, however, wherever, the call ends as promised (G8,
G14-G19, G21).
"""

from __future__ import annotations

from typing import Any

import pytest

from hookbus import HookError, events

from ._cells import ABSENT, CELLS, COUNTS, PHASES, ROWS, TRIED, Cell, absence, combinations
from ._checks import check_the_last_call
from ._failures import CANARY, deadline_of, failing_receiver
from ._fates import IS_LOST, IS_REFUSED, fate_of
from ._stage import Stage

CELLS_PER_ROW = {
    "raises": {"modify": 225, "guard": 60, "around": 52, "error": 90, "observe": 165},
    "times_out": {"modify": 105, "guard": 28, "around": 0, "error": 42, "observe": 77},
    "cancelled_a": {"modify": 75, "guard": 20, "around": 19, "error": 30, "observe": 55},
    "cancelled_b": {"modify": 90, "guard": 24, "around": 13, "error": 36, "observe": 66},
    "wrong_return": {"modify": 225, "guard": 132, "around": 30, "error": 198, "observe": 396},
    "async_on_sync": {"modify": 60, "guard": 16, "around": 6, "error": 24, "observe": 44},
    "base_exception": {"modify": 180, "guard": 48, "around": 39, "error": 72, "observe": 132},
    "dies_by_weakref": {"modify": 45, "guard": 12, "around": 5, "error": 18, "observe": 33},
    "when_raises": {"modify": 135, "guard": 36, "around": 15, "error": 54, "observe": 99},
}


def test_every_combination_is_a_cell_or_has_a_reason_and_the_cells_are_as_many_as_ever():
    counts = {row: {role: COUNTS[role, row] for role in PHASES} for row in ROWS}
    for row, per_role in counts.items():
        print(f"{row:16} {per_role}")
    print(f"{len(CELLS)} cells")
    assert counts == CELLS_PER_ROW


def test_every_reason_for_an_absent_cell_is_in_use():
    assert {absence(cell) for cell in combinations()} == {None, *ABSENT}


def test_each_variant_of_each_role_and_phase_is_tried():
    def of(cells):
        return {(cell.role, cell.row, cell.variant, cell.phase) for cell in cells}

    assert of(TRIED) == of(CELLS) and len(CELLS) / 4 < len(TRIED) <= len(CELLS)


@pytest.mark.parametrize(("role", "row"), COUNTS, ids=[f"{role}-{row}" for role, row in COUNTS])
def test_the_call_ends_as_the_failure_table_says(role, row):
    wrong = []
    for cell in TRIED:
        if (cell.role, cell.row) == (role, row):
            try:
                _check(cell)
            except Exception as error:
                wrong.append(f"{cell}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def _check(cell: Cell) -> None:
    stage = Stage(cell)
    _set_the_scene(stage)
    for _ in range(2):  # a failure affects its own call only; the next one tries afresh (G19)
        stage.call()
        check_the_last_call(stage)


def _set_the_scene(stage: Stage) -> None:
    if stage.cell.is_connected_first:
        _connect_the_failing(stage)
        stage.raise_the_curtain()
        return
    stage.raise_the_curtain()
    if fate_of(stage.cell) == IS_REFUSED:
        with pytest.raises(HookError, match="failing"):
            _connect_the_failing(stage)
        return
    _connect_the_failing(stage)
    if fate_of(stage.cell) == IS_LOST:
        assert [lost.receiver for lost in stage.told(events.Lost)] == ["failing"]


def _connect_the_failing(stage: Stage) -> None:
    options: dict[str, Any] = {"timeout": deadline_of(stage.cell)}
    if stage.cell.row == "dies_by_weakref":
        options["weak"] = True
    elif stage.cell.row == "when_raises":
        options["when"] = (
            _failing_predicate(stage) if stage.cell.variant == "predicate" else {"no_such": "*"}
        )
    stage.connect_the_failing(failing_receiver(stage), **options)


def _failing_predicate(stage: Stage) -> Any:
    def predicate(msg):
        with stage.catching_the_failure():
            raise ValueError(CANARY)

    return predicate
