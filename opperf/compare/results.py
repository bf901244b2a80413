"""How the results of A and B compare, as every report says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opperf.model import DIFFERENT, Check, Difference, SameResults, Struct
from opperf.results.text import add_distinct, pluralize

TITLE = "Results differ"
"""Title of the table of results that differ, and header of the column in other tables."""

UNCOMPARED = "Results that are not compared"
"""Title of the table of results that were not, or in part only."""

WHERE = "Where"
"""Header of the column of differences."""

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
    """The first ones."""
    count: int
    """Number of places that differ."""

    @classmethod
    def of(cls, id: str, operator: str, inputs: str, check: Check) -> ResultsRow:
        """Returns the row of a case."""
        rest = check.outcome, check.note, check.differences, check.count
        return cls(id, operator, inputs, *rest)


def row_fields(check: Check | None) -> dict[str, Any]:
    """Returns what the row of a figure says of the results of its case."""
    return {} if check is None else {"results": check.outcome, "difference": check.line}


def count_different(results: Iterable[ResultsRow]) -> int:
    """Returns the number of cases whose results differ."""
    return sum(one.outcome == DIFFERENT for one in results)


def sentence(results: Sequence[ResultsRow]) -> str:
    """Returns the sentence on the results of A and B."""
    found = Counter(one.outcome for one in results)
    parts = [
        f"{words} in {pluralize(found[outcome], 'case')}"
        for outcome, words in WORDS.items()
        if found[outcome]
    ]
    return f"Results of A and B: {', '.join(parts)}."


def different_rows(results: Iterable[ResultsRow]) -> tuple[list[tuple[str, str, str]], int]:
    """Returns the operator, the inputs and a place of each difference, and the number of cases that
    are not among them."""
    found = [one for one in results if one.outcome == DIFFERENT]
    rows = [
        (one.operator, one.inputs, str(difference))
        for one in found[:MOST]
        for difference in one.differences
    ]
    return rows, max(0, len(found) - MOST)


def not_compared(results: Iterable[ResultsRow]) -> dict[str, str]:
    """Returns the cases whose results are not compared, or in part only, each with the reason."""
    found: dict[str, str] = {}
    for one in results:
        if one.note:
            add_distinct(found, f"{one.operator} ({one.inputs})", one.id, one.note)
    return found
