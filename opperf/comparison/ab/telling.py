"""The words of a session besides its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

from opperf.comparison.compared import (
    CoarseReport,
    Comparison,
    GateReport,
    SessionFacts,
    interval_text,
    ratio_text,
    size,
)
from opperf.comparison.results import MOST, count_different, sentence
from opperf.comparison.sections import RowGroup, Telling, cut
from opperf.plurals import pluralize
from opperf.reports.model import Section
from opperf.shares import detectable_text, share_text
from opperf.statistics.blocks import BLOCK
from opperf.statistics.data import Shift, Verdict

MAX_SAME = 20
"""Most rows of a table of figures that are not `URGENT`: those are the longest."""

SHOWN = {
    Verdict.REGRESSED: "Slower",
    Verdict.DIFFERENT: "Not the same results",
    Verdict.MISSING: "Measured in A, not in B",
    Verdict.IMPROVED: "Faster",
    Verdict.AMBIGUOUS: "Not clear",
    Verdict.SAME: "No change",
    Verdict.INSTRUCTIONS_SAME: "Not timed: the same instructions",
}
"""Verdicts that have a table, in this order, each with its title on a page."""

WITHOUT_TIMES = frozenset({Verdict.DIFFERENT, Verdict.MISSING})
"""Verdicts that an invalid session has too, as no noise hides what they say."""

FOUND = WITHOUT_TIMES | {Verdict.REGRESSED, Verdict.IMPROVED}
"""Verdicts whose tables are not folded."""

CHECKED = frozenset({Verdict.MISSING, Verdict.SAME})
"""Those of a comparison of results alone: other tables have what differs or is not compared."""

URGENT = FOUND | {Verdict.AMBIGUOUS}

UNTIMED = ("Verdict", "Metric")
"""Columns that tables of results alone lack."""


def telling_of(found: Comparison) -> Telling:
    """Returns what a session of two arms says."""
    facts = facts_of(found)
    is_timed, nodes = facts.kind == "times", "node" if len(facts.nodes) == 1 else "nodes"
    how = Section(
        prose=summary(found),
        is_folded=True,
        page_title=HOW_TITLES[facts.kind],
        manual=HOW if is_timed else "",
    )
    return Telling(
        title=f"{facts.framework}: {' against '.join(found.labels)}",
        headline=headline(found),
        answer=advice(found),
        groups=list(_groups(found)),
        ratio="/".join(reversed(found.labels)),
        how=how,
        facts={"Measured by": f"{nodes} {', '.join(facts.nodes)}"} if facts.nodes else {},
        samples="medians of processes",
        has_page=is_timed,
    )


def telling_among(found: Comparison) -> Telling:
    """Returns what a comparison of two of several arms says."""
    shown = list(SHOWN)
    valid = facts_of(found).valid
    rows = [row for row in found.rows if valid or row.verdict in WITHOUT_TIMES]
    rows.sort(key=lambda row: (shown.index(row.verdict), size(row)))
    ratio = "/".join(reversed(found.labels))
    return Telling(
        title=facts_of(found).framework,
        headline=headline(found),
        answer=counted(found),
        groups=[RowGroup("Verdicts", rows, (), *cut(rows, MOST))],
        ratio=ratio,
        how=Section(prose=counted(found, ratio)),
        has_page=False,
    )


def facts_of(found: Comparison) -> SessionFacts:
    """Returns how the session measured."""
    assert found.session is not None
    return found.session


def _groups(found: Comparison) -> Iterator[RowGroup]:
    facts = facts_of(found)
    for verdict, page_title in SHOWN.items():
        if not facts.valid and verdict not in WITHOUT_TIMES:
            continue
        if facts.kind == "checks" and verdict not in CHECKED:
            continue
        rows = sorted((row for row in found.rows if row.verdict is verdict), key=size)
        is_folded = verdict not in FOUND
        yield RowGroup(
            verdict.value.capitalize(),
            rows,
            UNTIMED if facts.kind == "checks" else ("Verdict",),
            *cut(rows, MOST if verdict in URGENT else MAX_SAME),
            is_folded=is_folded,
            page_title=f"{page_title} ({len(rows)})" if is_folded else page_title,
        )


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

HOW_TITLES = {"times": "How it was measured, and how to read it", "checks": "How it was compared"}
"""Titles of the summary on a page, by the kind of session."""

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


def summary(found: Comparison) -> list[str]:
    """The summary of the session, a sentence each."""
    facts = facts_of(found)
    if facts.kind == "checks":
        cases = pluralize(facts.cases, "case")
        called = f"{cases} called in A and B, and nothing timed."
        return [called, *([sentence(found.results)] if found.results else [])]
    return [
        *_counts(found),
        *([f"{facts.same_files}."] if facts.same_files else []),
        *([sentence(found.results)] if found.results else []),
        f"Changed: by more than {found.threshold:.1%}; same: within {found.same_within:.1%}. "
        f"Measured by {pluralize(facts.processes, 'process')}.",
        *([ALTERNATING] if facts.alternates else []),
        *([_gate(facts.gate, found)] if facts.gate else []),
        *_power(found),
        *([_adjustment(found)] if facts.explained is not None or facts.note else []),
        *([_shift(facts.shift, facts.gate)] if facts.valid and facts.shift else []),
        *([_coarse(facts.coarse)] if facts.coarse else []),
    ]


def _counts(found: Comparison) -> list[str]:
    facts = facts_of(found)
    counts = ", ".join(f"{number} {verdict.value}" for verdict, number in found.counts.items())
    figures = pluralize(sum(found.counts.values()), "figure")
    return [
        *([f"Invalid: {facts.reason}."] if not facts.valid else []),
        *([_unfinished(found)] if facts.valid and not facts.complete else []),
        f"{figures} of {pluralize(facts.cases, 'case')}: {counts or 'nothing measured'}.",
    ]


def counted(found: Comparison, ratio: str = "B/A") -> list[str]:
    """Returns what a comparison among several has found; `ratio` names the ratio of its arms."""
    facts = facts_of(found)
    shift = [_shift(facts.shift, facts.gate, ratio)] if facts.valid and facts.shift else []
    return [*_counts(found), *shift]


def _unfinished(found: Comparison) -> str:
    facts = facts_of(found)
    if not facts.blocks:
        return f"Unfinished: no verdicts before {facts.first_look} blocks; --resume continues."
    return (
        f"Unfinished: verdicts after {facts.blocks} of at most {facts.block_cap} blocks; "
        "--resume continues."
    )


def _power(found: Comparison) -> list[str]:
    facts = facts_of(found)
    if found.detectable is None or facts.detectable_with_four_times is None:
        return []
    change, smaller = map(detectable_text, (found.detectable, facts.detectable_with_four_times))
    return [
        f"The smallest change that could have been found in the median figure is {change}; smaller "
        f"ones cannot be told from noise. With four times the blocks it would be {smaller}."
    ]


def _adjustment(found: Comparison) -> str:
    facts = facts_of(found)
    if facts.explained is None:
        return f"{facts.note[:1].upper()}{facts.note[1:]}."
    return (
        f"Adjusted for the core's speed, which explains {facts.explained:.0%} of the median "
        "figure's variance."
    )


def _gate(gate: GateReport, found: Comparison) -> str:
    others = {"moved": gate.moved, "not counted": gate.uncounted}
    parts = [f"{gate.identical} identical", *(f"{n} {word}" for word, n in others.items() if n)]
    sample = f", with a random sample of {pluralize(gate.sample, 'case')}" if gate.sample else ""
    said = f"Instructions of both arms: {', '.join(parts)}; {gate.timed or 'none'} timed{sample}."
    left = found.counts.get(Verdict.INSTRUCTIONS_SAME, 0)
    if not left:
        return said
    return (
        f"{said} The time of the other {left} was not measured: caches, branches, other threads "
        "and the kernel can change it with the same instructions."
    )


def _shift(shift: Shift, gate: GateReport | None, name: str = "B/A") -> str:
    bounds = (math.exp(shift.low), math.exp(shift.high))
    ratio, interval = ratio_text(math.exp(shift.effect)), interval_text(*bounds)
    note = f"; {shift.note}" if shift.note else ""
    subject = "All timed figures" if gate else "All operators"
    return (
        f"{subject} together: {shift.verdict.value}, {name} {ratio} "
        f"({interval}), p {shift.p:.2g}{note}."
    )


def _coarse(coarse: CoarseReport) -> str:
    number = len(coarse.changed)
    figures = pluralize(number, "figure") if number else "no figure"
    effect = "; this does not affect the exit code" if number else ""
    return (
        f"With all threads ({pluralize(coarse.blocks, 'block')} of {BLOCK}): {figures} changed by "
        f"more than {coarse.threshold:.0%}{effect}."
    )


def headline(found: Comparison) -> str:
    """Returns the result in a few words."""
    facts = facts_of(found)
    if facts.kind == "checks":
        return summary(found)[-1].removesuffix(".")
    differing, missing = count_different(found.results), found.counts.get(Verdict.MISSING, 0)
    if not facts.valid and not differing and not missing:
        return "No result: A differs from itself, so the machine was too noisy"
    number = {verdict: found.counts.get(verdict, 0) for verdict in WORDS}
    figures = pluralize(sum(found.counts.values()), "figure")
    parts = [f"{number[verdict]} {words}" for verdict, words in WORDS.items() if number[verdict]]
    if differing:
        parts.insert(0, f"different results in {pluralize(differing, 'case')}")
    if not facts.valid:
        parts.append("the times invalid")
    unfinished = "" if facts.complete else " (unfinished)"
    return f"Of {figures}: {', '.join(parts) or 'none measured yet'}{unfinished}"


def advice(found: Comparison) -> list[str]:
    """Returns what to do, a paragraph each."""
    facts = facts_of(found)
    slower, unclear = (
        found.counts.get(verdict, 0) for verdict in (Verdict.REGRESSED, Verdict.AMBIGUOUS)
    )
    said = []
    if differing := count_different(found.results):
        said.append(
            "**What to do first:** A and B have different results in "
            f"{pluralize(differing, 'case')}. See which of the two is right: a wrong result is not "
            "faster."
        )
    if missing := found.counts.get(Verdict.MISSING, 0):
        said.append(
            f"**What to do:** B cannot run what A can: {pluralize(missing, 'figure')} "
            f"{'is' if missing == 1 else 'are'} missing. The reasons are beside them."
        )
    if not facts.valid:
        reason = f"{facts.reason}. `opperf doctor` says what disturbs a machine."
        return [*said, f"**What to do:** {reason}"]
    if slower:
        said.append(
            f"**What to do:** {pluralize(slower, 'figure')} of B "
            f"{'is' if slower == 1 else 'are'} slower by more than {share_text(found.threshold)}, "
            "which chance does not explain. Find the cause, or say why it is acceptable."
        )
    if facts.kind == "checks":
        nothing = "Nothing to do: no results differ."
        return said or ([] if unclear == len(found.rows) else [nothing])
    if unclear:
        hidden = ""
        if found.detectable is not None:
            hidden = f" (the smallest that shows is {detectable_text(found.detectable)})"
        said.append(
            f"{pluralize(unclear, 'figure')} {'is' if unclear == 1 else 'are'} not clear: a small "
            f"change may be hidden in the noise{hidden}. More blocks (`--blocks "
            f"{2 * facts.block_cap}`) or a quieter machine can tell."
        )
    untimed = found.counts.get(Verdict.INSTRUCTIONS_SAME, 0)
    which = "no timed figure" if untimed else "no figure"
    return said or [f"Nothing to do: {which} is slower."]
