"""Every command that compares has one shape of JSON, one header of CSV, and one form of tests."""

import csv
import io
import json
import xml.etree.ElementTree as ET

import jsonschema
import pytest

from opperf.comparison import nodes
from opperf.comparison.ab.telling import telling_among
from opperf.comparison.ab.telling import telling_of as of_session
from opperf.comparison.files.telling import telling_of as of_files
from opperf.comparison.report import report_of, report_of_several
from opperf.comparison.suites import comparing
from tests.comparison.ab.test_report import compared_session
from tests.comparison.files.reports.conftest import compared_files
from tests.comparison.test_nodes import run_of
from tests.suites.results.making import of_rates
from tests.writing import told
from tools import document_columns

COMMANDS = ("compare", "ab", "nodes", "suite compare")


@pytest.fixture
def compared(tmp_path):
    """Makes the comparison of a command, and what its judge says of it."""

    def made(command):
        if command == "compare":
            found = compared_files()
            return found, of_files(found)
        if command == "ab":
            found = compared_session()
            return found, of_session(found)
        if command == "nodes":
            factors = dict.fromkeys("abcdefgh", 1.0) | {"c": 1.2}
            found = nodes.compare_nodes(run_of(factors), 0.02)
            return found, nodes.telling_of(found, "nodes.jsonl")
        base, new = (
            of_rates(tmp_path, {"slow": rates, "gone": 1.0}, f"{name}.jsonl")
            for name, rates in (("base", [10.0, 10.1, 9.9]), ("new", [5.0, 5.1, 4.9]))
        )
        found = comparing.compare(base, new)
        return found, comparing.telling_of(found)

    return made


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["text", "md", "html", "csv", "json", "junit"])
def test_every_format_has_every_row_of_every_command(compared, command, name):
    found, telling = compared(command)
    report = report_of(found, telling)
    assert report.command == found.command == command
    text = told(report, name)
    for row in found.rows:
        assert row.operator in text
    if name == "json":
        content = json.loads(text)
        assert list(content) == list(json.loads(told(report_of(*compared("compare")), "json")))
        assert [one["verdict"] for one in content["rows"]] == [
            row.verdict.value for row in found.rows
        ]
        for row in content["rows"]:
            jsonschema.validate(row, json.loads(document_columns.SCHEMA.read_text()))
    elif name == "csv":
        header, *rows = csv.reader(io.StringIO(text))
        assert header[:4] == ["a", "b", "id", "operator"] and header[-1] == "difference"
        gone = [change for change in found.changes if change.kind in found.missing]
        assert len(rows) == len(found.rows) + len(gone)
    elif name == "junit":
        (suite,) = ET.fromstring(text)
        assert suite.get("name") == f"opperf {command}"
        reasons = sum(map(len, found.reasons.values()))
        assert len(suite) == len(found.rows) + len(found.changes) + reasons
        first, row = suite[0], found.rows[0]
        assert first.get("classname") == row.operator
        assert first.get("name").startswith(row.operator) and row.metric in first.get("name")


@pytest.mark.parametrize("name", ["text", "md", "html", "csv", "json", "junit"])
def test_several_arms_are_the_comparisons_of_each_with_the_first(compared, name):
    found, _ = compared("ab")
    text = told(report_of_several([(found, telling_among(found))] * 2), name)
    if name == "json":
        assert [list(one) for one in json.loads(text)] == 2 * [
            list(json.loads(told(report_of(*compared("compare")), "json")))
        ]
    else:
        assert (
            text.count("broadcast_add") >= 2 * len(found.rows)
            and "B against A" in text
            or (name == "csv")
        )


def test_the_docs_have_the_columns_that_are_declared():
    for path, text in document_columns.documents().items():
        assert path.read_text() == text, "run tools/document_columns.py"
