"""How the results of A and B compare, as every report says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opperf.defaults import FAIL_ON
from opperf.errors import UsageError
from opperf.model import DIFFERENT, Check, Difference, LoadedFile, Role, SameResults, Struct
from opperf.plurals import pluralize
from opperf.reports.fields import LONG_NAME, TEXT, Field, table_of, texts_table
from opperf.reports.model import Section
from opperf.results.text import add_distinct
from opperf.statistics.data import Verdict

TITLE = "Results differ"
"""Title of the table of results that differ, and header of the column in other tables."""

WORDS: Mapping[SameResults, str] = {
    "different": "different",
    "same": "the same within rounding",
    "not compared": "not compared",
}
"""How sentences name the outcomes, in this order."""

MOST = 100
"""Most rows of a table; JSON has all."""


class ResultsRow(Struct, frozen=True, omit_defaults=False):
    """How the results of a case compare."""

    id: str
    operator: str
    inputs: str
    outcome: SameResults
    note: str
    differences: tuple[Difference, ...]
    count: int
    """Number of places that differ."""

    @classmethod
    def of(cls, id: str, operator: str, inputs: str, check: Check) -> ResultsRow:
        rest = check.outcome, check.note, check.differences, check.count
        return cls(id, operator, inputs, *rest)


REPLACED = frozenset(
    {Verdict.IMPROVED, Verdict.SAME, Verdict.NO_CLEAR_CHANGE, Verdict.INSTRUCTIONS_SAME}
)
"""Verdicts that are not of a figure whose case computes something else."""


def row_fields(verdict: Verdict, check: Check | None, is_worse: bool = True) -> dict[str, Any]:
    """Returns the verdict of a figure, and what its row says of the results of its case. `is_worse`
    is of a suspect one."""
    if check is None:
        return {"verdict": verdict}
    is_better = verdict is Verdict.SUSPECT and not is_worse
    if check.outcome == DIFFERENT and (verdict in REPLACED or is_better):
        verdict = Verdict.DIFFERENT
    return {"verdict": verdict, "results": check.outcome, "difference": check.line}


def looked_for(asked: Sequence[str] | None, are_compared: bool, why_not: str) -> tuple[str, ...]:
    """Returns the findings to fail on: those asked for, or `FAIL_ON`, without results where these
    are not compared. Raises `UsageError` if they are asked for then; `why_not` is its reason."""
    if asked is None:
        return tuple(word for word in FAIL_ON if are_compared or word != DIFFERENT)
    if DIFFERENT in asked and not are_compared:
        raise UsageError(f"--fail-on {DIFFERENT}: {why_not}")
    return tuple(asked)


def count_different(results: Iterable[ResultsRow]) -> int:
    """Returns the number of cases whose results differ."""
    return sum(row.outcome == DIFFERENT for row in results)


def sentence(results: Sequence[ResultsRow]) -> str:
    """Returns the sentence on the results of A and B."""
    found = Counter(row.outcome for row in results)
    parts = [
        f"{words} in {pluralize(found[outcome], 'case')}"
        for outcome, words in WORDS.items()
        if found[outcome]
    ]
    return f"Results of A and B: {', '.join(parts)}."


def differing(results: Iterable[ResultsRow]) -> Section:
    """Returns the section of the cases of which A and B do not compute the same."""
    found = [row for row in results if row.outcome == DIFFERENT]
    cells = [
        (row.operator, row.inputs, str(difference))
        for row in found[:MOST]
        for difference in row.differences
    ]
    table = texts_table(("Operator", "Inputs", "Where"), cells, more=more_text(len(found) - MOST))
    return Section(TITLE, table=table)


def uncompared(results: Iterable[ResultsRow]) -> Section:
    """Returns the section of the cases whose results are not compared, or in part only."""
    found: dict[str, str] = {}
    for row in results:
        if row.note:
            add_distinct(found, f"{row.operator} ({row.inputs})", row.id, row.note)
    return reasons_section("Results that are not compared", found)


def reasons_section(title: str, reasons: Mapping[str, str]) -> Section:
    """Returns a section of cases that have no comparison, each with the reason."""
    return Section(title, table=table_of(REASONS, reasons.items(), MOST), is_folded=True)


REASONS: tuple[Field[tuple[str, str]], ...] = (
    Field("", "Case", LONG_NAME, lambda reason: reason[0]),
    Field("", "Reason", TEXT, lambda reason: reason[1]),
)


def loaded_section(files: Mapping[str, Sequence[LoadedFile]]) -> Section:
    """Returns a section of the files that two sides have loaded, by side; empty where no user's
    file is among them, and none differs."""
    first, second = ({found.name: found for found in own} for own in files.values())
    pairs = {name: (first.get(name), second.get(name)) for name in {**first, **second}}
    if all(a == b and a is not None and a.role is Role.PART for a, b in pairs.values()):
        return Section()
    rows = [(name, _loaded_text(a), _loaded_text(b, a)) for name, (a, b) in pairs.items()]
    return Section(
        "Files that were loaded", table=texts_table(("Module", *files), rows), is_folded=True
    )


def _loaded_text(loaded: LoadedFile | None, other: LoadedFile | None = None) -> str:
    if loaded is None:
        return "not loaded"
    return "the same file" if loaded == other else f"{loaded.file} ({loaded.digest})"


def more_text(number: int) -> str:
    """Returns the line on rows that are not shown; empty if all are."""
    return f"and {number} more; --format json has all" if number > 0 else ""
