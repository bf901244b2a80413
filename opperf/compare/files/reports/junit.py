"""A comparison as JUnit's XML, a test for each case and metric, which continuous integration
shows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter

from opperf.compare.files.comparison import Change, Comparison, Row
from opperf.compare.files.outcome import fails, is_missing
from opperf.compare.files.reports.cells import (
    CHANGES,
    case_text,
    figure_texts,
    interval_text,
    ratio_text,
    remarks,
    unit_of,
)
from opperf.compare.statistics.data import Verdict

DECLARATION = "<?xml version='1.0' encoding='utf-8'?>"
"""A constant, as the library would name the locale's encoding."""

NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot express; an operator's message may contain them."""


def junit_report(comparison: Comparison) -> str:
    """The report. Findings of `--fail-on` are failures; ambiguous rows and other changes are
    skipped."""
    suite = ET.Element("testsuite", name="opperf compare")
    tests: list[Row | Change] = [*comparison.rows, *comparison.changes]
    # Viewers merge tests of the same name.
    shared = {name for name, number in Counter(map(_name, tests)).items() if number > 1}
    for one in tests:
        name = _name(one)
        test = ET.SubElement(
            suite,
            "testcase",
            classname=_clean(one.operator),
            name=_clean(f"{name} {one.id}" if name in shared else name),
        )
        if isinstance(one, Row):
            _add_row(test, comparison, one)
        else:
            _add_change(test, comparison, one)
    suite.set("tests", str(len(tests)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return f"{DECLARATION}\n{ET.tostring(root, encoding='unicode')}\n"


def _name(one: Row | Change) -> str:
    return " ".join(part for part in (case_text(one), one.metric) if part)


def _add_row(test: ET.Element, comparison: Comparison, row: Row) -> None:
    message = _clean(_row_text(row))
    if fails(comparison, row):
        ET.SubElement(test, "failure", type=row.verdict.value, message=message)
    elif row.verdict is Verdict.AMBIGUOUS:
        ET.SubElement(test, "skipped", message=message)
    else:
        ET.SubElement(test, "system-out").text = message


def _row_text(row: Row) -> str:
    unit = unit_of([row])
    parts = [
        f"{row.verdict.value}: {' to '.join(figure_texts(row, unit))} {unit.name}",
        f"ratio {ratio_text(row.ratio)}",
        *([f"interval {interval_text(row)}"] if row.low is not None else []),
        *([remarks(row)] if remarks(row) else []),
    ]
    return ", ".join(parts)


def _add_change(test: ET.Element, comparison: Comparison, change: Change) -> None:
    title = CHANGES[change.kind].lower()
    message = _clean(f"{title}: {change.reason}" if change.reason else title)
    if is_missing(comparison, change):
        ET.SubElement(test, "failure", type="missing", message=message)
    else:
        ET.SubElement(test, "skipped", message=message)


def _clean(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)
