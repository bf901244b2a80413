"""Columns of figures: metrics, and what is computed from them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from opperf.errors import UsageError
from opperf.instruments.profilers.summary import summarise
from opperf.metrics import metrics_by_name
from opperf.model import Note, NoteCode, Record
from opperf.results.columns import check_columns, count_uncertain, known_columns, select_columns
from opperf.results.rates import BANDWIDTH
from opperf.results.units import Figure
from tests.results.conftest import summary

MakeRecord = Callable[..., Record]


def figure(record: Record, name: str) -> Figure | None:
    return known_columns()[name].read(record)


@pytest.fixture
def record(make_record: MakeRecord) -> Record:
    """2 ms forward, 3 ms backward, each known to 5 %; 8 MB moved."""
    base = make_record()
    memory = base.summaries["memory"]
    case = msgspec.structs.replace(base.case, passes=("forward", "backward"))
    return msgspec.structs.replace(
        base,
        case=case,
        moved_bytes=8_000_000,
        summaries=base.summaries
        | {"memory_forward": msgspec.structs.replace(memory, median=3_000_000.0)},
    )


def test_every_metric_is_a_column() -> None:
    assert set(metrics_by_name()) < set(known_columns())


def test_without_names_the_columns_are_the_usual_metrics(record: Record) -> None:
    names = [column.metric.name for column in select_columns([record])]
    assert names == ["forward", "backward", "memory"]
    named = select_columns([record], ("memory_forward", "bandwidth"))
    assert [column.metric.name for column in named] == ["memory_forward", "bandwidth"]


def test_a_profiling_programs_own_metric_is_a_column_if_it_is_named(record: Record) -> None:
    name = "ncu.sm__cycles_active.max"
    own = {name: summary(7.0, "cycle")}
    profiled = msgspec.structs.replace(record, summaries=record.summaries | own)
    assert name not in [column.metric.name for column in select_columns([profiled])]
    check_columns([name])
    (column,) = select_columns([record, profiled], [name])
    assert column.metric.unit == "cycle" and column.read(record) is None
    found = column.read(profiled)
    assert found is not None and found.value == 7.0
    (without,) = select_columns([record], [name])
    assert without.read(record) is None


def test_bandwidth_is_bytes_over_the_time_of_the_forward_pass(record: Record) -> None:
    found = figure(record, "bandwidth")
    assert found is not None
    assert (found.value, found.share) == (pytest.approx(4.0), pytest.approx(0.05))
    assert figure(msgspec.structs.replace(record, moved_bytes=0), "bandwidth") is None


def test_a_time_of_zero_has_no_bandwidth_and_no_ratio(record: Record) -> None:
    zero = summarise([0.0, 0.0], "ns")
    instant = msgspec.structs.replace(record, summaries=record.summaries | {"forward": zero})
    assert figure(instant, "bandwidth") is None and figure(instant, "ratio") is None


def test_the_ratio_of_the_passes_has_the_errors_of_both(record: Record) -> None:
    found = figure(record, "ratio")
    assert found is not None
    assert (found.value, found.share) == (pytest.approx(1.5), pytest.approx(0.05 * 2**0.5))
    forward = {"forward": record.summaries["forward"]}
    assert figure(msgspec.structs.replace(record, summaries=forward), "ratio") is None


def test_what_is_computed_from_an_uncertain_figure_is_uncertain(record: Record) -> None:
    for metric, names in (("forward", {"bandwidth", "ratio"}), ("backward", {"ratio"})):
        noted = msgspec.structs.replace(record, notes=(Note(metric, NoteCode.DRIFT, "x"),))
        figures = {name: figure(noted, name) for name in ("bandwidth", "ratio")}
        assert {name for name, one in figures.items() if one and one.is_uncertain} == names


def test_memory_by_pass(record: Record) -> None:
    assert figure(record, "memory_backward") == Figure(1_194_304.0)
    case = msgspec.structs.replace(record.case, passes=("forward",))
    assert figure(msgspec.structs.replace(record, case=case), "memory_backward") is None


def test_bytes_and_percentiles(record: Record) -> None:
    assert figure(record, "moved") == Figure(8_000_000)
    assert figure(record, "p90") == Figure(7_500_000.0)


def test_what_a_record_lacks_has_no_figure(make_record: MakeRecord) -> None:
    empty = make_record(summaries={})
    assert {name: figure(empty, name) for name in known_columns()} == dict.fromkeys(known_columns())


def test_an_unknown_column_is_refused_with_near_ones() -> None:
    check_columns(("forward", "p99"))
    with pytest.raises(UsageError, match="unknown column 'bandwith'; did you mean bandwidth"):
        check_columns(("forward", "bandwith"))


def test_uncertain_figures_are_counted_among_those_that_scatter(record: Record) -> None:
    assert count_uncertain([record, record]) == (0, 4)
    noted = msgspec.structs.replace(record, notes=(Note("forward", NoteCode.TWO_LEVELS, "x"),))
    assert count_uncertain([record, noted]) == (1, 4)
    assert count_uncertain([]) == (0, 0)


def test_the_rate_is_bytes_over_the_time_with_the_bounds_the_other_way_round(make_point):
    found = BANDWIDTH.rate(make_point(time=1000.0, moved=4000))
    assert found.value == 4.0
    assert found.low == pytest.approx(4000 / 1050) and found.high == pytest.approx(4000 / 950)


def test_a_time_without_an_interval_gives_a_rate_without_one(make_point):
    single = {"forward": summary(1000.0, ci_low=float("nan"), ci_high=float("nan"))}
    found = BANDWIDTH.rate(make_point(moved=4000, summaries=single))
    assert found == (4.0, None, None)


@pytest.mark.parametrize("changes", [{"moved": 0}, {"time": 0.0, "moved": 8}])
def test_there_is_no_rate_without_bytes_or_time(make_point, changes):
    assert BANDWIDTH.rate(make_point(**changes)) is None
    backward = {"backward": summary(5.0)}
    assert BANDWIDTH.rate(make_point(moved=8, summaries=backward)) is None
