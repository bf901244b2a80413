"""The dimensions of records, and what is grouped by them."""

import pytest

from opperf.errors import UsageError
from opperf.model import DECLARED
from opperf.results.projection import (
    FIXED,
    Observation,
    Source,
    check_dimensions,
    describe,
    dimensions_of,
    group,
    grouped_away,
    named,
    number_alike,
    observations,
    project,
)


def seen(*records, **labels):
    return [Observation(record, "run", labels) for record in records]


def test_every_setting_label_and_variable_is_a_dimension(make_point):
    found = seen(make_point(n=8), make_point(m=2), commit="a")
    assert dimensions_of(found).keys() == {*FIXED, *DECLARED, "label.commit", "n", "m"}


def test_records_have_a_value_of_each_dimension(make_point):
    found = seen(make_point("relu", n=8, threads=2), commit="a")
    expected = {
        "overload": "relu",
        "operator": "relu",
        "category": "",
        "framework": "mxnet",
        "file": "run",
        "threads": "2",
        "n": "8",
        "label.commit": "a",
    }
    assert project(tuple(expected), found) == [expected]
    assert project((), found) == [{}]


@pytest.mark.parametrize(
    "name, value, text",
    [
        ("overload", "add.Tensor", "add.Tensor"),
        ("dtype", "float32", "float32"),
        ("threads", "2", "threads 2"),
        ("label.commit", "a", "commit a"),
        ("n", "8", "n=8"),
        ("n", "", ""),
    ],
)
def test_values_that_do_not_explain_themselves_have_their_name(name, value, text):
    assert named(name, value) == text


def test_an_unknown_dimension_has_near_ones(make_point):
    found = seen(make_point())
    check_dimensions(("dtype", "overload", "n"), found)
    with pytest.raises(UsageError, match="unknown dimension for --by 'catgory'; did you mean cat"):
        check_dimensions(("catgory",), found)
    with pytest.raises(UsageError, match="for --by 'label.commit'"):
        describe(found, ("label.commit",))


def test_what_distinguishes_records(make_point):
    found = seen(
        make_point("relu", dtype="float32", threads=1),
        make_point("relu", dtype="float64", threads=1),
        make_point("exp", dtype="float32", threads=1),
    )
    assert describe(found, without=["n"]) == [
        {"overload": "relu", "dtype": "float32"},
        {"overload": "relu", "dtype": "float64"},
        {"overload": "exp", "dtype": "float32"},
    ]
    threads = seen(make_point(threads=1), make_point(threads=None))
    assert [one["threads"] for one in describe(threads)] == ["threads 1", "threads all"]


def test_what_is_asked_for_distinguishes_too_where_it_differs(make_point):
    sources = [
        Source(name, [make_point(n=8)], {"commit": name, "branch": "main"}) for name in ("a", "b")
    ]
    (first, _) = describe(observations(sources), ("operator", "label.commit", "label.branch"))
    assert list(first) == ["operator", "n", "label.commit", "file"]
    assert list(first.values()) == ["relu", "n=8", "commit a", "a"]


def test_points_have_the_texts_of_configurations_if_an_operator_has_several(make_point):
    one, other = (make_point(configuration=number, arguments={"axis": number}) for number in (0, 1))
    assert [own["inputs"] for own in describe(seen(one, other))] == ["axis: 0", "axis: 1"]
    assert "inputs" not in describe(seen(one))[0]
    assert [own["inputs"] for own in project(["inputs"], seen(one))] == ["data: (16, 128), axis: 0"]


def test_items_are_grouped_in_the_order_of_their_keys():
    assert group("abcd", [2, 1, 2, 3]) == {2: ["a", "c"], 1: ["b"], 3: ["d"]}
    assert number_alike("abaa") == [("a", 0), ("b", 0), ("a", 1), ("a", 2)]


def test_a_warning_names_what_is_grouped_away(make_point):
    found = seen(*(make_point(threads=number, dtype="float32") for number in (1, 2, None, 4, 8)))
    names = ("dtype", "threads")
    assert grouped_away(found, [0] * 5, names) == (
        "Grouped together, though they differ in threads (1, 2, all, 4, …)"
    )
    assert grouped_away(found, range(5), names) == ""
    both = seen(make_point(dtype="float32"), make_point(dtype="float64"), make_point(threads=1))
    assert grouped_away(both, [0, 0, 1], names).endswith("differ in dtype (float32, float64)")
