"""The benchmark measures what it says; nothing here depends on how fast anything is."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from tests.bench import chart, costs, costs_guards, table
from tests.bench.__main__ import main
from tests.bench.calls import method
from tests.bench.harness import Bench, Case, Effort, Expect, Figure, Measured, Row, rotated
from tests.bench.limits import KnownMiss, judge
from tests.bench.rows import all_rows, short_rows
from tests.bench.short import decide

EFFORT = Effort(seconds=1e-6, timings=2, rounds=7)


class Clock:
    """A clock that only work moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def case(self, ns, expect=Expect(0, None), **options):
        def many(n):
            self.now += ns * n

        return Case(lambda: None, many, expect, **options)


def measure(clock, **cases):
    with Bench(EFFORT, clock) as bench:
        return bench.measure(
            Row(
                "P0", "a row",
                lambda: {name.replace("_", " "): case for name, case in cases.items()}, 2.0,
            )
        )  # fmt: skip


def ratio(value, limit=2.0, **options):
    return Measured("P0", "a row", limit, ratios={"hookbus": value}, **options)


# -- the harness -----------------------------------------------------------------------------------


def test_a_ratio_is_to_the_first_case_of_the_row():
    clock = Clock()
    measured = measure(clock, by_hand=clock.case(40), hookbus=clock.case(100), loop=clock.case(10))
    assert measured.ratios == pytest.approx({"hookbus": 2.5, "loop": 0.25})
    assert measured.ns == pytest.approx({"by hand": 40, "hookbus": 100, "loop": 10})
    assert measured.spread["hookbus"] == pytest.approx((2.5, 2.5))


def test_a_case_may_be_measured_against_another_one():
    clock = Clock()
    measured = measure(
        clock, by_hand=clock.case(40), small=clock.case(100), large=clock.case(300, against="small")
    )
    assert measured.ratios["large"] == pytest.approx(3.0)


def test_what_does_the_work_many_times_over_counts_that_often():
    clock = Clock()
    measured = measure(clock, by_hand=clock.case(4_000, unit=100), hookbus=clock.case(50))
    assert measured.ns == pytest.approx({"by hand": 40, "hookbus": 50})
    assert measured.ratios["hookbus"] == pytest.approx(1.25)


def test_a_disturbance_of_some_rounds_does_not_move_the_ratio():
    clock = Clock()
    timings = []

    def many(n):
        timings.append(n)
        clock.now += 100 * n * (5 if len(timings) % 7 < 2 else 1)

    measured = measure(
        clock, by_hand=clock.case(40), hookbus=Case(lambda: None, many, Expect(0, None))
    )
    assert measured.ratios["hookbus"] == pytest.approx(2.5)


def test_a_case_that_brings_its_own_time_is_not_timed():
    clock = Clock()
    own = clock.case(1, elapsed=lambda n: 120.0 * n)
    assert measure(clock, by_hand=clock.case(40), hookbus=own).ratios["hookbus"] == pytest.approx(
        3.0
    )


def test_loops_are_as_many_as_the_time_allows():
    clock = Clock()
    with Bench(EFFORT, clock) as bench:
        assert bench.calibrate(clock.case(10)) == 100
        assert bench.calibrate(clock.case(5_000)) == 1


def test_every_case_has_its_turn_to_be_first():
    assert [rotated("abc", turn)[0] for turn in range(4)] == ["a", "b", "c", "a"]
    assert all(sorted(rotated("abc", turn)) == ["a", "b", "c"] for turn in range(4))


@pytest.mark.parametrize(
    ("expect", "why"),
    [
        (Expect(0, "something else"), "the result was None"),
        (Expect(1, None), "0 receivers ran, not 1"),
    ],
)
def test_a_case_that_fails_its_check_is_not_timed(expect, why):
    clock, ran = Clock(), []
    wrong = Case(lambda: None, ran.append, expect)
    measured = measure(clock, by_hand=clock.case(40), hookbus=wrong, loop=clock.case(80))
    assert why in measured.failed["hookbus"]
    assert not ran
    assert "hookbus" not in measured.ratios and "hookbus" not in measured.ns
    assert measured.ratios["loop"] == pytest.approx(2.0)


def test_a_case_that_goes_wrong_when_it_is_hot_is_not_rated():
    clock, calls = Clock(), []

    def once():
        calls.append(1)
        return None if len(calls) == 1 else "stale"

    measured = measure(
        clock, by_hand=clock.case(40), hookbus=Case(once, clock.case(10).many, Expect(0, None))
    )
    assert "stale" in measured.failed["hookbus"]
    assert "hookbus" not in measured.ratios


def test_receivers_are_counted_without_being_changed():
    async def areceiver():
        return 1

    def receiver():
        return 1

    class Agent:
        async def reply(self, msg, temperature):
            return receiver() + receiver() + await areceiver()

    case = method(Agent(), Expect(3, 3), receiver, areceiver)
    with Bench(EFFORT) as bench:
        bench.check(case)


# -- limits ----------------------------------------------------------------------------------------


def test_only_a_ratio_over_its_limit_is_a_miss():
    assert judge(ratio(2.0)) == "pass"
    assert judge(ratio(2.01)) == "miss"
    assert judge(ratio(2.2), slack=1.15) == "pass"
    assert judge(ratio(9.0, limit=None)) == ""
    assert judge(ratio(9.0, missing="not there yet")) == "not there yet"
    assert (
        judge(Measured("P0", "a row", 2.0, failed={"hookbus": "0 receivers ran, not 1"})) == "wrong"
    )
    assert judge(Measured("P0", "a row", 2.0, failed={"by hand": "the result was None"})) == "wrong"
    assert judge(ratio(1.0, limit=0.0, unit="B")) == "miss"


def test_a_known_miss_has_a_ceiling_of_its_own():
    known = {"P0": KnownMiss("a ContextVar is needed", 3.0)}
    assert judge(ratio(2.9), known=known) == "known miss"
    assert judge(ratio(3.1), known=known) == "miss"


def short(*measurements, known={}):
    said, left = [], list(measurements)
    code = decide(
        [Row("P0", "a row", dict, 2.0)], say=said.append, measure=lambda row: left.pop(0),
        known=known,
    )  # fmt: skip
    return code, "\n".join(said), len(left)


def test_the_short_form_passes_what_is_within_the_slack():
    assert short(ratio(2.29), ratio(9.0)) == (
        0, "P0                               2.29  limit 2.00  pass\n1 passed, 0 failed", 1,
    )  # fmt: skip


def test_the_short_form_fails_on_a_ratio_that_misses_twice():
    code, said, left = short(ratio(2.31), ratio(2.35))
    assert (code, left) == (1, 0)
    assert "2.31 was over its limit, measured again" in said and "2.35  limit 2.00  miss" in said


def test_the_short_form_forgives_a_miss_that_does_not_come_back():
    code, said, _ = short(ratio(2.31), ratio(2.0))
    assert code == 0 and "measured again" in said


def test_the_short_form_fails_on_work_that_is_not_done():
    code, said, left = short(
        Measured("P0", "a row", 2.0, failed={"hookbus": "0 receivers ran, not 1"})
    )
    assert (code, left) == (1, 0) and "wrong: hookbus: 0 receivers ran, not 1" in said


def test_the_short_form_counts_what_is_not_there_as_neither():
    code, said, _ = short(Measured("P0", "a row", 2.0, missing="not there yet"))
    assert code == 0 and said.endswith("0 passed, 0 failed, 1 skipped")


def test_the_short_form_says_what_is_knowingly_missed():
    code, said, _ = short(ratio(2.9), known={"P0": KnownMiss("a ContextVar is needed", 3.0)})
    assert code == 0 and "known miss: a ContextVar is needed, at most 3.00" in said


# -- the cells -------------------------------------------------------------------------------------

CELLS = [
    pytest.param(row, id=row.key)
    for row in [*all_rows(), *costs.rows(), *costs_guards.rows()]
    if isinstance(row, Row) and row.missing is None and "10,000" not in row.key
]


@pytest.mark.parametrize("row", CELLS)
def test_every_cell_does_its_work(row):
    with Bench(EFFORT) as bench:
        for case in row.cases().values():
            bench.check(case)


def test_the_short_form_measures_every_goal_that_has_a_limit():
    rows = short_rows()
    found = {row.key.split()[0].rstrip(",") for row in rows}
    on_quiet_machines = {"P29", "P30"}  # times of the clock
    assert found - on_quiet_machines == {*(f"P{number}" for number in range(1, 29)), "P31"}
    assert all(row.limit is not None for row in rows)
    cases = next(row for row in rows if row.key == "P2 sync").cases()
    assert set(cases) == {"by hand", "hookbus"}


def test_instances_without_receivers_of_their_own_cost_no_bytes():
    (figure, *_) = [row for row in all_rows() if isinstance(row, Figure)]
    assert (
        judge(Measured(figure.key, figure.title, figure.limit, ratios=figure.value(), unit="B"))
        == "pass"
    )


# -- what is shown ---------------------------------------------------------------------------------


def test_a_plain_table_lines_up():
    shown = table.plain("Title", ["", "ratio"], [["P1", "1.20"], ["P10 sync", "12.0"]])
    assert shown.splitlines() == [
        "Title", "          ratio", "-" * 15, "P1         1.20", "P10 sync   12.0",
    ]  # fmt: skip


def test_the_chart_is_a_picture_without_scripts():
    rows = [
        Measured(
            "P1 sync",
            "idle <bare>",
            1.3,
            ratios={"hookbus": 1.2, "blinker": 7.0},
            ns={"by hand": 60, "hookbus": 72},
        ),
        Measured(
            "P6",
            "observers",
            0.65,
            ratios={"hookbus": 2.0, "agentscope": 8_850.0},
            ns={"by hand": 60, "hookbus": 72},
        ),
    ]
    picture = chart.svg(rows)
    root = ElementTree.fromstring(picture)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {
        "P1 sync: idle <bare>", "P6: observers", "blinker", "1.20", "agentscope", "8,850",
    } <= set(texts)  # fmt: skip
    assert "script" not in picture and "prefers-color-scheme: dark" in picture
    assert picture.count('class="miss"') == 1 and picture.count('class="limit"') == 2


def test_one_row_can_be_asked_for_and_written_down(tmp_path, capsys):
    arguments = ["--only", "P12,P18", "--no-peers", "--rounds", "1", "--seconds", "1e-6"]
    assert (
        main(
            [
                *arguments, "--json", str(tmp_path / "all.json"), "--chart",
                str(tmp_path / "chart.svg"),
            ]
        )
        == 0
    )  # fmt: skip
    record = json.loads((tmp_path / "all.json").read_text())
    assert [row["key"] for row in record["goals"]] == ["P12 sync", "P12 async", "P18 sync"]
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")
    assert "P12 async" in capsys.readouterr().out


def test_a_profile_of_what_is_not_there_says_what_is(capsys):
    assert main(["--profile", "P99"]) == 2
    assert main(["--profile", "P2 sync: nobody"]) == 2
    said = capsys.readouterr().out
    assert (
        "there is no row 'P99'" in said
        and "P2 sync has no case 'nobody'; it has: by hand, hookbus" in said
    )


def test_an_unknown_peer_is_not_installed(capsys):
    assert main(["install", "nobody"]) == 2
    assert "there are: agentscope, agno" in capsys.readouterr().out


def test_the_benchmark_needs_no_driver_of_postgres_before_a_fleet_is_measured():
    program = "import sys, tests.bench.__main__; print('psycopg' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("False\n", "")
