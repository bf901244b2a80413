"""What the reports for readers have in common."""

import re

import pytest

from opperf.comparison.compared import Change, ChangeKind, interval_text, ratio_text
from opperf.comparison.files.telling import (
    SHOWN_QUIET,
    SHOWN_ROWS,
    select_rows,
    summary_text,
    telling_of,
)
from opperf.comparison.sections import change_text, operators_text, sections_of
from opperf.machine.environment import Difference
from opperf.reports.formats import REPORT, formats_of
from opperf.reports.markdown import plain
from opperf.results.units import MARK_LEGEND, choose_unit, format_figure
from opperf.statistics.data import Verdict
from tests.writing import compared


def figure_texts(row):
    """The figures of both sides, in one unit."""
    unit = choose_unit(row.unit, row.figures)
    return [f"{format_figure(figure, unit)} {unit.name}" for figure in row.figures]


@pytest.mark.parametrize("name", ["text", "md"])
def test_of_many_rows_the_findings_are_shown(name, row, comparison):
    quiet = [row(f"quiet{n}", Verdict.NO_CLEAR_CHANGE, 1.001 + n / 1e6) for n in range(200)]
    found = comparison(row("slow"), *quiet, row("fast", ratio=0.5))
    text = compared(found, name)
    assert "slow" in text and "fast" in text and "quiet" not in text
    assert "200 no clear change not shown; csv and json have all" in text
    text = compared(comparison(*quiet), name)
    assert text.count("quiet") == SHOWN_QUIET and "quiet199" in text
    many = compared(comparison(*(row(f"slow{n}", ratio=1.1 + n / 1e4) for n in range(200))), name)
    assert len(re.findall(r"slow\d", many)) == SHOWN_ROWS
    assert "slow199" in many and f"{200 - SHOWN_ROWS} suspect not shown" in many
    assert len(many) < 65536, "what a comment may hold"


@pytest.mark.parametrize("name", ["text", "md"])
def test_the_most_frequent_reasons_are_told(name, row, comparison):
    notes = ["few", "few", "few", "none", "none", "odd", "even", "zero"]
    rows = [row(f"op{n}", Verdict.AMBIGUOUS, note=note) for n, note in enumerate(notes)]
    text = compared(comparison(*rows), name)
    assert "3 ambiguous: few" in text and "2 ambiguous: none" in text
    assert "2 ambiguous for other reasons" in text


@pytest.mark.parametrize("name", formats_of(REPORT))
def test_a_comparison_without_rows_has_a_report(name, everything, comparison):
    found = comparison(changes=everything.changes[:1])
    assert "base.jsonl" in compared(found, name) or name in ("csv", "junit")


@pytest.mark.parametrize(
    ("value", "unit", "text", "shown"),
    [
        (1234567.0, "ns", "1.235", "ms"),
        (1234.0, "B", "1.234", "kB"),
        (1234567.0, "instructions", "1234567", "instructions"),
        (0.0, "ns", "0", "ns"),
        (float("nan"), "ns", "---", "ns"),
        (float("inf"), "B", "---", "B"),
    ],
)
def test_a_figure_has_the_unit_that_fits_it(row, value, unit, text, shown):
    one = row(unit=unit, base=value, new=value)
    assert figure_texts(one) == [f"{text} {shown}", f"{text} {shown}"]


def test_both_files_have_one_unit_and_each_its_half_width(row):
    one = row(base=32_700.0, new=1.5e6, base_half_width=392.0, new_half_width=3e5)
    assert figure_texts(one) == ["32.7 ±1.2 % us", "1500 ±20 % ? us"]


@pytest.mark.parametrize("name", ["text", "md", "html-fragment"])
def test_uncertain_figures_are_marked_and_the_mark_is_explained(name, row, comparison):
    wide = row("wide", base=32_700.0, new=33_000.0, base_half_width=392.0, new_half_width=6600.0)
    drifting = row("drifting", base=32_700.0, new=33_000.0, base_unreliable=True)
    legend = plain(MARK_LEGEND) if name == "md" else MARK_LEGEND
    for one, figure in ((wide, "33 ±20 % ?"), (drifting, "32.70 ?")):
        text = compared(comparison(one), name)
        assert figure in text and " ".join(legend.split()) in " ".join(text.split())
    assert "uncertain" not in compared(comparison(row(base_half_width=1.0)), name)


def test_ratios_and_intervals_have_three_decimals_or_no_value(row):
    assert (ratio_text(1.23456), ratio_text(None)) == ("1.235", "")
    assert interval_text(0.5, 1.23456) == "0.500 to 1.235"
    for low, high in ((None, 1.0), (1.0, None), (None, None)):
        assert interval_text(low, high) == ""


@pytest.mark.parametrize(("number", "shown"), [(40, 40), (41, 10)])
def test_rows_are_left_out_where_there_are_more_than_two_screens(row, number, shown):
    rows = [row(f"op{n}", Verdict.SAME, 1.0) for n in range(number)]
    found, more = select_rows(rows)
    assert len(found) == shown
    left = number - shown
    assert more == (f"{left} same not shown; csv and json have all" if left else "")


def test_a_metric_without_findings_shows_its_largest_changes_either_way(row):
    ratios = [1 + n / 1000 for n in range(40)] + [1 / (1 + n / 1000) for n in range(40)] + [None]
    found, _ = select_rows([row(str(ratio), Verdict.SAME, ratio) for ratio in ratios])
    sizes = sorted(max(ratios[index], 1 / ratios[index]) for index in found)
    assert sizes == pytest.approx([1 + n / 1000 for n in range(35, 40) for _ in range(2)])


def test_findings_are_shown_before_larger_changes_that_are_none(row):
    quiet = [row(f"quiet{n}", Verdict.AMBIGUOUS, 5.0) for n in range(60)]
    loud = [row("memory", Verdict.REGRESSED, 1.01), row("zero", Verdict.IMPROVED, None)]
    found, more = select_rows([*quiet[:30], *loud, *quiet[30:]])
    assert found == (30, 31)
    assert more == "60 ambiguous not shown; csv and json have all"


def test_findings_beyond_two_screens_are_the_largest(row):
    loud = [row(f"{n}", ratio=1.5 + n / 1000) for n in range(50)]
    none = row("none", ratio=None)
    found, more = select_rows([none, *loud])
    assert found == tuple(range(11, 51))
    assert more == "11 suspect not shown; csv and json have all"


def test_a_summary_counts_verdicts_and_directions(comparison, row):
    found = comparison(
        row("a", ratio=2.0),
        row("b", ratio=0.5),
        row("c", ratio=4.0, category="binary"),
        row("d", Verdict.SAME, 1.0),
        row("e", ratio=8.0, metric="memory", unit="B"),
        row("f", ratio=0.5, metric="instructions", unit="instructions"),
        row("g", Verdict.AMBIGUOUS, None, metric="total"),
    )
    assert summary_text(found, "forward") == (
        "4 cases in common: 1 same, 3 suspect (2 slower, 1 faster); "
        "geometric mean of the ratios 1.414"
    )
    assert summary_text(found, "memory") == (
        "1 case in common: 1 suspect (1 more); geometric mean of the ratios 8.000"
    )
    assert "1 suspect (1 less);" in summary_text(found, "instructions")
    assert summary_text(found, "total") == "1 case in common: 1 ambiguous"


def test_remarks_are_the_note_and_the_caveat(row):
    assert row(note="a", caveat="b").remarks == "a; b"
    assert (row(note="a").remarks, row(caveat="b").remarks, row().remarks) == ("a", "b", "")


@pytest.mark.parametrize(
    ("inputs", "metric", "reason", "text"),
    [
        ("", "", "", "relu"),
        ("x: 1", "", "", "relu (x: 1)"),
        ("", "backward", "", "relu backward"),
        ("x: 1", "backward", "failed: no", "relu (x: 1) backward: failed: no"),
    ],
)
def test_a_change_is_one_line(inputs, metric, reason, text):
    assert change_text(Change(ChangeKind.BROKEN, "", "relu", inputs, metric, reason)) == text


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([1], "op0"),
        ([2, 1, 3], "op0 (2), op1, op2 (3)"),
        ([1] * 20, ", ".join(f"op{n}" for n in range(20))),
        ([1] * 21, ", ".join(f"op{n}" for n in range(20)) + " and 1 more"),
        ([1] * 25, ", ".join(f"op{n}" for n in range(20)) + " and 5 more"),
    ],
)
def test_operators_that_have_come_or_gone_are_counted(numbers, text):
    names = [f"op{n}" for n, number in enumerate(numbers) for _ in range(number)]
    assert operators_text([Change(ChangeKind.BROKEN, "", name, "") for name in names]) == text


def test_means_are_a_row_for_each_category_and_a_column_for_each_metric(comparison, row):
    found = comparison(
        row("a", ratio=2.0, category="zoo"),
        row("b", ratio=8.0, category="basic", metric="memory"),
        row("c", ratio=2.0, category="basic", metric="memory"),
    )
    *_, means, _ = sections_of(found, telling_of(found))
    assert [(column.title, column.whole()) for column in means.table.columns] == [
        ("Category", ["basic", "zoo", "all"]),
        ("forward", ["", "2.000 (1)", "2.000 (1)"]),
        ("memory", ["4.000 (2)", "", "4.000 (2)"]),
    ]


def test_differences_beyond_the_limit_are_counted(comparison):
    some = tuple(Difference(f"{n}", n, None) for n in range(28))
    for number, shown, more in (
        (28, tuple(range(25)), "and 3 more; --format json has all"),
        (25, None, ""),
    ):
        found = comparison(differences=some[:number])
        table = sections_of(found, telling_of(found))[1].table
        assert (table.height, table.shown, table.more) == (number, shown, more)
        assert [column.whole()[0] for column in table.columns] == ["0", "0", "not set"]


def test_what_a_reader_has_to_know_comes_last(comparison):
    def closing(found):
        return list(sections_of(found, telling_of(found))[-1].prose)

    said = closing(comparison(notes=("A.", "B."), unmeasured=1))
    assert said == ["A.", "B.", "1 case measured in neither run."]
