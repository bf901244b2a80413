"""One structure for all reports."""

import pytest

from opperf.comparison.compared import ComparedRow, count_verdicts, geometric_means, sort_rows
from opperf.statistics.data import Verdict


def test_geometric_means_by_category(run, record, asked):
    base = run(*(record(n, memory=1e6, category=c) for n, c in zip("abc", "xxy", strict=True)))
    new = run(
        *(
            record(n, memory=m, category=c)
            for n, m, c in zip("abc", (4e6, 1e6, 8e6), "xxy", strict=True)
        )
    )
    found = asked(base, new, metrics=("memory",))
    assert [(m.category, m.metric, m.cases) for m in found.groups] == [
        ("x", "memory", 2),
        ("y", "memory", 1),
        ("all", "memory", 3),
    ]
    assert [m.ratio for m in found.groups] == pytest.approx([2.0, 8.0, 32 ** (1 / 3)])


def row(operator="relu", ratio=1.0, verdict=Verdict.SAME, category="unary", **changed):
    usual = {"id": "", "inputs": "", "metric": "memory", "unit": "B", "base": 1.0, "new": 1.0}
    usual |= {"operator": operator, "ratio": ratio, "verdict": verdict, "category": category}
    return ComparedRow(**(usual | changed))


def test_rows_are_sorted_by_their_ratio_and_those_alike_by_name():
    rows = [
        row("zero", None),
        row("fast", 0.5),
        row("b", 1.0),
        row("a", 1.0, inputs="2"),
        row("a", 1.0, inputs="1"),
        row("none", None),
        row("slow", 2.0),
    ]
    assert [(one.operator, one.inputs) for one in sort_rows(rows)] == [
        ("slow", ""),
        ("a", "1"),
        ("a", "2"),
        ("b", ""),
        ("fast", ""),
        ("none", ""),
        ("zero", ""),
    ]


def test_the_mean_over_all_comes_last_and_has_what_no_category_has():
    rows = [
        row(ratio=4.0, category="zoo"),
        row(ratio=1.0, category=""),
        row(ratio=None, category="zoo"),
        row(ratio=2.0, category="basic"),
    ]
    found = [(mean.category, mean.ratio, mean.cases) for mean in geometric_means(rows)]
    assert found == [
        ("basic", pytest.approx(2.0), 1),
        ("zoo", pytest.approx(4.0), 1),
        ("all", pytest.approx(2.0), 3),
    ]
    assert geometric_means([row(ratio=None)]) == ()


def test_verdicts_are_counted_in_their_order():
    verdicts = [Verdict.SUSPECT, Verdict.SAME, Verdict.REGRESSED, Verdict.SAME]
    found = count_verdicts(row(verdict=verdict) for verdict in verdicts)
    assert list(found.items()) == [(Verdict.REGRESSED, 1), (Verdict.SAME, 2), (Verdict.SUSPECT, 1)]


@pytest.mark.parametrize(("new", "is_worse"), [(1.5, True), (1.0, False), (0.5, False)])
def test_a_time_is_worse_if_it_is_larger(new, is_worse):
    assert row(new=new).is_worse is is_worse
