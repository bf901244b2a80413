"""Coverage is told from records: what ran, what did not, and why."""

import pytest

from opperf.model import Kind, ListedOperator, Listing, Operator, Parameter, Status
from opperf.reports.coverage import NOT_RUN, Count, as_json, coverage, report_of
from tests.writing import told


def listed(name, category="unary", namespace="nd", aliases=(), rule="rule:x", reason=""):
    operator = Operator(
        framework="mxnet",
        namespace=namespace,
        name=name,
        aliases=aliases,
        category=category,
        parameters=(Parameter(name="data", kind=Kind.TENSOR, required=True),),
    )
    return ListedOperator(operator=operator, rule=rule, reason=reason)


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
    text = told(report_of(found))
    for words in ("mxnet 1.9.1", "2 (40.0 %)", "placeholder", "does nothing"):
        assert words in text
    plain = as_json(found)
    assert (plain["distinct"], plain["forward"], plain["percent"]) == (5, 2, 40.0)
    assert plain["namespaces"]["np"]["percent"] == 100.0


def test_a_line_fits_the_terminal(found):
    assert max(map(len, told(report_of(found), width=60).splitlines()[-4:])) <= 60


def test_the_tables_are_in_plain_words(found):
    lines = [line.split() for line in told(report_of(found)).splitlines()]
    assert ["registered", "names", "9"] in lines and ["names", "of", "operators", "6"] in lines
    assert ["distinct", "operators", "5"] in lines and ["measured", "backward", "1"] in lines
    assert ["Namespace", "Distinct", "Forward", "%", "Backward"] in lines
    assert ["nd", "4", "1", "25.0", "1"] in lines and ["np", "1", "1", "100.0", "0"] in lines
    assert ["graph", "2", "0", "0.0", "0"] in lines
    assert ["fft", "skipped:", "only", "on", "GPU"] in lines


def test_all_of_nothing_is_measured():
    assert Count(0, 0, 0).percent == 100.0


def test_the_json_rounds_percentages(make_record):
    listing = Listing("mxnet", "2.0", 3, tuple(listed(name) for name in ("abs", "exp", "log")))
    plain = as_json(coverage(listing, [make_record(name="abs"), make_record(name="exp")]))
    assert (plain["framework"], plain["version"]) == ("mxnet", "2.0")
    assert (plain["registered"], plain["names"], plain["backward"]) == (3, 3, 2)
    assert plain["categories"] == {
        "unary": {"distinct": 3, "forward": 2, "backward": 2, "percent": 66.67}
    }
    assert plain["not_measured"] == {"log": NOT_RUN}


def test_nothing_is_said_of_what_is_missing_where_nothing_is(make_record):
    listing = Listing("mxnet", "2.0", 1, (listed("abs"),))
    assert "Not measured" not in told(report_of(coverage(listing, [make_record(name="abs")])))


def test_the_first_of_several_reasons_is_told(make_record):
    listing = Listing("mxnet", "2.0", 1, (listed("abs"),))
    records = [
        make_record(name="abs", status=Status.CRASHED, reason="signal\n11"),
        make_record(name="abs", status=Status.FAILED, reason="no memory"),
    ]
    assert coverage(listing, records).not_measured == {"abs": "crashed: signal 11"}


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_what_failed_covers_nothing(make_record, status):
    # It may have had a figure of its forward pass before its backward pass failed.
    summaries = make_record().summaries
    failed = make_record(name="abs", status=status, reason="no", summaries=summaries)
    listing = Listing("mxnet", "2.0", 1, (listed("abs"),))
    assert coverage(listing, [failed]).total == Count(1, 0, 0)


def test_what_was_counted_stays_as_it_is(found):
    for struct in (found, found.total):
        with pytest.raises(AttributeError, match="immutable"):
            struct.total = 0
