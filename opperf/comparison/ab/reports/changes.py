"""The figures of a session, as a page draws them."""

from __future__ import annotations

from collections.abc import Iterator

from opperf.comparison.ab.report import Report, Row
from opperf.comparison.results import TITLE
from opperf.comparison.statistics.data import Verdict
from opperf.model import DIFFERENT
from opperf.reports.model import ChangeRow, Changes, Tone

INTERVAL = "90 % interval"
"""Each bound is wrong with a probability of 5 %, `Thresholds.same_level`."""

TONES: dict[Verdict, Tone] = {
    Verdict.REGRESSED: "worse",
    Verdict.IMPROVED: "better",
    Verdict.AMBIGUOUS: "open",
    Verdict.INVALID: "open",
}


def changes_of(report: Report) -> Changes:
    """Returns all figures."""
    return Changes(
        sides=(report.a, report.b),
        threshold=report.threshold,
        same_within=report.same_within,
        rows=list(map(_row, report.rows)),
        interval=INTERVAL,
    )


def _row(row: Row) -> ChangeRow:
    return ChangeRow(
        operator=row.operator,
        inputs=", ".join(filter(None, (row.inputs, row.settings))),
        metric=row.metric,
        verdict=row.verdict.value,
        tone=TONES.get(row.verdict, ""),
        ratio=row.ratio,
        low=row.low,
        high=row.high,
        detectable=row.detectable,
        facts=tuple(_facts(row)),
        notes=(row.note,) if row.note else (),
    )


def _facts(row: Row) -> Iterator[tuple[str, str]]:
    yield "Blocks", str(row.blocks)
    if row.p is not None:
        yield "P-value of a change", f"{row.p:.2g}"
    if row.results == DIFFERENT:
        yield TITLE, row.difference
    yield "Id", row.id
