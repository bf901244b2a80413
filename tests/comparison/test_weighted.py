"""The sentences and the table of a comparison weighted by count."""

import pytest

from opperf.comparison.weighted import check_format, sentences, table
from opperf.errors import UsageError
from opperf.reports.text import terminal_columns
from opperf.statistics.weights import Alone, Weighed, weigh

FILES, ARMS = ("base", "new"), ("A", "B")


def cells(found, title, names=FILES, **most):
    columns = terminal_columns(table(found, names, **most).columns, None)
    (column,) = [one for one in columns if one.title == title]
    return [cell.strip() for cell in column.cells]


@pytest.fixture
def found():
    cases = [Weighed("relu", 1000, 1000, 1e3, 2e3), Weighed("mm", 10, 10, 9e5, 4.5e5)]
    return weigh(cases, metrics=["forward", "backward"])


def test_totals_are_a_sentence(found):
    assert sentences(found, FILES) == [
        "Weighted by count (forward + backward time of 1,010 calls of 2 cases): 10.00 ms in base, "
        "6.500 ms in new, ratio 0.650; geometric mean of the ratios weighted by count 1.973."
    ]
    assert "10.00 ms in A, 6.500 ms in B" in sentences(found, ARMS)[0]


def test_the_table_has_signs_and_shares(found):
    assert cells(found, "Operator") == ["mm", "relu"]
    assert cells(found, "Change ms") == ["-4.500", "+1.000"]
    assert cells(found, "Of the total") == ["-45.0 %", "+10.0 %"]
    assert cells(found, "Of the change") == ["128.6 %", "-28.6 %"]
    assert cells(found, "A ms", ARMS) == ["9.000", "1.000"]
    assert cells(found, "Ratio") == ["0.500", "2.000"]
    assert cells(found, "Calls") == ["10", "1,000"]


def test_rows_beyond_the_most_are_summed_up(found):
    made = table(found, FILES, most=1)
    assert made.height == 1 and made.more == "and 1 more, which change it by 1.000 ms"
    assert table(found, FILES).more == ""


def test_nothing_is_a_share_of_no_change():
    found = weigh([Weighed("a", 1, 1, 5.0, 5.0), Weighed("b", 3, 3, 1.0, 1.0)])
    assert cells(found, "Of the change") == ["---", "---"]
    assert cells(found, "Of the total") == ["0.0 %", "0.0 %"]
    assert cells(found, "Change ns") == ["0", "0"]


def test_what_is_in_no_total_is_told():
    alone = [Alone("base", f"op{n}", "x: (2,)", 3, 1e3 * (9 - n)) for n in range(7)]
    found = weigh([Weighed("a", 4, 2, 5.0, 5.0)], [*alone, Alone("new", "gelu", "", 1, 2.0)], (), 9)
    _, recounted, neither, base, new = sentences(found, FILES)
    assert recounted.startswith(
        "1 case of other counts in new than in base; the change is of calls"
    )
    assert neither == "In no total: 9 calls that neither has a time of."
    assert base.startswith(
        "In base alone, and in no total: 7 cases of 21 calls, 42.00 us: op0 (x: "
    )
    assert base.endswith("op4 (x: (2,)) and 2 more.")
    assert new == "In new alone, and in no total: 1 case of 1 call, 2 ns: gelu."
    assert cells(found, "Calls") == ["4 to 2"]


def test_no_case_is_told():
    assert sentences(weigh([]), ARMS) == ["Weighted by count: no case has a ratio yet."]
    assert table(weigh([]), ARMS).height == 0


def test_counts_of_one_are_told():
    (_, told) = sentences(weigh([Weighed("a", 1, 1, 5.0, 5.0)]), FILES)
    assert told.startswith("Every count is 1:")


def test_formats_without_a_place_for_totals_are_refused():
    for output_format in ("csv", "junit"):
        check_format(None, output_format)
        with pytest.raises(UsageError, match=f"{output_format} has rows of single cases only"):
            check_format("count", output_format)
    for output_format in ("text", "md", "json", "html-fragment"):
        check_format("count", output_format)
