"""An explained difference as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from opperf.compare.explaining.difference import Counts, Difference, Rest, Row, split
from opperf.compare.explaining.functions import Function
from opperf.compare.explaining.reports.names import (
    change_text,
    count_text,
    decimals_of,
    short_names,
    totals_text,
)
from opperf.results.terminal import Column, table_text
from opperf.results.text import fit_paths, pluralize, wrap

SHOWN = 20
"""Functions in the table, unless it is asked for more: a screen."""

WIDTH = 100
"""Width of sentences without a terminal."""

SIDE_WIDTH = len("base ")
"""Characters of a side's name before its path."""

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
"""What callgrind's events are, in words."""


def text_report(
    difference: Difference, title: str, most: int | None = None, width: int | None = None
) -> str:
    """Returns the report, no wider than `width`. `most` are the functions in its table."""
    shown, rest = split(difference, SHOWN if most is None else most)
    sides = (("base", difference.base), ("new", difference.new))
    calls = [pluralize(side.calls, "call") for _, side in sides]
    taken = SIDE_WIDTH + len(", ") + max(map(len, calls))
    paths = fit_paths([str(side.path) for _, side in sides], taken, width)
    head = [
        *([title] if title else []),
        *(
            f"{name:<{SIDE_WIDTH}}{path}, {number}"
            for (name, _), path, number in zip(sides, paths, calls, strict=True)
        ),
    ]
    sections = [
        "\n".join(wrap(line, width) if width else line for line in head),
        "\n".join(wrap(sentence, width or WIDTH) for sentence in _totals(difference)),
        _table(difference, shown, rest, width) if shown else "No function differs.",
    ]
    return "\n\n".join(sections) + "\n"


def _totals(difference: Difference) -> list[str]:
    """Returns the counts of all code, a sentence each."""
    base, new = difference.base_total, difference.new_total
    decimals = decimals_of((base, new))
    what = EVENTS.get(difference.event, difference.event)
    return [
        f"{what} per call: {totals_text(base, new, decimals)}.",
        *_overhead(difference),
    ]


def _overhead(difference: Difference) -> list[str]:
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


def _table(difference: Difference, shown: Sequence[Row], rest: Rest, width: int | None) -> str:
    """Returns the table of functions, which ends with the others and the total."""
    names = short_names([row.function.name for row in shown])
    ends = [_sum("total", difference.base_total, difference.new_total)]
    if rest.number:
        noun = "function" if rest.number == 1 else "functions"
        ends.insert(0, _sum(f"{rest.number:,} other {noun}", rest.base, rest.new))
    rows = [*shown, *ends]
    figures = [part.read(row) for parts in COLUMNS.values() for part in parts for row in rows]
    decimals = decimals_of(figure for figure in figures if figure is not None)
    columns = [
        Column("Function", [*names, *(row.function.name for row in ends)]),
        Column("Object", [row.function.object for row in rows]),
        *(
            _figures(f"{kind}\n{part.title}", part, rows, decimals)
            for kind, parts in COLUMNS.items()
            for part in parts
        ),
    ]
    return table_text(columns, width)


def _sum(name: str, base: float, new: float) -> Row:
    """Returns a row of several functions together."""
    return Row(Function(name, ""), "", Counts(base, None), Counts(new, None))


def _figures(title: str, part: Part, rows: Sequence[Row], decimals: int) -> Column:
    """Returns a column of figures."""
    values = map(part.read, rows)
    cells = ["" if value is None else part.text(value, decimals) for value in values]
    return Column(title, cells, is_text=False, is_extra=part.is_extra)


class Part(NamedTuple):
    """A column of figures."""

    title: str
    read: Callable[[Row], float | None]
    """None where there is no figure: of a function that the dump does not have, and of several."""
    text: Callable[[float, int], str]
    is_extra: bool = False


COLUMNS: dict[str, tuple[Part, ...]] = {
    "Exclusive": (
        Part("base", lambda row: row.base and row.base.own, count_text, is_extra=True),
        Part("new", lambda row: row.new and row.new.own, count_text, is_extra=True),
        Part("change", lambda row: row.own_change, change_text),
    ),
    "Inclusive": (
        Part("base", lambda row: row.base and row.base.inclusive, count_text, is_extra=True),
        Part("new", lambda row: row.new and row.new.inclusive, count_text, is_extra=True),
        Part("change", lambda row: row.inclusive_change, change_text),
    ),
}
"""The columns of figures, by the kind of counts. Those that are extra are not on a narrow
terminal."""
