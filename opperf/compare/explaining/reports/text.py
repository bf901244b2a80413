"""An explained difference as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from opperf.compare.explaining.difference import Counts, Difference, Rest, Row, Side, split
from opperf.compare.explaining.functions import Function
from opperf.compare.explaining.reports.names import (
    change_text,
    count_text,
    decimals_of,
    share_text,
    short_names,
)
from opperf.results.terminal import Column, table_text
from opperf.results.text import pluralize, wrap

SHOWN = 20
"""Functions in the table, unless it is asked for more: a screen."""

WIDTH = 100
"""Width of sentences without a terminal."""

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
    sections = [
        "\n".join(wrap(line, width or WIDTH) for line in _head(difference, title)),
        _table(difference, shown, rest, width) if shown else "No function differs.",
    ]
    return "\n\n".join(sections) + "\n"


def _head(difference: Difference, title: str) -> list[str]:
    """Returns what was compared and the totals, a line each."""
    base, new = difference.base_total, difference.new_total
    decimals = decimals_of((base, new))
    what = EVENTS.get(difference.event, difference.event)
    return [
        *([title] if title else []),
        f"base {_side(difference.base)}",
        f"new  {_side(difference.new)}",
        "",
        f"{what} per call: {count_text(base, decimals)} to {count_text(new, decimals)}, "
        f"{change_text(new - base, decimals)} ({share_text(new - base, base)}).",
        *_overhead(difference),
    ]


def _side(side: Side) -> str:
    return f"{side.path}, {pluralize(side.calls, 'call')}"


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
    columns = [
        Column("Function", [*names, *(row.function.name for row in ends)]),
        Column("Object", [row.function.object for row in rows]),
        *(column for kind, parts in COLUMNS.items() for column in _figures(kind, parts, rows)),
    ]
    return table_text(columns, width)


def _sum(name: str, base: float, new: float) -> Row:
    """Returns a row of several functions together."""
    return Row(Function(name, ""), "", Counts(base, None), Counts(new, None))


def _figures(kind: str, parts: Sequence[Part], rows: Sequence[Row]) -> list[Column]:
    """Returns the columns of one kind of counts."""
    values = [[part.read(row) for row in rows] for part in parts]
    decimals = decimals_of(value for column in values for value in column if value is not None)
    return [
        Column(
            f"{kind}\n{part.title}",
            ["" if value is None else part.text(value, decimals) for value in column],
            is_text=False,
            is_extra=part.is_extra,
        )
        for part, column in zip(parts, values, strict=True)
    ]


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
