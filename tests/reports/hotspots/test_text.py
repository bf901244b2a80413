"""A ranking on a terminal and on a page."""

import pytest

from opperf.model import NoteCode
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.ranking_report import short_text
from opperf.reports.summary import summarise
from tests.writing import ranked


def lines(text):
    """The lines, whatever the widths of the columns are."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_ranking_the_cases_and_what_is_missing(program):
    found = lines(ranked(find_hotspots([program], by=("operator",))))
    text = " ".join(found)
    assert "Time of 14 calls of 4 cases: 100.0 us, by the wall clock;" in text
    assert "each count x the median forward time." in text
    assert "in no share: 3 of 17 calls (17.6 %), those of 2 cases." in text
    assert "1 operator had no case" in text
    assert "mm 80.00 80.0 % 80.0 % 3 30.00 4.096" in found
    assert "add 20.00 20.0 % 100.0 % 11 1.000 0.06400" in found
    assert "mm 60.00 60.0 % 2 30.00 4096 self: (64, 64)" in found
    assert "svd 2 1 failed: no such kernel" in found
    assert "gelu 1 1 not run: the run was not finished" in found


def test_what_is_beyond_the_top_is_told(program):
    text = ranked(find_hotspots([program]), 1)
    assert "and 2 more, of 20.0 % of the time" in text
    assert "and 1 more, of 1 call" in text and "gelu" not in text


def test_cases_that_hardly_matter_are_left_out(seen, of):
    few = of(seen(us=1000.0), *(seen(us=1.0, shape=(n,)) for n in range(2, 9)))
    text = ranked(find_hotspots([few]))
    assert text.count("self:") == 1 and "self: (4, 4)" in text
    many = of(*(seen(us=1.0, shape=(n,)) for n in range(2, 9)))
    assert ranked(find_hotspots([many])).count("self:") == 3


def test_single_cases_have_one_table(program):
    text = ranked(find_hotspots([program], by=("case",)))
    assert "Slowest cases" not in text and text.count("self: (64, 64)") == 1


def test_groups_of_other_dimensions_name_the_operators_of_their_cases(seen, of):
    text = lines(
        ranked(find_hotspots([of(seen(us=2.0), seen("add", 1.0))], by=("category", "dtype")))
    )
    assert any(line.startswith("Category, dtype Time us") for line in text)
    assert any(line.startswith("float32: mm 2.000") for line in text)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_is_not_exceeded(program, width):
    for text in (ranked(find_hotspots([program]), None, width=width), short_text(program, width)):
        assert max(map(len, text.splitlines())) <= width
        assert "80.0 %" in text


def test_doubts_are_told(seen, of):
    bound = [("forward", NoteCode.LAUNCH_BOUND, "short")]
    one = of(seen(us=1.0, count=2, notes=bound, threads=1), seen(us=1.0, threads=2))
    text = " ".join(ranked(find_hotspots([one, one])).split())
    assert "66.7 % of the time is of calls that take hardly longer than the launch" in text
    assert "2 cases of one file measured in another, too; added up." in text
    assert "differ in threads (1, 2); the calls of each count." in text and "threads 2" in text


def test_times_of_an_unknown_kind_are_of_no_clock(seen, of):
    text = ranked(find_hotspots([of(seen(kind=None))]))
    assert text.startswith("Time of 1 call of 1 case: 1.000 us; each count x")


def test_uncertain_times_are_explained(seen, of):
    text = ranked(find_hotspots([of(seen(samples=1))]))
    assert "1.000 ?" in text and "? uncertain" in text
    assert "?" not in ranked(find_hotspots([of(seen())]))


def test_a_page_has_the_same(program):
    page = ranked(find_hotspots([program]), 2, "md")
    assert page.startswith(
        "## Operators by time\n\nLargest shares of the time of all calls: `mm` 80.0 %"
    )
    assert "\n\n- Time of 14 calls of 4 cases" in page
    for begin in ("| Operator ", "| Slowest cases ", "| Not measured "):
        assert f"\n{begin}" in page
    assert "and 1 more, of 10.0 % of the time" in page
    header = next(line for line in page.splitlines() if line.startswith("| Slowest cases"))
    assert [cell.strip() for cell in header.split("|")[1:3]] == ["Slowest cases", "Inputs"]


def test_the_end_of_a_run_ranks_where_calls_were_counted(program, seen, of):
    text = summarise(program, 1.0)
    assert "Time of 14 calls of 4 cases" in text
    assert "mm 80.00 80.0 % 80.0 % 3 30.00 4.096" in lines(text)
    assert text.count("no case") == 0 and "No benchmark for 1 operator" in text
    assert "Time of" not in summarise(of(seen(), seen("add")), 1.0)


def test_a_run_without_a_time_has_no_ranking(program, of):
    failed = [record for record in program.records if not record.summaries]
    assert short_text(of(*failed)) == ""
