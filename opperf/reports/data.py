"""A report for programs: JSON with everything in it, its rows as CSV, and JUnit's XML, in which
continuous integration shows a test for each row."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter

from opperf.reports.formats import json_of
from opperf.reports.model import Report, Test
from opperf.results.columns import rows_text
from opperf.results.web_page import xml_text


def write_json(report: Report, width: int | None = None) -> str:
    """Returns the report as one JSON object, which always has every key."""
    return json_of(report.data)


def write_csv(report: Report, width: int | None = None) -> str:
    """Returns the rows with a header; a missing value is an empty cell."""
    return rows_text([report.header, *report.rows])


DECLARATION = "<?xml version='1.0' encoding='utf-8'?>"
"""A constant, as the library would name the locale's encoding."""


def write_junit(report: Report, width: int | None = None) -> str:
    """Returns the document."""
    listed = report.tests or _tests_of_rows(report)
    suite = ET.Element("testsuite", name=f"opperf {report.command}")
    # Histories go by class and name, so that an id stands only where both are shared.
    numbers = Counter((case.operator, case.name) for case in listed)
    for case in listed:
        is_shared = numbers[case.operator, case.name] > 1
        name = f"{case.name} {case.id}" if is_shared else case.name
        test = ET.SubElement(
            suite, "testcase", classname=xml_text(case.operator), name=xml_text(name)
        )
        _add_result(test, case)
    suite.set("tests", str(len(listed)))
    for counted, result in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(counted, str(len(suite.findall(f"testcase/{result}"))))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return f"{DECLARATION}\n{ET.tostring(root, encoding='unicode')}\n"


def _tests_of_rows(report: Report) -> list[Test]:
    """Returns a test for each row, which passes: nothing is judged."""
    return [
        Test(
            report.command,
            str(row[0]),
            str(number),
            "system-out",
            ", ".join(f"{key}: {one}" for key, one in zip(report.header, row, strict=True)),
        )
        for number, row in enumerate(report.rows, 1)
    ]


def _add_result(test: ET.Element, case: Test) -> None:
    message = xml_text(case.message)
    if case.result == "system-out":
        ET.SubElement(test, "system-out").text = message
    elif case.kind:
        ET.SubElement(test, case.result, type=case.kind, message=message)
    else:
        ET.SubElement(test, case.result, message=message)
