"""Results that the new run compared with the base's, in verdicts, exit codes and every format."""

import json
import xml.etree.ElementTree as ET

import pytest

from opperf.comparison.files import judging
from opperf.comparison.files.reading import read
from opperf.comparison.files.telling import outcome
from opperf.errors import UsageError
from opperf.model import Check, Difference
from opperf.reports.formats import REPORT, formats_of
from tests.writing import compared as written

WRONG = Difference("output", "largest error 0.5: 1 in A and 1.5 in B at [3]", (3,), 0.5, 0.5, 0.25)


@pytest.fixture
def compared(run, record, saved):
    """Compares two runs, whose results were compared unless `checked` is false."""
    base, new = (run(record("relu"), record("sum", factor=one)) for one in (1.0, 1.5))
    checks = {0: Check("different", "", (WRONG,), 2), 1: Check("not compared", "A: no luck")}

    def compare(checked=True, **question):
        first, second = read(saved(base, "a.jsonl")), read(saved(new, "b.jsonl"))
        second = second._replace(checks=checks if checked else None)
        return judging.compare(first, second, judging.Question(**question))

    return compare


def test_different_results_are_a_finding(compared):
    found = compared(in_order=True, fail_on=("different", "regressed"))
    assert outcome(found) == (1, "1 different")
    rows = {row.operator: (row.results, row.difference) for row in found.rows_of("forward")}
    assert rows["relu"] == ("different", f"{WRONG}; 1 more")
    assert rows["sum"] == ("not compared", "A: no luck")


def test_results_that_were_not_compared_cannot_differ(compared):
    assert compared(checked=False).results == ()
    with pytest.raises(UsageError, match="does not compare its results with those of"):
        compared(checked=False, fail_on=("different",))


@pytest.mark.parametrize("name", formats_of(REPORT))
def test_every_format_has_the_difference(compared, name):
    text = written(compared(in_order=True, fail_on=("different",)), name)
    assert str(WRONG)[:30] in text
    if name in ("text", "md", "html-fragment"):
        assert "Results differ" in text and "A: no luck" in text
    if name == "json":
        assert [one["count"] for one in json.loads(text)["results"]] == [2, 0]
    if name == "junit":
        kinds = {one.get("type") for one in ET.fromstring(text.encode()).iter("failure")}
        assert kinds == {"different"}
