"""An explained difference as a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opperf.comparison.explaining.difference import (
    ChangedFunction,
    Counts,
    DumpDifference,
    Rest,
    split,
)
from opperf.comparison.explaining.functions import Function
from opperf.comparison.explaining.reports.names import (
    change_text,
    count_text,
    decimals_of,
    short_names,
    totals_text,
)
from opperf.plurals import pluralize
from opperf.reports.model import Column, Fact, Report, Section, Table, names, numbers, words

SHOWN = 20
"""Functions in the table, unless it is asked for more: a screen."""

EVENTS = {
    "Ir": "Instructions",
    "Dr": "Data reads",
    "Dw": "Data writes",
    "I1mr": "Misses of the first instruction cache",
    "D1mr": "Misses of the first data cache, reading",
    "D1mw": "Misses of the first data cache, writing",
    "ILmr": "Misses of the last cache, of instructions",
    "DLmr": "Misses of the last cache, reading data",
    "DLmw": "Misses of the last cache, writing data",
    "Bc": "Conditional branches",
    "Bcm": "Mispredicted conditional branches",
    "Bi": "Indirect branches",
    "Bim": "Mispredicted indirect branches",
}
"""Callgrind's events in words."""


def report_of(difference: DumpDifference, title: str, most: int | None = None) -> Report:
    """Returns the report of an explained difference, for every format. `most` are the functions in
    it, by default all, or a screen of them for people."""
    shown, rest = split(difference, SHOWN if most is None else most)
    sides = (("base", difference.base), ("new", difference.new))
    facts = [Fact(name, str(side.path), pluralize(side.calls, "call")) for name, side in sides]
    return Report(
        command="explain",
        title=title,
        sections=(
            Section(facts=facts),
            Section(prose=_totals(difference)),
            Section(table=_table(shown, rest, difference))
            if shown
            else Section(prose=["No function differs."]),
        ),
        data=_values(difference, title, most),
    )


def _values(difference: DumpDifference, title: str, most: int | None) -> dict[str, Any]:
    """Returns the difference as values of JSON, always with every key. Counts are per call of the
    operator."""
    shown, rest = split(difference, most)
    return {
        "case": title,
        "event": difference.event,
        "order": difference.order,
        "base": difference.base._asdict(),
        "new": difference.new._asdict(),
        "change": difference.new_total - difference.base_total,
        "functions": [_function(row) for row in shown],
        "other_functions": rest._asdict(),
    }


def _function(row: ChangedFunction) -> dict[str, Any]:
    return {
        "name": row.function.name,
        "object": row.function.object,
        "file": row.file,
        "exclusive_change": row.own_change,
        "inclusive_change": row.inclusive_change,
        "base": _counts(row.base),
        "new": _counts(row.new),
    }


def _counts(counts: Counts | None) -> dict[str, float | None] | None:
    if counts is None:
        return None
    return {"exclusive": counts.own, "inclusive": counts.inclusive}


def _totals(difference: DumpDifference) -> list[str]:
    """Returns the counts of all code, a sentence each."""
    base, new = difference.base_total, difference.new_total
    decimals = decimals_of((base, new))
    what = EVENTS.get(difference.event, difference.event)
    return [
        f"{what} per call: {totals_text(base, new, decimals)}.",
        *_overhead(difference),
    ]


def _overhead(difference: DumpDifference) -> list[str]:
    """Returns how much of the counts is of the loop around the calls, if the dumps say it."""
    found = [side.overhead for side in (difference.base, difference.new)]
    base, new = found
    if base is None or new is None or difference.event != next(iter(difference.base.totals)):
        return []
    decimals = decimals_of((base, new))
    return [
        f"Of these, {count_text(base, decimals)} and {count_text(new, decimals)} are of the loop "
        "around the calls, as counted with an empty call."
    ]


def _table(shown: Sequence[ChangedFunction], rest: Rest, difference: DumpDifference) -> Table:
    """Returns the table of functions, which ends with the others and the total."""
    short = short_names([row.function.name for row in shown])
    ends = [_sum("total", difference.base_total, difference.new_total)]
    if rest.number:
        noun = "function" if rest.number == 1 else "functions"
        ends.insert(0, _sum(f"{rest.number:,} other {noun}", rest.base, rest.new))
    rows = [*shown, *ends]
    counts = [part.read(row) for parts in COLUMNS.values() for part in parts for row in rows]
    decimals = decimals_of(count for count in counts if count is not None)
    return Table(
        (
            names("Function", [*short, *(row.function.name for row in ends)]),
            words("Object", [row.function.object for row in rows]),
            *(
                _figures(f"{kind}\n{part.title}", part, rows, decimals)
                for kind, parts in COLUMNS.items()
                for part in parts
            ),
        )
    )


def _sum(name: str, base: float, new: float) -> ChangedFunction:
    """Returns a row of several functions together."""
    return ChangedFunction(Function(name, ""), "", Counts(base, None), Counts(new, None))


def _figures(title: str, part: Part, rows: Sequence[ChangedFunction], decimals: int) -> Column:
    """Returns a column of figures."""
    values = map(part.read, rows)
    cells = ["" if value is None else part.text(value, decimals) for value in values]
    return numbers(title, cells, extra=part.extra)


class Part(NamedTuple):
    """A column of figures."""

    title: str
    read: Callable[[ChangedFunction], float | None]
    """None where there is no figure: of a function that the dump does not have, and of several."""
    text: Callable[[float, int], str]
    extra: int = 0


COLUMNS: dict[str, tuple[Part, ...]] = {
    "Exclusive": (
        Part("base", lambda row: row.base and row.base.own, count_text, extra=1),
        Part("new", lambda row: row.new and row.new.own, count_text, extra=1),
        Part("change", lambda row: row.own_change, change_text),
    ),
    "Inclusive": (
        Part("base", lambda row: row.base and row.base.inclusive, count_text, extra=1),
        Part("new", lambda row: row.new and row.new.inclusive, count_text, extra=1),
        Part("change", lambda row: row.inclusive_change, change_text),
    ),
}
"""The columns of figures, by the kind of counts. Those that are extra are not on a narrow
terminal."""
