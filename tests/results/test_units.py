"""Figures as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import pytest

from opperf.instruments.profilers.summary import summarise
from opperf.model import Note, NoteCode, Record, Summary
from opperf.results.figures import CaseFigures
from opperf.results.units import Figure, FigureText, Unit, align, choose_unit, format_figure

MakeRecord = Callable[..., Record]

US = Unit("us", 1e3)


@pytest.mark.parametrize(
    ("measured", "values", "unit"),
    [
        ("ns", [999.0], "ns"),
        ("ns", [1000.0], "us"),
        ("ns", [999_999.0], "us"),
        ("ns", [1e6], "ms"),
        ("ns", [1e9], "s"),
        ("ns", [1e13], "s"),
        ("ns", [0.25], "ns"),
        ("B", [999.0], "B"),
        ("B", [1e3], "kB"),
        ("B", [1e6], "MB"),
        ("B", [1e9], "GB"),
        ("GB/s", [1e9], "GB/s"),
        # The middle one decides; what is zero, missing or no number says nothing of the unit.
        ("ns", [1.0, 2e3, 3e9], "us"),
        ("ns", [0.0, 0.0, 5e6], "ms"),
        ("ns", [math.nan, math.inf, 5e6], "ms"),
        ("ns", [0.0], "ns"),
        ("ns", [], "ns"),
    ],
)
def test_the_unit_fits_the_middle_figure(measured: str, values: list[float], unit: str) -> None:
    assert choose_unit(measured, [None, *map(Figure, values)]).name == unit


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        ([2000.0] * 20, "2.000"),
        ([2000.0] * 3, "2.000 ?"),
        ([2000.0, 2000.5, 2000.0], "2.0000 ±<0.1 % ?"),
        ([2000.0, 2010.0, 2005.0], "2.005 ±0.2 %"),
    ],
)
def test_few_or_equal_samples_are_not_certain(
    make_record: MakeRecord, samples: list[float], text: str
) -> None:
    record = msgspec.structs.replace(
        make_record(), notes=(), summaries={"forward": summarise(samples, "ns")}
    )
    assert str(format_figure(CaseFigures(record).figure("forward"), US)) == text


@pytest.mark.parametrize(
    ("value", "half_width", "text"),
    [
        # Down to the first digit that the interval touches.
        (32_700.0, 392.4, "32.7 ±1.2 %"),
        (32_743.0, 9.0, "32.743 ±<0.1 %"),
        (32_743.0, 90.0, "32.74 ±0.3 %"),
        (116_404_700.0, 931_237.6, "116400 ±0.8 %"),
        (1234.0, 120.0, "1.2 ±9.7 %"),
        (1234.0, 115.0, "1.2 ±9.3 %"),
        # Two digits at least.
        (1234.0, 123.4, "1.2 ±10 %"),
        (1234.0, 124.0, "1.2 ±10 % ?"),
        (1234.0, 617.0, "1.2 ±50 % ?"),
        (1234.0, 1234.0, "1.2 ±100 % ?"),
        # No percentage above 100, and one digit of what may be several times as large.
        (1234.0, 1235.0, "1 ±>100 % ?"),
        (7_780_000.0, 6.95e9, "8000 ±>100 % ?"),
        # Without an interval, or with one of no width, four digits.
        (1234.56, None, "1.235"),
        (123_456.0, None, "123.5"),
        (1_234_567_890.0, None, "1234568"),
        (2000.0, 0.0, "2.000"),
        (0.0, None, "0"),
        (0.0, 5.0, "0 ?"),
        (math.nan, 1.0, "---"),
        (math.inf, None, "---"),
        (1234.0, math.nan, "1.234"),
    ],
)
def test_a_figure_has_the_digits_that_are_known(
    value: float, half_width: float | None, text: str
) -> None:
    assert str(format_figure(Figure(value, half_width), US)) == text


def test_what_is_not_there_is_told_as_that() -> None:
    assert str(format_figure(None, US)) == "---"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (64.0, Unit("B", 1.0), "64"),
        (1_234_567.0, Unit("instructions", 1.0), "1234567"),
        (1.5, Unit("GB/s", 1.0), "1.500"),
        (12_582_912.0, Unit("MB", 1e6), "12.58"),
    ],
)
def test_whole_figures_have_no_decimals_and_all_their_digits(
    value: float, unit: Unit, text: str
) -> None:
    assert str(format_figure(Figure(value), unit)) == text


def test_points_and_percent_signs_are_below_each_other() -> None:
    column = [
        FigureText("32.7", "±1.2 %"),
        FigureText("116400", "±12 %"),
        FigureText("---"),
        FigureText("0.05"),
    ]
    assert align(column) == [
        "    32.7  ±1.2 %",
        "116400     ±12 %",
        "   ---          ",
        "     0.05       ",
    ]
    assert align([FigureText("1.5"), FigureText("22")]) == [" 1.5", "22  "]
    marked = [
        FigureText("1.5", "±1.2 %"),
        FigureText("22", "±12 %", "?"),
        FigureText("3", mark="?"),
    ]
    assert align(marked) == [" 1.5 ±1.2 %  ", "22    ±12 % ?", " 3          ?"]
    assert align([]) == []


def test_the_figure_of_a_metric_is_its_median_with_its_interval(make_record: MakeRecord) -> None:
    samples = [float(n) for n in range(1, 12)]
    summaries = {"forward": summarise(samples, "ns"), "memory": summarise([7.0], "B")}
    record = make_record(summaries=summaries)
    # Of eleven samples the interval leaves out one at each end.
    assert CaseFigures(record).figure("forward") == Figure(6.0, 4.0)
    assert CaseFigures(record).figure("memory") == Figure(7.0, None)
    assert CaseFigures(record).figure("backward") is None


def test_a_time_of_a_single_sample_is_uncertain(make_record: MakeRecord) -> None:
    record = make_record(summaries={"forward": summarise([7000.0], "ns")})
    assert str(format_figure(CaseFigures(record).figure("forward"), US)) == "7.000 ?"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (NoteCode.DRIFT, "2000 ±5.0 % ?"),
        (NoteCode.TWO_LEVELS, "2000 ±5.0 % ?"),
        # The interval shows that.
        (NoteCode.IMPRECISE, "2000 ±5.0 %"),
        (NoteCode.DISPATCH, "2000 ±5.0 %"),
    ],
)
def test_a_median_that_depends_on_its_moment_is_uncertain(
    make_record: MakeRecord, code: NoteCode, text: str
) -> None:
    noted = msgspec.structs.replace(make_record(), notes=(Note("forward", code, "x"),))
    assert str(format_figure(CaseFigures(noted).figure("forward"), US)) == text
    assert str(format_figure(CaseFigures(noted).figure("backward"), US)) == "3000 ±5.0 %"


@pytest.mark.parametrize(
    ("low", "high", "half_width"),
    [(1.0, 2.5, 1.0), (1.5, 4.0, 2.0), (math.nan, 4.0, None), (1.0, math.inf, None)],
)
def test_the_half_width_is_the_longer_half(
    low: float, high: float, half_width: float | None
) -> None:
    made = Summary("ns", 9, 2.0, 2.0, 1.0, 4.0, 2.0, 2.0, 2.0, 0.0, low, high)
    assert made.half_width == half_width
