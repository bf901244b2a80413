"""Two dumps compared by function."""

import pytest

from opperf.comparison.explaining.difference import Counts, compare_dumps, split
from opperf.comparison.explaining.functions import Function
from opperf.errors import CallgrindError, UsageError

LIB, OTHER = "/base/liba.so", "/new/liba.so"


@pytest.fixture
def two(dump_of, make_body):
    """Two dumps: of 10 calls in one build, and of 20 in another."""
    base = make_body(
        {("run", LIB): 100, ("old", LIB): 50, ("kernel", LIB): 1000, ("_PyEval_Vector", "x"): 30},
        [(("run", LIB), ("old", LIB), 50), (("run", LIB), ("kernel", LIB), 1000)],
    )
    new = make_body(
        {
            ("run", OTHER): 200,
            ("fresh", OTHER): 60,
            ("kernel", OTHER): 2400,
            ("PyLong_Add", "x"): 4,
        },
        [(("run", OTHER), ("kernel", OTHER), 2400), (("run", OTHER), ("fresh", OTHER), 60)],
    )
    return (
        dump_of(base, "base", trigger="opperf calls=10 overhead=30"),
        dump_of(new, "new", trigger="opperf calls=20 overhead=60"),
    )


def changes(difference):
    return [(row.function.name, row.own_change, row.inclusive_change) for row in difference.rows]


def test_functions_are_matched_by_name_and_object_and_counted_per_call(two):
    difference = compare_dumps(*two)
    assert changes(difference) == [
        ("kernel", 20.0, 20.0),
        ("old", -5.0, -5.0),
        ("_PyEval_Vector", -3.0, -3.0),
        ("fresh", 3.0, 3.0),
        ("PyLong_Add", 0.2, 0.2),
        ("run", 0.0, 18.0),
    ]
    fresh = difference.rows[3]
    assert (fresh.base, fresh.new) == (None, Counts(3.0, 3.0))
    assert fresh.function == Function("fresh", "liba.so")
    assert (difference.base_total, difference.new_total) == (118.0, 133.2)
    assert (difference.base.overhead, difference.new.overhead) == (3.0, 3.0)


def test_the_differences_add_up_to_that_of_the_totals(two):
    difference = compare_dumps(*two)
    whole = pytest.approx(difference.new_total - difference.base_total)
    assert sum(row.own_change for row in difference.rows) == whole
    for most in (1, 3, None):
        shown, rest = split(difference, most)
        assert sum(row.own_change for row in shown) + rest.new - rest.base == whole


def test_the_first_are_those_that_differ(two):
    difference = compare_dumps(*two)
    shown, rest = split(difference, 2)
    assert [row.function.name for row in shown] == ["kernel", "old"]
    assert rest == (4, 13.0, 13.2)
    shown, rest = split(difference)
    assert len(shown) == 5 and rest == (1, 10.0, 10.0)


def test_the_order_may_be_by_inclusive_counts(two):
    difference = compare_dumps(*two, order="inclusive")
    assert [name for name, *_ in changes(difference)][:2] == ["kernel", "run"]


def test_pythons_frames_may_be_one_row(two):
    difference = compare_dumps(*two, python=False)
    rows = {row.function.name: row for row in difference.rows}
    assert rows["Python's own frames"].base == Counts(3.0, None)
    assert rows["Python's own frames"].new == Counts(0.2, None)
    assert rows["Python's own frames"].inclusive_change is None
    assert len(rows) == 5
    total = sum(row.own_change for row in difference.rows)
    assert total == pytest.approx(difference.new_total - difference.base_total)


def test_addresses_of_one_build_are_one_row(dump_of, make_body):
    base = dump_of(make_body({("0x10", "a"): 5, ("0x20", "a"): 7, ("0x30", "a"): 1}), "base")
    new = dump_of(make_body({("0x18", "a"): 6, ("0x28", "a"): 9, ("0x30", "a"): 2}), "new")
    assert changes(compare_dumps(base, new)) == [
        ("functions without a symbol", 3.0, None),
        ("0x30", 1.0, 1.0),
    ]


def test_an_event_may_be_named(dump_of):
    base = dump_of("fn=f\n1 5 1", "base", events="Ir D1mr")
    new = dump_of("fn=f\n1 5 4", "new", events="Ir D1mr")
    assert changes(compare_dumps(base, new)) == [("f", 0.0, 0.0)]
    difference = compare_dumps(base, new, "D1mr")
    assert changes(difference) == [("f", 3.0, 3.0)]
    assert difference.base.totals == {"Ir": 5.0, "D1mr": 1.0}
    with pytest.raises(UsageError, match="--event D1mw: the files count Ir, D1mr"):
        compare_dumps(base, new, "D1mw")


def test_dumps_of_different_events_are_not_compared(dump_of):
    base = dump_of("fn=f\n1 5 1", "base", events="Ir D1mr")
    new = dump_of("fn=f\n1 5", "new")
    with pytest.raises(CallgrindError, match=r"base counts Ir D1mr and .*new Ir; measure both"):
        compare_dumps(base, new)


def test_empty_dumps_do_not_differ(dump_of):
    assert compare_dumps(dump_of("", "base"), dump_of("", "new")).rows == ()
