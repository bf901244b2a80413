"""The exit code of a session of times, by what its report is to fail on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from opperf.comparison.ab.report import Report
from opperf.comparison.results import count_different
from opperf.comparison.statistics.data import Verdict
from opperf.errors import FOUND, INCONCLUSIVE
from opperf.model import DIFFERENT

EXIT_CODES = {
    Verdict.REGRESSED.value: FOUND,
    DIFFERENT: FOUND,
    Verdict.MISSING.value: FOUND,
    Verdict.IMPROVED.value: FOUND,
    Verdict.AMBIGUOUS.value: INCONCLUSIVE,
}
"""Exit codes by finding that a session can fail on."""

OPEN = frozenset({Verdict.AMBIGUOUS, Verdict.INVALID, Verdict.MISSING, Verdict.INSTRUCTIONS_SAME})
"""Verdicts that decide nothing of a time."""


def outcome(reports: Mapping[tuple[str, str], Report]) -> tuple[int, str]:
    """Returns the exit code of a session's comparisons, and the findings if it is 1, as one line:
    the worst one's, in the order of the codes."""
    found = {names: outcome_of(report) for names, report in reports.items()}
    codes = {code for code, _ in found.values()}
    code = next((code for code in (FOUND, INCONCLUSIVE) if code in codes), 0)
    said = {names: why for names, (own, why) in found.items() if own == code and why}
    if len(found) == 1:
        return code, "".join(said.values())
    return code, "; ".join(f"{new} against {base}: {why}" for (base, new), why in said.items())


def outcome_of(report: Report) -> tuple[int, str]:
    """Returns the exit code of a comparison, and the findings if it is 1, as one line:
    of `Report.fail_on`, the shift of all operators together included. Results that differ and
    figures that are missing are findings in an invalid session too, as no noise hides them.
    Inconclusive where no figure is decided, unless none had to be timed: what counts say fails
    nothing."""
    numbers = Counter(row.verdict.value for row in report.rows)
    numbers[DIFFERENT] = count_different(report.results)
    if report.valid and report.shift is not None:
        numbers[report.shift.verdict.value] += 1
    asked = {word: numbers[word] for word in report.fail_on if numbers[word]}
    found = [f"{number} {word}" for word, number in asked.items() if EXIT_CODES[word] == FOUND]
    if found:
        return FOUND, ", ".join(found)
    if report.complete and report.gate is not None and not report.gate.timed:
        return 0, ""
    is_open = not report.valid or all(row.verdict in OPEN for row in report.rows)
    return INCONCLUSIVE if is_open or asked else 0, ""
