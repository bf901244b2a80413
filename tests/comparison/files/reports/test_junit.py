"""A comparison as JUnit's XML."""

import xml.etree.ElementTree as ET

import msgspec
import pytest

from opperf.comparison.compared import Change, ChangeKind
from opperf.reports.model import Report
from opperf.reports.model import Test as JUnitTest
from opperf.reports.writing import write_junit
from opperf.statistics.data import Verdict
from tests.writing import compared


def junit(found):
    (suite,) = ET.fromstring(compared(found, "junit"))
    return suite


def test_junit_has_a_test_for_each_case_and_metric(everything):
    suite = junit(everything)
    assert [test.get("name") for test in suite] == [
        "relu (data: (1024, 1024)) forward",
        "exp (data: (1024, 1024)) forward",
        "log (data: (1024, 1024)) forward",
        "FullyConnected (data: (1024, 1024)) memory",
        "relu (data: (1024, 1024)) memory",
        "svd (A: (4, 4))",
        "dot (lhs: (2, 2))",
        "dot (lhs: (3, 3))",
        "gelu",
    ]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("9", "0", "5")
    assert "ratio 1.500, interval 1.485 to 1.515" in suite[0].find("system-out").text


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        (("regressed",), ["FullyConnected"]),
        (("suspect",), ["relu"]),
        (("missing",), ["svd", "dot", "dot"]),
        (("regressed", "suspect"), ["relu", "FullyConnected"]),
    ],
)
def test_junit_fails_what_is_looked_for(fail_on, failing, everything):
    suite = junit(msgspec.structs.replace(everything, fail_on=fail_on))
    assert [t.get("classname") for t in suite if t.find("failure") is not None] == failing
    assert suite.get("failures") == str(len(failing))


def test_junit_fails_nothing_that_became_faster(row, comparison):
    suite = junit(comparison(row(ratio=0.5), fail_on=("suspect",)))
    assert suite.get("failures") == "0"


def test_junit_names_are_unique(row, comparison):
    twice = junit(comparison(row(id="1"), row(id="2"), row("exp")))
    endings = [test.get("name").rpartition("forward")[2] for test in twice]
    assert endings == [" 1", " 2", ""]


def test_an_id_stands_only_where_operator_and_name_are_shared():
    """A viewer's history goes by class and name, and would break with other cases."""
    tests = [JUnitTest(name, "x forward", id, "system-out", "") for name, id in ("a1", "b2", "b3")]
    (suite,) = ET.fromstring(write_junit(Report("compare", "", (), {}, tests=tests)))
    assert [one.get("name") for one in suite] == ["x forward", "x forward 2", "x forward 3"]


def test_junit_names_do_not_depend_on_other_cases(run, record, asked):
    usual, other = record("relu"), record("relu", dtype="float64")
    alone, both = (junit(asked(run(*some), run(*some))) for some in ([usual], [usual, other]))
    names = [{test.get("name") for test in suite} for suite in (alone, both)]
    assert names[0] < names[1] and len(names[1]) == 2 * len(names[0])
    assert all("; float64)" in name for name in names[1] - names[0])


def test_junit_of_hostile_names_is_xml(hostile):
    suite = junit(hostile)
    assert suite[0].get("classname") == hostile.rows[0].operator.replace("\x07", "\ufffd")
    assert suite.get("failures") == "3"


def told(found):
    """Of each test, the kind of its ending and the words."""
    endings = [test[0] for test in junit(found)]
    return [(one.tag, one.get("message") or one.text) for one in endings]


def test_junit_says_what_was_found_of_a_row(comparison, row):
    rows = [
        row("a"),
        row(
            "b",
            Verdict.SAME,
            1.0,
            low=None,
            high=None,
            metric="memory",
            unit="B",
            base=1e3,
            new=1e3,
        ),
        row("c", Verdict.AMBIGUOUS, None, low=None, high=None, note="few", caveat="odd"),
    ]
    assert told(comparison(*rows, fail_on=("suspect",))) == [
        ("failure", "suspect: 1.000 to 1.500 ms, ratio 1.500, interval 1.485 to 1.515"),
        ("system-out", "same: 1.000 to 1.000 kB, ratio 1.000"),
        ("skipped", "ambiguous: 1.000 to 1.000 ms, few; odd"),
    ]


@pytest.mark.parametrize("verdict", Verdict)
def test_junit_skips_only_what_is_ambiguous(comparison, row, verdict):
    ((ending, _),) = told(comparison(row(verdict=verdict)))
    assert ending == ("skipped" if verdict in ("ambiguous", "instructions same") else "system-out")


def test_junit_says_what_became_of_a_case(comparison):
    changes = (
        Change(ChangeKind.BROKEN, "1", "a", "", reason="crashed"),
        Change(ChangeKind.DISAPPEARED, "2", "b", ""),
        Change(ChangeKind.APPEARED, "3", "c", ""),
    )
    found = comparison(changes=changes, fail_on=("missing",))
    assert told(found) == [
        ("failure", "measured in base, not in new: crashed"),
        ("failure", "in base only"),
        ("skipped", "in new only"),
    ]
    assert {ending for ending, _ in told(comparison(changes=changes))} == {"skipped"}
    assert [test.get("name") for test in junit(found)] == ["a", "b", "c"]


def test_junit_counts_its_tests(comparison, row):
    suite = junit(comparison(row("a"), row("b", ratio=0.5), fail_on=("suspect",)))
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == list("2100")
