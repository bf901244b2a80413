"""The report of `opperf doctor`."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from opperf.machine.health.finding import Finding, Level
from opperf.machine.health.jitter import Health
from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, TEXT, Field, rows_of, table_of
from opperf.reports.model import ColumnKind, Report, Section, Test, Tone

TONES: dict[Level, Tone] = {"ok": "", "warn": "worse", "unknown": "open"}

RESULTS: dict[Level, Literal["failure", "skipped", "system-out"]] = {
    "ok": "system-out",
    "warn": "failure",
    "unknown": "skipped",
}
"""Results of findings as tests."""

LEVEL = ColumnKind(tone=TONES.__getitem__, is_whole=True)


def title(name: str) -> str:
    """Returns a finding's name in words."""
    return name.replace("_", " ")


FIELDS: tuple[Field[Finding], ...] = (
    Field("name", "Finding", LABEL, lambda found: found.name, lambda found: title(found.name)),
    Field("level", "Level", LEVEL, lambda found: found.level),
    Field("state", "State", TEXT, lambda found: found.state),
    Field("explanation", None, TEXT, lambda found: found.explanation),
    Field("fix", None, TEXT, lambda found: found.fix),
)


def report_of(health: Health) -> Report:
    """Returns all findings, then the reason of each warning and the command that fixes it."""
    findings = health.findings
    warnings = [
        Section(
            prose=[f"{title(found.name)}: {found.explanation}"],
            code=[found.fix] if found.fix else (),
        )
        for found in findings
        if found.level == "warn"
    ]
    levels = Counter(found.level for found in findings)
    counts = f"{levels['unknown']} unknown, {levels['ok']} ok"
    closing = Section(prose=[f"{pluralize(len(warnings), 'warning')}, {counts}"])
    return Report(
        "doctor",
        "",
        (Section(table=table_of(FIELDS, findings)), *warnings, closing),
        health,
        *rows_of(FIELDS, findings),
        tests=[
            Test("machine", found.name, found.name, RESULTS[found.level], found.state)
            for found in findings
        ],
    )
