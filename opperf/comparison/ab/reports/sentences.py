"""The sentences of a session's report."""

from __future__ import annotations

import math

from opperf.comparison.ab.forecast import processes
from opperf.comparison.ab.report import CoarseReport, CoarseRow, GateReport, Report
from opperf.comparison.results import count_different, sentence
from opperf.comparison.statistics.blocks import BLOCK
from opperf.comparison.statistics.data import Shift, Verdict
from opperf.comparison.weighted import ARMS, sentences
from opperf.plurals import pluralize
from opperf.shares import detectable_text, share_text

HOW = (
    "A and B were measured in turn, each time in a fresh process. B/A is B's time over A's: 1.10 "
    "means that B takes 10 % longer. It is likely (90 %) between the two values beside it. A "
    "smaller change than the one that is visible cannot be told from noise."
)
"""How to read the tables."""

ALTERNATING = (
    "Calls of A and B alternated within each process, as one can have both, so that its level is "
    "in no ratio; --order block gives each arm processes of its own."
)

HOW_TITLES = {
    "times": "How it was measured, and how to read it",
    "checks": "How it was compared",
}
"""Titles of the summary on a page, by the kind of report."""

MISSING = Verdict.MISSING.value

WORDS = {
    Verdict.REGRESSED: "slower",
    Verdict.MISSING: "missing in B",
    Verdict.IMPROVED: "faster",
    Verdict.SAME: "without change",
    Verdict.AMBIGUOUS: "not clear",
    Verdict.INSTRUCTIONS_SAME: "with the same instructions and not timed",
}
"""Verdicts in words that need no manual, in the order of the headline, which says first in how many
cases the results differ."""


def summary(report: Report) -> list[str]:
    """The summary of the session, a sentence each."""
    if report.kind == "checks":
        cases = pluralize(report.cases, "case")
        called = f"{cases} called in A and B, and nothing timed."
        return [called, *([sentence(report.results)] if report.results else [])]
    return [
        *_counts(report),
        *([f"{report.same_files}."] if report.same_files else []),
        *([sentence(report.results)] if report.results else []),
        f"Changed: by more than {report.threshold:.1%}; same: within {report.same_within:.1%}. "
        f"Measured by {processes(report.processes)}.",
        *([ALTERNATING] if report.order == "alternate" else []),
        *([_gate(report.gate, report)] if report.gate else []),
        *_power(report),
        *([_adjustment(report)] if report.explained is not None or report.note else []),
        *([_shift(report.shift, report.gate)] if report.valid and report.shift else []),
        *(sentences(report.weighted, ARMS) if report.weighted else []),
        *([_coarse(report.coarse)] if report.coarse else []),
    ]


def _counts(report: Report) -> list[str]:
    counts = ", ".join(
        f"{report.counts[verdict.value]} {verdict.value}"
        for verdict in Verdict
        if verdict.value in report.counts
    )
    figures = pluralize(sum(report.counts.values()), "figure")
    return [
        *([f"Invalid: {report.reason}."] if not report.valid else []),
        *([_unfinished(report)] if report.valid and not report.complete else []),
        f"{figures} of {pluralize(report.cases, 'case')}: {counts or 'nothing measured'}.",
    ]


def counted(report: Report, ratio: str = "B/A") -> list[str]:
    """Returns what a comparison among several has found; `ratio` names the ratio of its arms."""
    shift = [_shift(report.shift, report.gate, ratio)] if report.valid and report.shift else []
    return [*_counts(report), *shift]


def _unfinished(report: Report) -> str:
    if not report.blocks:
        return f"Unfinished: no verdicts before {report.first_look} blocks; --resume continues."
    return (
        f"Unfinished: verdicts after {report.blocks} of at most {report.block_cap} blocks; "
        "--resume continues."
    )


def _power(report: Report) -> list[str]:
    if report.detectable is None or report.detectable_with_four_times is None:
        return []
    change, smaller = map(detectable_text, (report.detectable, report.detectable_with_four_times))
    return [
        f"The smallest change that could have been found in the median figure is {change}; smaller "
        f"ones cannot be told from noise. With four times the blocks it would be {smaller}."
    ]


def _adjustment(report: Report) -> str:
    if report.explained is None:
        return f"{report.note[:1].upper()}{report.note[1:]}."
    return (
        f"Adjusted for the core's speed, which explains {report.explained:.0%} of the median "
        "figure's variance."
    )


def _gate(gate: GateReport, report: Report) -> str:
    parts = [
        f"{gate.identical} identical",
        *([f"{gate.moved} moved"] if gate.moved else []),
        *([f"{gate.uncounted} not counted"] if gate.uncounted else []),
    ]
    sample = f", with a random sample of {pluralize(gate.sample, 'case')}" if gate.sample else ""
    left = report.counts.get(Verdict.INSTRUCTIONS_SAME.value, 0)
    rest = (
        f" The time of the other {left} was not measured: caches, branches, other threads and the "
        "kernel can change it with the same instructions."
    )
    return (
        f"Instructions of both arms: {', '.join(parts)}; {gate.timed or 'none'} timed{sample}."
        f"{rest if left else ''}"
    )


def _shift(shift: Shift, gate: GateReport | None, name: str = "B/A") -> str:
    ratio, low, high = (math.exp(value) for value in (shift.effect, shift.low, shift.high))
    note = f"; {shift.note}" if shift.note else ""
    subject = "All timed figures" if gate else "All operators"
    return (
        f"{subject} together: {shift.verdict.value}, {name} {ratio:.3f} "
        f"({low:.3f} to {high:.3f}), p {shift.p:.2g}{note}."
    )


def _coarse(coarse: CoarseReport) -> str:
    number = len(changed_rows(coarse))
    figures = pluralize(number, "figure") if number else "no figure"
    effect = "; this does not affect the exit code" if number else ""
    return (
        f"With all threads ({pluralize(coarse.blocks, 'block')} of {BLOCK}): {figures} changed by "
        f"more than {coarse.threshold:.0%}{effect}."
    )


def changed_rows(coarse: CoarseReport) -> list[CoarseRow]:
    """Returns the figures that changed with all threads."""
    return [row for row in coarse.rows if row.changed]


def headline(report: Report) -> str:
    """Returns the result in a few words."""
    if report.kind == "checks":
        return summary(report)[-1].removesuffix(".")
    differing, missing = count_different(report.results), report.counts.get(MISSING, 0)
    if not report.valid and not differing and not missing:
        return "No result: A differs from itself, so the machine was too noisy"
    number = {verdict: report.counts.get(verdict.value, 0) for verdict in WORDS}
    figures = pluralize(sum(report.counts.values()), "figure")
    parts = [f"{number[verdict]} {words}" for verdict, words in WORDS.items() if number[verdict]]
    if differing:
        parts.insert(0, f"different results in {pluralize(differing, 'case')}")
    if not report.valid:
        parts.append("the times invalid")
    unfinished = "" if report.complete else " (unfinished)"
    return f"Of {figures}: {', '.join(parts) or 'none measured yet'}{unfinished}"


def advice(report: Report) -> list[str]:
    """Returns what to do, a paragraph each."""
    slower, unclear = (
        report.counts.get(verdict.value, 0) for verdict in (Verdict.REGRESSED, Verdict.AMBIGUOUS)
    )
    found = []
    if differing := count_different(report.results):
        found.append(
            "**What to do first:** A and B have different results in "
            f"{pluralize(differing, 'case')}. See which of the two is right: a wrong result is not "
            "faster."
        )
    if missing := report.counts.get(MISSING, 0):
        found.append(
            f"**What to do:** B cannot run what A can: {pluralize(missing, 'figure')} "
            f"{'is' if missing == 1 else 'are'} missing. The reasons are beside them."
        )
    if not report.valid:
        reason = f"{report.reason}. `opperf doctor` says what disturbs a machine."
        return [*found, f"**What to do:** {reason}"]
    if slower:
        found.append(
            f"**What to do:** {pluralize(slower, 'figure')} of B "
            f"{'is' if slower == 1 else 'are'} slower by more than {share_text(report.threshold)}, "
            "which chance does not explain. Find the cause, or say why it is acceptable."
        )
    if report.kind == "checks":
        nothing = "Nothing to do: no results differ."
        return found or ([] if unclear == len(report.rows) else [nothing])
    if unclear:
        hidden = ""
        if report.detectable is not None:
            hidden = f" (the smallest that shows is {detectable_text(report.detectable)})"
        found.append(
            f"{pluralize(unclear, 'figure')} {'is' if unclear == 1 else 'are'} not clear: a small "
            f"change may be hidden in the noise{hidden}. More blocks (`--blocks "
            f"{2 * report.block_cap}`) or a quieter machine can tell."
        )
    untimed = report.counts.get(Verdict.INSTRUCTIONS_SAME.value, 0)
    which = "no timed figure" if untimed else "no figure"
    return found or [f"Nothing to do: {which} is slower."]
