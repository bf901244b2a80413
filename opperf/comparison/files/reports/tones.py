"""The tones of verdicts, for a reader who only skims."""

from __future__ import annotations

from opperf.comparison.files.comparison import Row
from opperf.comparison.statistics.data import Verdict
from opperf.model import DIFFERENT
from opperf.reports.model import Tone

TONES: dict[Verdict, tuple[Tone, Tone]] = {
    Verdict.REGRESSED: ("worse", "worse"),
    Verdict.DIFFERENT: ("worse", "worse"),
    Verdict.MISSING: ("worse", "worse"),
    Verdict.IMPROVED: ("better", "better"),
    Verdict.SUSPECT: ("better", "worse"),
    Verdict.AMBIGUOUS: ("open", "open"),
    Verdict.INVALID: ("open", "open"),
}
"""Tone of a verdict: where the new figure is not worse, and where it is."""


def tone_of(row: Row) -> Tone:
    """Returns the tone of a row's verdict; worse where its results differ."""
    if row.results == DIFFERENT:
        return "worse"
    return TONES.get(row.verdict, ("", ""))[row.is_worse]
