"""What two files are found to have, by what is looked for, and the exit code."""

from __future__ import annotations

from opperf.comparison.compared import Comparison
from opperf.comparison.results import count_different
from opperf.comparison.statistics.data import Verdict
from opperf.errors import FOUND, INCONCLUSIVE
from opperf.model import DIFFERENT

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
