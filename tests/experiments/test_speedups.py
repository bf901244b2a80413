"""Speed-ups over a baseline, their errors, and the tables of them."""

import math

import numpy as np
import pytest

from opperf.experiments.speedups import (
    NothingLeftError,
    collect,
    compare,
    geometric_mean,
    interval,
    latest,
    oldest,
    percentiles,
    ratio,
)
from opperf.experiments.tables import TABLES, SpeedupComparison, csv_text, grid_text
from opperf.formats.model_records import Estimate, estimate
from tests.experiments.lines import DAY, MONDAY, record

BOTH = ("inductor", "openxla+dynamo")


def compared(records, backends=BOTH, baseline=oldest, metric="exec"):
    times = collect(records, metric)
    found = compare(times, backends, baseline(times, backends[0]))
    return SpeedupComparison(found, backends, baseline.__name__)


def table(name, records, **options):
    return csv_text(TABLES[name](compared(records, **options))).splitlines()


def test_a_time_omits_three_repeats_and_needs_more():
    made = record(times=(9.0, 7.0, 5.0, 2.0, 4.0)).time("exec")
    assert (made.value, made.deviation) == (3.0, pytest.approx(math.sqrt(2)))
    assert record(times=(9.0, 7.0, 5.0, 2.0)).time("exec").deviation == 0
    assert record(times=(9.0, 7.0, 5.0)).time("exec") is None
    assert record(metrics={"total_time": None}).time("exec") is None
    assert record(metrics={"total_time": [1, 1, 1, 1], "error": "e"}).time("exec") is None
    assert record(times=(9.0, 1.0, 3.0)).time("compile") == Estimate(7.0)
    assert record(times=(1.0, 2.0)).time("compile") is None


def test_errors_follow_the_formulas():
    base, own = Estimate(6.0, 0.3), Estimate(3.0, 0.3)
    made = ratio(base, own)
    assert made.value == 2.0
    assert made.deviation == pytest.approx(2 * math.sqrt(0.05**2 + 0.1**2))
    mean = geometric_mean([Estimate(2.0, 0.2), Estimate(8.0, 1.6)])
    assert mean.value == pytest.approx(4.0)
    assert mean.deviation == pytest.approx(4 / 2 * math.sqrt(0.1**2 + 0.2**2))


def test_percentiles_are_numpys():
    values = [1.0, 5.0, 2.0, 8.0, 3.0]
    for percent, found in percentiles(values).items():
        assert found == pytest.approx(np.percentile(values, percent))


def test_intervals_hold_the_ratio_as_often_as_they_say():
    generator = np.random.default_rng(3)
    held, rounds = 0, 400
    for _ in range(rounds):
        base = estimate(list(generator.normal(6.0, 0.3, 5)))
        own = estimate(list(generator.normal(3.0, 0.3, 8)))
        low, high = interval(ratio(base, own))
        held += low < 2.0 < high
    assert 0.92 < held / rounds < 0.98


def test_what_has_one_repeat_has_no_interval_and_the_baseline_is_one():
    one, two = estimate([2.0]), estimate([2.0, 3.0])
    assert interval(ratio(two, one)) is None
    assert interval(ratio(one, one)) == (1.0, 1.0)
    assert interval(geometric_mean([ratio(one, one), ratio(one, two)])) is None


def test_the_oldest_baseline_is_of_each_model_and_batch_size():
    records = [
        record("a", times=(9, 9, 9, 8), at=1),
        record("a", times=(9, 9, 9, 4), at=2),
        record("a", times=(9, 9, 9, 6), at=2, batch_size=32),
        record("a", times=(9, 9, 9, 3), at=3, batch_size=32),
        record("b", times=(9, 9, 9, 5), at=3),
    ]
    found = compared(records, ("inductor",)).found
    # At 2 the geometric mean of 8 / 4 and 6 / 6.
    assert found[2]["inductor"].models["a"].value == pytest.approx(math.sqrt(2))
    assert found[3]["inductor"].models["a"].value == pytest.approx(2)
    assert found[3]["inductor"].models["b"].value == 1


def test_the_latest_baseline_is_of_the_newest_time_alone():
    records = [
        record("a", times=(9, 9, 9, 8), at=1),
        record("b", times=(9, 9, 9, 8), at=1),
        record("a", times=(9, 9, 9, 4), at=2),
    ]
    found = compared(records, ("inductor",), latest).found
    assert {at: list(own["inductor"].models) for at, own in found.items()} == {1: ["a"], 2: ["a"]}
    assert found[1]["inductor"].geomean.value == pytest.approx(0.5)
    with pytest.raises(NothingLeftError, match="2, has no results of eager"):
        compared(records, ("eager",), latest)


def test_the_last_of_two_lines_counts():
    records = [record(times=(9, 9, 9, 8)), record(times=(9, 9, 9, 4))]
    assert collect(records, "exec").by_time[MONDAY]["inductor"]["bert"][16].value == 4


SOME = [
    record("a", "inductor", (9, 9, 9, 4), at=MONDAY),
    record("a", "openxla+dynamo", (9, 9, 9, 2), at=MONDAY + DAY),
    record("B", "inductor", (9, 9, 9, 2), at=MONDAY + 2 * DAY),
    record("a", "inductor", (9, 9, 9, 2), at=MONDAY + 2 * DAY),
]


def test_reports_differ_in_the_times_that_they_list():
    times = [row.partition(",")[0] for row in table("speedup", SOME)[1:]]
    assert times == ["2023-11-20 00:00:00", "2023-11-21 00:00:00", "2023-11-22 00:00:00"]
    assert table("speedup", SOME)[2] == "2023-11-21 00:00:00,,,2.0,0.0"
    assert [row[:10] for row in table("histogram", SOME)[1:]] == ["2023-11-20", "2023-11-22"]
    # Each backend's own last.
    assert table("latest", SOME)[1:] == ["0,1.0,0.0,B,2.0,0.0,a", "1,2.0,0.0,a,,,"]


def test_the_grouped_table_is_of_the_newest_time_and_has_empty_cells():
    assert table("latest_grouped", SOME)[1:] == [
        "a,2.0,0.0,,",
        "B,1.0,0.0,,",
        "GEOMEAN,1.41421356,0.0,,",
    ]


def test_headings_name_baseline_and_backend():
    assert table("latest_grouped", SOME, baseline=latest)[0] == (
        "# ModelName,Speedup(Inductor/Latest Inductor),StdDev,"
        "Speedup(XLA+Dynamo/Latest Inductor),StdDev"
    )
    assert table("histogram", SOME)[0] == (
        "# Datetime(UTC),Inductor p95,Inductor p50,Inductor p5,"
        "XLA+Dynamo p95,XLA+Dynamo p50,XLA+Dynamo p5"
    )


def test_a_grid_has_headings_of_several_lines_and_two_decimals():
    records = [record("1e3", times=(9, 9, 9, 3)), record("1e3", times=(9, 9, 9, 2), at=MONDAY + 9)]
    grid = grid_text(TABLES["latest"](compared(records, ("inductor",))))
    assert grid.splitlines() == [
        "╒════════════╤════════════╤══════════╤═════════════╕",
        "│   Workload │    Speedup │   StdDev │ ModelName   │",
        "│            │   Inductor │          │ Inductor    │",
        "│            │       over │          │             │",
        "│            │     Oldest │          │             │",
        "│            │   Inductor │          │             │",
        "╞════════════╪════════════╪══════════╪═════════════╡",
        "│          0 │       1.50 │     0.00 │ 1e3         │",
        "╘════════════╧════════════╧══════════╧═════════════╛",
    ]


def test_runtimes_that_are_no_backend_are_counted_and_not_eager():
    others = [record(), record(torch_xla2="torch_export")]
    others[0] = record("x", "openxla+lazytensor", xla="XRT")
    times = collect([*others, record(times=(1, 2))], "exec")
    assert times.without_backend == tuple(others) and times.without_time == 1
    assert not times.by_time


def test_a_wrong_result_is_no_speedup():
    wrong = record("a", times=(9, 9, 9, 1), verification_code="FAIL")
    eager = [record(name, "eager", times=(9, 9, 9, 4)) for name in "ab"]
    right = record("b", times=(9, 9, 9, 2), verification_code="PASS")
    times = collect([*eager, wrong, right], "exec")
    assert times.wrong == (wrong,)
    found = compare(times, ("inductor",), oldest(times, "eager"))
    assert list(found[MONDAY]["inductor"].models) == ["b"]
    # The last record of a model counts, and not an earlier one in its place.
    earlier = record("a", times=(9, 9, 9, 3))
    times = collect([*eager, earlier, wrong, right], "exec")
    assert list(times.by_time[MONDAY]["inductor"]) == ["a", "b"]
    found = compare(times, ("inductor",), oldest(times, "eager"))
    assert list(found[MONDAY]["inductor"].models) == ["b"]
