"""Names and counts as short texts."""

import pytest

from opperf.comparison.explaining.difference_report import (
    change_text,
    count_text,
    decimals_of,
    share_text,
    short_names,
    without_arguments,
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("PyObject_Call", "PyObject_Call"),
        ("at::add(at::Tensor const&, (int)1)", "at::add(…)"),
        ("void f<a<b>, c>(int)::operator()(long)", "void f<…>(…)::operator()(…)"),
        ("a::(anonymous namespace)::f<b>", "a::(anonymous namespace)::f<…>"),
        ("operator<<(std::ostream&, x)", "operator<<(…)"),
        ("a::operator<(a const&)", "a::operator<(…)"),
        ("x->y", "x->y"),
        ("broken<a", "broken<a"),
        ("", ""),
    ],
)
def test_what_is_in_brackets_is_left_out(name, short):
    assert without_arguments(name) == short


def test_short_names_differ():
    long = "at::native::binary_kernel_reduce_implementation<at::native::Op<%s, 1>>(at::Iterator&)"
    double, single = long % "double", long % "float"
    assert short_names([double, "f(int)"]) == [
        "at::native::binary_kernel_reduce_implementation<…>(…)",
        "f(int)",
    ]
    both = short_names([double, single])
    assert both == [f"{one[:59]}…" for one in (double, single)] or len(set(both)) == 2


def test_counts_have_a_decimal_unless_all_are_whole():
    assert decimals_of([1.0, 2.0]) == 0 and decimals_of([1.0, 2.5]) == 1 and decimals_of([]) == 0
    assert count_text(1234567.25, 1) == "1,234,567.2"
    assert change_text(1234.0, 0) == "+1,234" and change_text(-0.5, 1) == "-0.5"


def test_a_share_of_nothing_is_none():
    assert share_text(5, 1000) == "+0.50 %" and share_text(5, 0) == "---"
