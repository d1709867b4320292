"""The table of systems, rows and tests is read as it says."""

from tests.systems import coverage


def test_every_row_is_one_of_one_system():
    keys = [(row.system, row.row) for row in coverage.rows()]
    assert len(set(keys)) == len(keys)
    assert {row.kind for row in coverage.rows()} == {"feature", "defect", "preserve"}


def test_the_excused_rows_are_these_and_no_others():
    excused = {(row.system, row.row) for row in coverage.rows() if row.excused}
    assert excused == {
        *(("agenticx", f"B{number}") for number in range(10, 21)), ("agenticx", "C7"),
        *(("openclaw", row) for row in ("O14", "O24", "O25", "O26", "O30")), ("agentscope", "A20"),
        ("agentscope", "A21"),
        ("bub", "P21"),
    }  # fmt: skip


def test_the_name_of_a_test_says_which_rows_it_covers():
    known = {"agentscope": {"A1", "A19", "d01", "d02"}, "openclaw": {"merge_before_install", "O1"}}
    covers = {
        "test_agentscope_A19_types": ("agentscope", ["A19"]),
        "test_agentscope_A1": ("agentscope", ["A1"]),
        "test_agentscope_d01_d02_ten_replies": ("agentscope", ["d01", "d02"]),
        "test_openclaw_merge_before_install_adds_up": ("openclaw", ["merge_before_install"]),
        "test_agentscope_A99_nothing": ("agentscope", []),
        "test_something_else": None,
    }
    assert {name: coverage.covered_by(name, known) for name in covers} == covers


def test_no_test_names_a_row_that_nobody_has():
    known = {
        row.system: {each.row for each in coverage.rows() if each.system == row.system}
        for row in coverage.rows()
    }
    read = [(file, name, coverage.covered_by(name, known)) for file, name in coverage.tests()]
    assert [
        f"{file}: {name}" for file, name, covers in read if covers is not None and not covers[1]
    ] == []
