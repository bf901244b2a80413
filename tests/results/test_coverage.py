"""Coverage is told from records: what ran, what did not, and why."""

import pytest

from opperf.model import Kind, Listed, Listing, Operator, Parameter, Status
from opperf.results.coverage import NOT_RUN, Count, coverage, coverage_text
from opperf.results.listing import list_text, operator_text, parameter_text


def listed(name, category="unary", namespace="nd", aliases=(), rule="rule:x", reason=""):
    operator = Operator(
        framework="mxnet",
        namespace=namespace,
        name=name,
        aliases=aliases,
        category=category,
        parameters=(Parameter(name="data", kind=Kind.TENSOR, required=True),),
    )
    return Listed(operator=operator, rule=rule, reason=reason)


LISTING = Listing(
    framework="mxnet",
    version="1.9.1",
    registered=9,
    operators=(
        listed("relu", aliases=("_relu",)),
        listed("exp", namespace="np"),
        listed("fft", "graph"),
        listed("later"),
        listed("placeholder", "graph", rule="", reason="does nothing"),
    ),
)


@pytest.fixture
def found(make_record):
    forward_only = {k: v for k, v in make_record().summaries.items() if k != "backward"}
    records = [
        make_record(name="relu", status=Status.FAILED, reason="first shape", summaries={}),
        make_record(name="relu"),
        make_record(name="exp", summaries=forward_only),
        make_record(name="fft", status=Status.SKIPPED, reason="only on GPU", summaries={}),
    ]
    return coverage(LISTING, records)


def test_the_totals(found):
    assert (found.registered, found.names) == (9, 6)
    assert found.total == Count(distinct=5, forward=2, backward=1)
    assert found.total.percent == pytest.approx(40.0)


def test_by_namespace_and_category(found):
    assert found.namespaces == {"nd": Count(4, 1, 1), "np": Count(1, 1, 0)}
    assert found.categories == {"unary": Count(3, 2, 1), "graph": Count(2, 0, 0)}


def test_every_operator_that_was_not_measured_has_its_reason(found):
    assert found.not_measured == {
        "fft": "skipped: only on GPU",
        "later": NOT_RUN,
        "placeholder": "does nothing",
    }


def test_the_page_and_the_json_say_the_same(found):
    text = coverage_text(found)
    for words in ("mxnet 1.9.1", "2 (40.0 %)", "placeholder", "does nothing"):
        assert words in text
    plain = found.as_json()
    assert (plain["distinct"], plain["forward"], plain["percent"]) == (5, 2, 40.0)
    assert plain["namespaces"]["np"]["percent"] == 100.0


def test_a_line_fits_the_terminal(found):
    assert max(map(len, coverage_text(found, 60).splitlines()[-4:])) <= 60
    assert max(map(len, list_text(LISTING.operators, 50).splitlines())) <= 50


def test_the_list_counts_what_has_no_rule():
    assert list_text(LISTING.operators).endswith("\n\n5 operators, 1 without a rule")


@pytest.mark.parametrize(
    "parameter, text",
    [
        (Parameter(name="data", kind=Kind.TENSOR, required=True), "data"),
        (Parameter(name="axis", kind=Kind.INT, required=False, default="-1"), "axis=-1"),
        (Parameter(name="bias", kind=Kind.TENSOR, required=False), "bias"),
    ],
)
def test_parameters_as_in_a_signature(parameter, text):
    assert parameter_text(parameter) == text


def test_an_operator_without_cases_says_why():
    text = operator_text(LISTING.operators[-1], (), ())
    assert "none: does nothing" in text and "Case" not in text
