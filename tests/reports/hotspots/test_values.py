"""A ranking for programs."""

import csv
import io
import json

import pytest

from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.values import COLUMNS
from tests.writing import ranked


def test_json_has_everything(program):
    found = json.loads(ranked(find_hotspots([program]), None, "json"))
    assert (found["calls"], found["unmeasured_calls"], found["time_ms"]) == (14, 3, 0.1)
    first = found["hotspots"][0]
    assert (first["operator"], first["calls"], first["time_ms"]) == ("mm", 3, 0.08)
    assert first["share"] == pytest.approx(0.8) and first["memory_kb"] == 4.096
    assert [(one["inputs"], one["calls"], one["median_ms"]) for one in first["cases"]] == [
        ("self: (64, 64)", 2, 0.03),
        ("self: (8, 8)", 1, 0.02),
    ]
    assert found["not_measured"][0] == {
        "operator": "svd",
        "status": "failed",
        "reason": "no such kernel",
        "settings": "",
        "calls": 2,
        "cases": 1,
        "ids": [next(case.id for case in program.cases if case.label == "svd")],
    }
    assert found["excluded"] == {"Custom": "needs a class"} and found["by"] == "overload"


def test_only_the_top_if_it_is_asked_for(program):
    found = find_hotspots([program])
    assert len(json.loads(ranked(found, None, "json"))["hotspots"]) == 3
    assert len(json.loads(ranked(found, 1, "json"))["hotspots"]) == 1


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_operators_their_cases_and_the_rest(program):
    found = rows(ranked(find_hotspots([program]), None, "csv"))
    assert tuple(found[0]) == COLUMNS
    assert [one["kind"] for one in found] == (
        ["overload", "case", "case"] + 2 * ["overload", "case"] + 2 * ["not measured"]
    )
    assert (found[0]["cases"], found[0]["time_ms"], found[0]["uncertain"]) == ("2", "0.08", "false")
    assert found[1]["inputs"] == "self: (64, 64)" and len(found[1]["id"]) == 16
    assert (found[-2]["operator"], found[-2]["calls"], found[-2]["time_ms"]) == ("svd", "2", "")


def test_csv_of_cases_has_each_once(program):
    found = rows(ranked(find_hotspots([program], by=("case",)), 2, "csv"))
    assert [one["kind"] for one in found] == ["case", "case", "not measured", "not measured"]


def test_groups_of_other_dimensions_have_their_values(program):
    found = find_hotspots([program], by=("operator", "dtype"))
    first = json.loads(ranked(found, None, "json"))["hotspots"][0]
    assert (first["operator"], first["dtype"]) == ("mm", "float32")
    assert first["cases"][0]["operator"] == "mm"
    group, case, *_ = rows(ranked(found, None, "csv"))
    assert (group["kind"], group["operator"], group["dtype"]) == ("operator,dtype", "mm", "float32")
    assert (case["operator"], case["dtype"]) == ("mm", "")
