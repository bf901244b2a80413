"""The functions of a page's script, as Node runs them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from opperf.reports.pages import page

FILE = Path(page.__file__).with_name("functions.js")

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

ROWS = [
    {"cells": ["conv10", "x: (8,)", [5, None, 0]], "facts": [["Id", "abc"]], "notes": []},
    {"cells": ["conv9", "x: (4,)", [50, 1, 0]], "facts": [], "notes": ["drifts"]},
    {"cells": ["relu", "x: (8,)", None], "facts": [], "notes": []},
]

EXPRESSIONS = {
    "names in order": "sorted(rows, [0, 1, 2], 0, 'name', false)",
    "the largest first": "sorted(rows, [0, 1, 2], 2, 'figure', true)",
    "the smallest first": "sorted(rows, [0, 1, 2], 2, 'figure', false)",
    "all words": "matching(texts, rows, 'CONV (8,)', {})",
    "in facts and notes": "[matching(texts, rows, 'abc', {}), matching(texts, rows, 'drift', {})]",
    "a value of a column": "matching(texts, rows, '', {1: 'x: (8,)'})",
    "units": "[[1234, 'ns'], [0.5, 'ns'], [2e9, 'B'], [7, 'GB/s'], [2.5e6, 'ns']]"
    ".map(([value, unit]) => withUnit(value, unit))",
    "shares": "[[100, 1, 0], [100, 250, 0], [100, 20, 0], [0, 1, 0], [3, null, 0]].map(shareText)",
    "bins": "histogram([[1, 1, 2, 2, 3], [3, 4, 4, 5, 1000]])",
    "one bin": "histogram([[3, 3, 3]])",
    "sides": "byTitle([{title: 'Forward', side: 'a'}, {title: 'Memory'},"
    " {title: 'Forward', side: 'b'}]).map((group) => group.map((one) => one.side || ''))",
    "lines": "aligned([{points: [[1, 10, 9, 11], [4, 40, null, null]], is_joined: true},"
    " {points: [[4, 4, null, null], [4, 5, null, null]], is_joined: false}])",
    "places": "[1, 2, 0.5, 100].map((ratio) => placeOf(ratio, Math.log(2)))",
    "defaults": "withDefaults({table: {columns: [{kind: 'name'}], rows: [{cells: ['a']}]}})",
}


@pytest.fixture(scope="module")
def answers():
    columns = [{"kind": kind} for kind in ("name", "text", "figure")]
    code = (
        f"Object.assign(globalThis, require({json.dumps(str(FILE))}));"
        f"const rows = {json.dumps(ROWS)}, columns = {json.dumps(columns)};"
        "const texts = rows.map((row) => searchText(row, columns));"
        "console.log(JSON.stringify({"
        + ",".join(f"{json.dumps(name)}: {code}" for name, code in EXPRESSIONS.items())
        + "}))"
    )
    done = subprocess.run(["node", "-e", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_rows_are_sorted_with_those_without_a_value_last(answers):
    assert answers["names in order"] == [1, 0, 2], "numbers in names count as numbers"
    assert answers["the largest first"] == [1, 0, 2]
    assert answers["the smallest first"] == [0, 1, 2]


def test_rows_are_searched_by_all_words_and_filtered(answers):
    assert answers["all words"] == [0]
    assert answers["in facts and notes"] == [[0], [1]]
    assert answers["a value of a column"] == [0, 2]


def test_figures_have_a_unit_that_suits_them(answers):
    assert answers["units"] == ["1.234 us", "0.5 ns", "2 GB", "7 GB/s", "2.5 ms"]
    assert answers["shares"] == ["±1.0 %", "±>100 %", "±20 %", "", ""]


def test_a_histogram_counts_every_sample(answers):
    bins, counts, beyond = answers["bins"]
    assert list(map(sum, counts)) == [5, 4] and beyond == 1 and len(bins) == len(counts[0]) >= 5
    assert answers["one bin"] == [[3], [[3]], 0]


def test_both_sides_of_a_comparison_are_drawn_together(answers):
    assert answers["sides"] == [["a", "b"], [""]]


def test_lines_are_on_common_sizes(answers):
    found = answers["lines"]
    assert found["sizes"] == [1, 4]
    assert [own["y"] for own in found["series"]] == [[10, 40], [None, 4], [None, 5]]
    assert [own["line"] for own in found["series"]] == [0, 1, 1]


def test_ratios_have_places_that_mirror(answers):
    assert answers["places"] == pytest.approx([0.5, 1, 0, 1])


def test_what_json_leaves_out_is_at_its_default(answers):
    table = answers["defaults"]["table"]
    assert table["rows"][0]["samples"] == [] and table["rows"][0]["environment"] is None
    assert answers["defaults"]["charts"] == []
