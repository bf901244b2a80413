"""A comparison for a program."""

import csv
import io
import json

from tests.writing import compared


def test_json_has_every_key_and_every_row(everything, row, comparison):
    content = json.loads(compared(everything, "json"))
    assert {len(case) for case in content["rows"]} == {25}
    relu = content["rows"][0]
    assert (relu["verdict"], relu["ratio"], relu["unit"]) == ("suspect", 1.5, "ns")
    assert content["rows"][2]["ratio"] is None
    assert content["environment"][1] == {"field": "settings.threads", "base": None, "new": 4}
    assert [(one["kind"], one["verdict"]) for one in content["changes"]] == [
        ("broken", "missing"),
        *2 * [("disappeared", "missing")],
        ("appeared", None),
    ]
    assert content["groups"][-1]["category"] == "all"
    assert content["confirm"] == everything.confirm
    odd = comparison(row(base=float("nan"), new=float("inf"), ratio=None))
    assert json.loads(compared(odd, "json"))["rows"][0]["base"] is None


def test_csv_has_every_row(everything, hostile):
    rows = list(csv.DictReader(io.StringIO(compared(everything, "csv"))))
    found, gone = rows[:5], rows[5:]
    assert [one["operator"] for one in found] == ["relu", "exp", "log", "FullyConnected", "relu"]
    assert [(one["operator"], one["verdict"]) for one in gone] == [
        ("svd", "missing"),
        *2 * [("dot", "missing")],
    ]
    assert gone[0]["note"] == "measured in base, not in new: crashed: signal 11"
    assert {one["ratio"] for one in gone} == {""}
    assert rows[0]["verdict"] == "suspect" and float(rows[0]["ratio"]) == 1.5
    assert rows[2]["ratio"] == rows[3]["low"] == ""
    odd, *_ = csv.DictReader(io.StringIO(compared(hostile, "csv")))
    assert odd["operator"] == odd["inputs"] == hostile.rows[0].operator


def test_json_is_to_be_read_and_ends_with_a_line_end(everything):
    text = compared(everything, "json")
    # Keys of the object are indented by two columns.
    assert text.startswith('{\n  "command": "compare",\n') and text.endswith("\n}\n")


def test_json_tells_both_sides_whole(everything):
    content = json.loads(compared(everything, "json"))
    assert content["sides"][0] == {
        "path": "base.jsonl",
        "started": "2025-01-02T03:04:05+00:00",
        "cases": 4,
        "averages": False,
        "comparability": "",
        "arm": "",
        "machine": "",
        "loaded": [],
    }
    assert (content["threshold"], content["unmeasured"]) == (0.02, 2)
