"""The words of a comparison of two files besides its rows, and its exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from opperf.comparison.compared import (
    ALL,
    ComparedRow,
    Comparison,
    count_verdicts,
    ratio_text,
    size,
)
from opperf.comparison.results import count_different, sentence
from opperf.comparison.sections import RowGroup, Telling
from opperf.errors import FOUND, INCONCLUSIVE
from opperf.model import DIFFERENT
from opperf.plurals import pluralize
from opperf.reports.markdown import code
from opperf.reports.model import Section
from opperf.shares import share_text
from opperf.statistics.data import Verdict

SHOWN_ROWS = 40
"""Most rows of one metric in a report for readers: two screens. CSV and JSON have all."""

SHOWN_QUIET = 10
"""Rows of a metric with more than `SHOWN_ROWS` and no finding: the largest changes."""

SHOWN_REASONS = 3
"""Most reasons for ambiguous rows: numbers of samples come in many combinations."""

QUIET = (Verdict.SAME, Verdict.NO_CLEAR_CHANGE, Verdict.AMBIGUOUS)
"""Verdicts that are not findings."""


def telling_of(found: Comparison) -> Telling:
    """Returns what it says."""
    commands = (("To confirm", found.confirm), ("Functions that changed", found.explain))
    equal = [] if found.differences else ["No difference between the environments in the files."]
    return Telling(
        headline=f"Operators: {code(found.new.name)} against {code(found.base.name)}",
        answer=(answer(found),),
        groups=[_group(found, metric) for metric in found.metrics],
        how=Section(prose=equal),
        closing=list(_closing(found)),
        commands=[(why, command) for why, command in commands if command],
    )


def _group(found: Comparison, metric: str) -> RowGroup:
    rows = found.rows_of(metric)
    shown, more = select_rows(rows)
    return RowGroup(
        title=f"{metric}: {summary_text(found, metric)}",
        rows=rows,
        without=("Metric", "Note"),
        shown=shown,
        more=more,
        below=reasons(rows),
        is_folded=all(rows[index].verdict in QUIET for index in shown),
        tip=rows[0].described.description,
    )


def answer(comparison: Comparison) -> str:
    """Returns what a reader has to know first, and what to do."""
    rows = comparison.rows
    worse = [row for row in rows if row.verdict is Verdict.REGRESSED]
    suspect = [row for row in rows if row.verdict is Verdict.SUSPECT and row.is_worse]
    gone = [change for change in comparison.changes if change.kind in comparison.missing]
    found = []
    if number := count_different(comparison.results):
        found.append(
            f"**Different results in {pluralize(number, 'case')}.** See which is right "
            "first: a wrong result is not better."
        )
    if worse:
        found.append(
            f"**{_figures(worse)} got worse.** Find the cause, or say why it is acceptable."
        )
    if suspect:
        tool = "the command at the end" if comparison.confirm else "`opperf ab`"
        found.append(
            f"**{_figures(suspect)} may have got worse.** Two separate runs cannot tell that from "
            f"chance; {tool} can."
        )
    if gone:
        found.append(f"**{pluralize(len(gone), 'case')} no longer measured**, listed below.")
    return " ".join(found) or "**Nothing got worse**, as far as these files can tell."


def _figures(rows: Sequence[ComparedRow]) -> str:
    """Returns the number of rows of each metric: `2 figures (forward)`."""
    metrics = ", ".join(dict.fromkeys(row.metric for row in rows))
    return f"{pluralize(len(rows), 'figure')} ({metrics})"


def select_rows(rows: Sequence[ComparedRow]) -> tuple[tuple[int, ...], str]:
    """Returns the indices of the rows to show, findings if there are some, and a sentence."""
    if len(rows) <= SHOWN_ROWS:
        return tuple(range(len(rows))), ""
    # Findings before the rest, large changes before small ones.
    ranks = [(row.verdict in QUIET, size(row)) for row in rows]
    ranked = sorted(range(len(rows)), key=ranks.__getitem__)
    found = sum(row.verdict not in QUIET for row in rows)
    number = min(found, SHOWN_ROWS) if found else SHOWN_QUIET
    left = count_verdicts(rows[index] for index in ranked[number:])
    others = ", ".join(f"{number} {verdict.value}" for verdict, number in left.items())
    return tuple(sorted(ranked[:number])), f"{others} not shown; csv and json have all"


def summary_text(comparison: Comparison, metric: str) -> str:
    """The verdicts of a metric in a sentence: `12 cases: 1 regressed, 11 same`."""
    rows = comparison.rows_of(metric)
    counts = count_verdicts(rows).items()
    verdicts = ", ".join(_verdict_text(rows, verdict, number) for verdict, number in counts)
    means = [m for m in comparison.groups if m.category == ALL and m.metric == metric]
    mean = f"; geometric mean of the ratios {ratio_text(means[0].ratio)}" if means else ""
    return f"{pluralize(len(rows), 'case')} in common: {verdicts}{mean}"


def _verdict_text(rows: Iterable[ComparedRow], verdict: Verdict, number: int) -> str:
    if verdict is not Verdict.SUSPECT:
        return f"{number} {verdict.value}"
    suspect = [row for row in rows if row.verdict is Verdict.SUSPECT]
    worse, better = ("more", "less") if suspect[0].described.lower_is_better else ("less", "more")
    if suspect[0].described.is_time:
        worse, better = "slower", "faster"
    count = sum(row.is_worse for row in suspect)
    parts = ((count, worse), (number - count, better))
    return f"{number} suspect ({', '.join(f'{n} {word}' for n, word in parts if n)})"


def reasons(rows: Iterable[ComparedRow]) -> list[str]:
    """Why rows are ambiguous, the most frequent reasons first."""
    found = Counter(row.note for row in rows if row.verdict is Verdict.AMBIGUOUS)
    shown = found.most_common(SHOWN_REASONS)
    more = found.total() - sum(number for _, number in shown)
    return [
        *(f"{number} ambiguous: {reason}" for reason, number in shown),
        *([f"{more} ambiguous for other reasons"] if more else []),
    ]


def _closing(found: Comparison) -> Iterator[str]:
    """Yields the sentence on the results, limits, and the number of cases without figures."""
    if found.results:
        yield sentence(found.results)
    if limits := _limits(found):
        source = f", by {found.limits_file}" if found.limits_file else ""
        yield f"Changes up to these count as none: {', '.join(limits)}{source}."
    if found.unmeasured:
        yield f"{pluralize(found.unmeasured, 'case')} measured in neither run."


def _limits(comparison: Comparison) -> list[str]:
    """Returns how large a change counts as none, by metric, the limit of most cases first."""
    found = []
    for metric in comparison.metrics:
        operators: dict[str, list[str]] = {}
        for row in comparison.rows_of(metric):
            limit = row.tolerance or share_text(comparison.threshold)
            operators.setdefault(limit, []).append(row.operator)
        first, *others = sorted(operators, key=lambda limit: -len(operators[limit]))
        apart = "; ".join(
            f"{', '.join(dict.fromkeys(operators[limit]))} {limit}" for limit in others
        )
        found.append(f"{metric} {first} ({apart})" if apart else f"{metric} {first}")
    return found


SOUND = frozenset({Verdict.REGRESSED, Verdict.DIFFERENT, Verdict.IMPROVED, Verdict.SAME})
"""Verdicts of figures that are the same on every run."""

HINTS = frozenset({Verdict.SUSPECT, Verdict.NO_CLEAR_CHANGE})
"""Verdicts of figures that scatter."""

ANSWERS: dict[str, frozenset[Verdict]] = {
    "regressed": SOUND,
    "improved": SOUND,
    "suspect": SOUND | HINTS,
}
"""Verdicts that decide whether there is a finding; what is missing is always decided."""

TIMES = "times from two files are at most suspect; use --fail-on suspect, or opperf ab"

AVERAGES = "averages have no spread; compare run files (-f jsonl)"

UNSOUND = "every figure has a note on why it may vary, or cannot be judged; measure both again"

SUGGESTED = {
    "regressed": TIMES,
    "improved": TIMES,
    "suspect": "every common case is ambiguous; measure more samples of each",
}
"""Advice where it is not decided."""

LOOKED_FOR = (*ANSWERS, "missing", DIFFERENT)
"""Findings that `--fail-on` takes."""


def outcome(comparison: Comparison) -> tuple[int, str]:
    """The exit code, and the reason if it is not 0, as one line."""
    found = {word: _count(comparison, word) for word in comparison.fail_on}
    if any(found.values()):
        return FOUND, ", ".join(f"{number} {word}" for word, number in found.items() if number)
    verdicts = {row.verdict for row in comparison.rows}
    open_words = [
        word for word in comparison.fail_on if word in ANSWERS and not verdicts & ANSWERS[word]
    ]
    if open_words and len(open_words) == len(comparison.fail_on):
        return INCONCLUSIVE, "; ".join(
            f"cannot decide whether anything is {word}: {_advice(comparison, word)}"
            for word in open_words
        )
    return 0, ""


def _count(comparison: Comparison, word: str) -> int:
    if word == DIFFERENT:
        return count_different(comparison.results)
    if word in ANSWERS:
        return sum(bool(row.findings((word,))) for row in comparison.rows)
    return sum(change.kind in comparison.missing for change in comparison.changes)


def _advice(comparison: Comparison, word: str) -> str:
    steady = comparison.rows and all(row.described.is_steady for row in comparison.rows)
    if steady and (comparison.base.averages or comparison.new.averages):
        return AVERAGES
    return UNSOUND if steady and word != "suspect" else SUGGESTED[word]
