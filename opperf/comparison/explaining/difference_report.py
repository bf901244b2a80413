"""An explained difference as a report, with short texts of functions' names and counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from opperf.comparison.explaining.difference import (
    ChangedFunction,
    Counts,
    DumpDifference,
    Rest,
    split,
)
from opperf.comparison.explaining.functions import Function
from opperf.comparison.results import ResultsRow, differing, sentence
from opperf.plurals import pluralize
from opperf.reports.fields import NAME, WORD, Field, number, rows_of, table_of
from opperf.reports.model import Fact, Report, Section, Table
from opperf.results.text import MORE, cut_distinct
from opperf.results.units import NOT_APPLICABLE

NAME_WIDTH = 60
"""Characters of a function's name that are shown: C++ names with their templates take thousands.
Figures are then near the names, and fit beside them on a wide terminal."""

BRACKETS = {"<": ">", "(": ")"}

KEPT = re.compile(r"operator(<=>|<<=|>>=|<=|>=|->\*?|<<|>>|<|>|\(\))|\(anonymous namespace\)")
"""Brackets that are the function's name and not around arguments."""


def short_names(names: Sequence[str], width: int = NAME_WIDTH) -> list[str]:
    """Returns different, shorter names: without arguments of functions, if that is enough."""
    short = [name if len(name) <= width else without_arguments(name) for name in names]
    number = Counter(short)
    kept = [one if number[one] == 1 else name for one, name in zip(short, names, strict=True)]
    return cut_distinct(kept, width)


def without_arguments(name: str) -> str:
    """Returns a C++ name with ellipses between its brackets: `at::add<…>(…)`."""
    parts: list[str] = []
    closing: list[str] = []
    place = 0
    while place < len(name):
        match = KEPT.match(name, place)
        if match is not None:
            parts += [] if closing else [match[0]]
            place = match.end()
            continue
        letter = name[place]
        if letter in BRACKETS:
            if not closing:
                parts += [letter, MORE, BRACKETS[letter]]
            closing.append(BRACKETS[letter])
        elif closing and letter == closing[-1]:
            closing.pop()
        elif not closing:
            parts.append(letter)
        place += 1
    # Brackets that do not match are not those of arguments.
    return name if closing else "".join(parts)


def decimals_of(values: Iterable[float]) -> int:
    """Returns the decimals of a column: none if all values are whole, like those of one call."""
    return 0 if all(value == int(value) for value in values) else 1


def count_text(value: float, decimals: int) -> str:
    """Returns a count as text."""
    return f"{value:,.{decimals}f}"


def change_text(value: float, decimals: int) -> str:
    """Returns a difference as text, with its sign."""
    return f"{value:+,.{decimals}f}"


def totals_text(base: float, new: float, decimals: int) -> str:
    """Returns two counts with their difference: `5 to 6, +1 (+20.00 %)`."""
    change = new - base
    return (
        f"{count_text(base, decimals)} to {count_text(new, decimals)}, "
        f"{change_text(change, decimals)} ({share_text(change, base)})"
    )


def share_text(change: float, base: float) -> str:
    """Returns a difference as a share of what it is from, `+1.2 %`; a dash from nothing."""
    return f"{100 * change / base:+.2f} %" if base else NOT_APPLICABLE


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


def report_of(
    difference: DumpDifference,
    title: str,
    most: int | None = None,
    results: Sequence[ResultsRow] = (),
) -> Report:
    """Returns the report; `most` are its functions, by default all, or a screen for people.
    `results` say whether the two compute the same."""
    shown, rest = split(difference, SHOWN if most is None else most)
    sides = (("base", difference.base), ("new", difference.new))
    facts = [Fact(name, str(side.path), pluralize(side.calls, "call")) for name, side in sides]
    return Report(
        "explain",
        title,
        (
            Section(facts=facts),
            Section(prose=_totals(difference)),
            Section(table=_table(shown, rest, difference))
            if shown
            else Section(prose=["No function differs."]),
            *([Section(prose=[sentence(results)]), differing(results)] if results else ()),
        ),
        {**_values(difference, title, most), "results": results},
        *rows_of(FUNCTIONS, split(difference, most)[0]),
    )


def _values(difference: DumpDifference, title: str, most: int | None) -> dict[str, Any]:
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
    base, new = difference.base_total, difference.new_total
    decimals = decimals_of((base, new))
    what = EVENTS.get(difference.event, difference.event)
    return [f"{what} per call: {totals_text(base, new, decimals)}.", *_overhead(difference)]


def _overhead(difference: DumpDifference) -> list[str]:
    """Returns how much of the counts is of the loop around the calls, if known."""
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
    short = short_names([row.function.name for row in shown])
    ends = [_sum("total", difference.base_total, difference.new_total)]
    if rest.number:
        noun = "function" if rest.number == 1 else "functions"
        ends.insert(0, _sum(f"{rest.number:,} other {noun}", rest.base, rest.new))
    rows = [*shown, *ends]
    counts = [part.read(row) for parts in COLUMNS.values() for part in parts for row in rows]
    decimals = decimals_of(count for count in counts if count is not None)
    shown_names = dict(zip((row.function for row in shown), short, strict=True))

    def name(row: ChangedFunction) -> str:
        return shown_names.get(row.function, row.function.name)

    fields = (replace(FUNCTIONS[0], shown=name), FUNCTIONS[1], *_figures(decimals))
    return table_of(fields, rows)


def _sum(name: str, base: float, new: float) -> ChangedFunction:
    return ChangedFunction(Function(name, ""), "", Counts(base, None), Counts(new, None))


class Part(NamedTuple):
    """A column of figures."""

    title: str
    read: Callable[[ChangedFunction], float | None]
    """None where there is no figure: of a function that the dump does not have, and of several."""
    text: Callable[..., str]
    """Returns the text of a figure with so many `decimals`."""
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
"""The columns of figures, by the kind of counts."""


def _figures(decimals: int) -> Iterator[Field[ChangedFunction]]:
    for kind, parts in COLUMNS.items():
        for part in parts:
            written = number(partial(part.text, decimals=decimals))
            key = f"{kind.lower()}_{part.title}"
            yield Field(key, f"{kind}\n{part.title}", written, part.read, extra=part.extra)


FUNCTIONS: tuple[Field[ChangedFunction], ...] = (
    Field("name", "Function", NAME, lambda row: row.function.name),
    Field("object", "Object", WORD, lambda row: row.function.object),
    Field("file", None, WORD, lambda row: row.file),
    *_figures(0),
)
"""Columns of CSV, a row for each function."""
