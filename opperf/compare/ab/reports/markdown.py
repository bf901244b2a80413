"""The report of a session as Markdown, for a comment on a pull request: the answer and what to do
first, in words that need no manual, and the rest folded."""

from __future__ import annotations

from tabulate import tabulate

from opperf.compare.ab.report import Report
from opperf.compare.ab.reports.tables import (
    INTERVAL,
    LISTS,
    Table,
    summary,
    tables,
)
from opperf.compare.results import UNCOMPARED, count_different
from opperf.compare.statistics.data import Verdict
from opperf.results.markdown import fold
from opperf.results.text import pluralize
from opperf.shares import share_text

TITLES = {
    Verdict.REGRESSED: "Slower",
    Verdict.IMPROVED: "Faster",
    Verdict.AMBIGUOUS: "Not clear",
    Verdict.SAME: "No change",
}
"""Titles of the tables of verdicts."""

FOLDED = frozenset(
    {TITLES[Verdict.AMBIGUOUS], TITLES[Verdict.SAME], UNCOMPARED, *(title for title, *_ in LISTS)}
)
"""Titles of the tables without a finding, which are folded."""

HEADERS = {
    "Metric": "Pass",
    "B/A": "Time, B/A",
    INTERVAL: "Likely between",
    "Detectable": "Visible from",
}
"""Plainer headers of columns."""

HOW = (
    "A and B were measured in turn, each time in a fresh process. B/A is B's time over A's: 1.10 "
    "means that B takes 10 % longer. It is likely (90 %) between the two values beside it. A "
    "smaller change than the one that is visible cannot be told from noise."
)
"""How to read the tables."""


def markdown_report(report: Report) -> str:
    """The report as Markdown."""
    blocks = [
        f"## {headline(report)}",
        *advice(report),
        f"- A, before: `{report.a}`\n- B, after: `{report.b}`\n- {report.framework}",
        *map(_block, tables(report)),
        fold(
            "How it was measured, and how to read it",
            "\n".join(f"- {line}" for line in (HOW, *summary(report))),
        ),
    ]
    return "\n\n".join(blocks) + "\n"


def headline(report: Report) -> str:
    """The result in a few words."""
    if not report.valid:
        return "No result: A differs from itself, so the machine was too noisy"
    number = {verdict: report.counts.get(verdict.value, 0) for verdict in TITLES}
    figures = pluralize(sum(report.counts.values()), "figure")
    parts = [
        f"{number[verdict]} {words}"
        for verdict, words in (
            (Verdict.REGRESSED, "slower"),
            (Verdict.IMPROVED, "faster"),
            (Verdict.SAME, "without change"),
            (Verdict.AMBIGUOUS, "not clear"),
        )
        if number[verdict]
    ]
    if differing := count_different(report.results):
        parts.insert(0, f"different results in {pluralize(differing, 'case')}")
    unfinished = "" if report.complete else " (unfinished)"
    return f"Of {figures}: {', '.join(parts) or 'none measured yet'}{unfinished}"


def advice(report: Report) -> list[str]:
    """What to do, a paragraph each."""
    if not report.valid:
        return [f"**What to do:** {report.reason}. `opperf doctor` says what disturbs a machine."]
    slower, open_ = (
        report.counts.get(verdict.value, 0) for verdict in (Verdict.REGRESSED, Verdict.AMBIGUOUS)
    )
    found = []
    if differing := count_different(report.results):
        found.append(
            "**What to do first:** A and B have different results in "
            f"{pluralize(differing, 'case')}. See which of the two is right: a wrong result is not "
            "faster."
        )
    if slower:
        found.append(
            f"**What to do:** {pluralize(slower, 'figure')} of B "
            f"{'is' if slower == 1 else 'are'} slower by more than {share_text(report.threshold)}, "
            "which chance does not explain. Find the cause, or say why it is acceptable."
        )
    if open_:
        hidden = "" if report.detectable is None else f" (about {report.detectable:.0%})"
        found.append(
            f"{pluralize(open_, 'figure')} {'is' if open_ == 1 else 'are'} not clear: a small "
            f"change{hidden} may be hidden in the noise. More blocks (`--blocks "
            f"{2 * report.block_cap}`) or a quieter machine can tell."
        )
    return found or ["Nothing to do: no figure is slower."]


def _block(table: Table) -> str:
    """A table with its title; folded if nothing is found in it."""
    titles = {verdict.value.capitalize(): title for verdict, title in TITLES.items()}
    title = titles.get(table.title, table.title)
    rows = [[cell.replace("|", "\\|") for cell in row] for row in table.rows]
    headers = [HEADERS.get(header, header) for header in table.headers]
    grid = tabulate(rows, headers, tablefmt="github", disable_numparse=True)
    body = f"{grid}\n\n{table.remainder}" if table.remainder else grid
    number = len(table.rows) + table.more
    return fold(f"{title} ({number})", body) if title in FOLDED else f"### {title}\n\n{body}"
