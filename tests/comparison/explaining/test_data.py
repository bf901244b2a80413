"""The report as JSON."""

import json

from opperf.comparison.explaining.difference import compare_dumps
from opperf.comparison.explaining.difference_report import report_of
from opperf.comparison.results import ResultsRow
from opperf.model import Check, Difference
from opperf.reports.formats import REPORT, format_named
from tests.writing import explained


def test_everything_is_in_it(dump_of):
    base = dump_of("fl=a.c\nob=a.so\nfn=f\n1 50\nfn=g\n1 7", "base", trigger="opperf calls=10")
    new = dump_of("fl=a.c\nob=a.so\nfn=f\n1 70\nfn=h\n1 8", "new", trigger="opperf calls=10")
    made = json.loads(explained(compare_dumps(base, new), "add", name="json"))
    assert made.pop("results") == []
    assert made == {
        "case": "add",
        "event": "Ir",
        "order": "exclusive",
        "base": {"path": str(base.path), "calls": 10, "totals": {"Ir": 5.7}, "overhead": None},
        "new": {"path": str(new.path), "calls": 10, "totals": {"Ir": 7.8}, "overhead": None},
        "change": 7.8 - 5.7,
        "functions": [
            {
                "name": "f",
                "object": "a.so",
                "file": "a.c",
                "exclusive_change": 2.0,
                "inclusive_change": 2.0,
                "base": {"exclusive": 5.0, "inclusive": 5.0},
                "new": {"exclusive": 7.0, "inclusive": 7.0},
            },
            {
                "name": "h",
                "object": "a.so",
                "file": "a.c",
                "exclusive_change": 0.8,
                "inclusive_change": 0.8,
                "base": None,
                "new": {"exclusive": 0.8, "inclusive": 0.8},
            },
            {
                "name": "g",
                "object": "a.so",
                "file": "a.c",
                "exclusive_change": -0.7,
                "inclusive_change": -0.7,
                "base": {"exclusive": 0.7, "inclusive": 0.7},
                "new": None,
            },
        ],
        "other_functions": {"number": 0, "base": 0, "new": 0},
    }


def test_the_first_functions_only(dump_of):
    base, new = dump_of("fn=f\n1 5\nfn=g\n1 7", "base"), dump_of("fn=f\n1 7\nfn=g\n1 8", "new")
    made = json.loads(explained(compare_dumps(base, new), "", 1, "json"))
    assert [one["name"] for one in made["functions"]] == ["f"]
    assert made["other_functions"] == {"number": 1, "base": 7.0, "new": 8.0}


def test_it_says_whether_both_compute_the_same(dump_of):
    base, new = (dump_of("ob=a.so\nfn=f\n1 50", side) for side in ("base", "new"))
    found = Check("different", "", (Difference("output", "1 in A, 2 in B"),), 1)
    report = report_of(
        compare_dumps(base, new), "add", results=[ResultsRow.of("id", "add", "x: (4,)", found)]
    )
    assert (
        json.loads(format_named("json", REPORT).write_report(report, None))["results"][0]["outcome"]
        == "different"
    )
    text = format_named("text", REPORT).write_report(report, None)
    assert "Results of A and B: different in 1 case." in text
    assert "output: 1 in A, 2 in B" in text
