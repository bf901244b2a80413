"""The sentences and the table of a comparison weighted by count, for every format for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from opperf.compare.statistics.weights import Alone, Part, Weighted
from opperf.errors import UsageError
from opperf.results.figures import NOT_APPLICABLE, Unit
from opperf.results.text import count_text, pluralize
from opperf.results.units import Figure, FigureText, align, choose_unit, format_figure

COUNT = "count"
"""The weight: how often the source of a case saw it."""

FORMATS = ("text", "md", "json", "html-fragment")
"""Formats with a place for totals; the others have a row for each figure and nothing else."""

MOST = 10
"""Most operators in the table: those of the largest changes. JSON has all."""

NAMED = 5
"""Most cases that are named of those that only one side has."""

EQUAL = 1e-9
"""Share of the total below which it did not change: beyond the digits of its sums."""


class Names(NamedTuple):
    """What the two sides are called."""

    base: str
    new: str


FILES, ARMS = Names("base", "new"), Names("A", "B")


class WeightedTable(NamedTuple):
    """A table as texts; all columns after the first hold numbers."""

    title: str
    titles: tuple[str, ...]
    rows: list[list[str]]
    more: str
    """A line on the rows that are not in it; empty if there are none."""


def check_format(weight: str | None, output_format: str) -> None:
    """Raises `UsageError` for a weight in a format that has no place for totals."""
    if weight and output_format not in FORMATS:
        raise UsageError(
            f"--weight {weight} is for --format {', '.join(FORMATS)}; {output_format} has rows of "
            "single cases only"
        )


def sentences(found: Weighted, names: Names) -> list[str]:
    """Returns the totals and averages, and what they lack, a sentence each."""
    if not found.cases:
        return ["Weighted by count: no case has a ratio yet."]
    unit = choose_unit("ns", [Figure(found.base_ns), Figure(found.new_ns)])
    calls = count_text(found.base_calls, "call")
    if found.new_calls != found.base_calls:
        calls = f"{found.base_calls:,} and {count_text(found.new_calls, 'call')}"
    return [
        f"Weighted by count ({' + '.join(found.metrics)} time of {calls} of "
        f"{pluralize(found.cases, 'case')}): {_total(found.base_ns, unit)} in {names.base}, "
        f"{_total(found.new_ns, unit)} in {names.new}, ratio {_number(found.ratio)}; geometric "
        f"mean of the ratios weighted by count {_number(found.geometric_mean)}.",
        *_doubts(found, names),
    ]


def _doubts(found: Weighted, names: Names) -> list[str]:
    """Returns what a reader of the totals must know besides."""
    said = []
    if found.base_calls == found.new_calls == found.cases:
        said.append("Every count is 1: the cases are of no recording, or were seen once each.")
    if found.recounted:
        said.append(
            f"{pluralize(found.recounted, 'case')} of other counts in {names.new} than in "
            f"{names.base}; the change is of calls, too, and the geometric mean has the weights of "
            f"{names.base}."
        )
    if found.unmeasured_calls:
        said.append(
            f"In no total: {count_text(found.unmeasured_calls, 'call')} that neither has a time of."
        )
    for side, name in zip(("base", "new"), names, strict=True):
        alone = [one for one in found.alone if one.side == side]
        if alone:
            said.append(_alone(alone, name))
    return said


def _alone(alone: Sequence[Alone], name: str) -> str:
    """Returns the sentence on the cases that only one side has times of."""
    total = math.fsum(one.time_ns for one in alone)
    calls = count_text(sum(one.calls for one in alone), "call")
    names = [f"{one.operator} ({one.inputs})" if one.inputs else one.operator for one in alone]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return (
        f"In {name} alone, and in no total: {pluralize(len(alone), 'case')} of {calls}, "
        f"{_total(total)}: {', '.join(names[:NAMED])}{more}."
    )


def _total(value: float, unit: Unit | None = None) -> str:
    """Returns a time in nanoseconds with its unit."""
    figure = Figure(value)
    unit = unit or choose_unit("ns", [figure])
    return f"{format_figure(figure, unit)} {unit.name}"


def _number(ratio: float | None) -> str:
    return NOT_APPLICABLE if ratio is None else f"{ratio:.3f}"


def table(found: Weighted, names: Names, most: int = MOST) -> WeightedTable:
    """Returns the table of the operators that made the difference."""
    shown = found.operators[:most]
    left = found.operators[most:]
    unit = choose_unit(
        "ns", [Figure(value) for one in shown for value in (one.base_ns, one.new_ns)]
    )
    changes = [
        _signed(format_figure(Figure(one.change_ns, one.half_width_ns), unit)) for one in shown
    ]
    columns = {
        "Operator": [one.operator for one in shown],
        f"Change {unit.name}": align(changes),
        "Of the total": [_percent(one.of_total) for one in shown],
        "Of the change": [_of_change(found, one) for one in shown],
        f"{names.base.capitalize()} {unit.name}": _times([one.base_ns for one in shown], unit),
        f"{names.new.capitalize()} {unit.name}": _times([one.new_ns for one in shown], unit),
        "Ratio": [_number(one.ratio) for one in shown],
        "Calls": [_calls(one) for one in shown],
    }
    rest = math.fsum(one.change_ns for one in left)
    return WeightedTable(
        "Operators that made the difference",
        tuple(columns),
        [list(row) for row in zip(*columns.values(), strict=True)],
        f"and {len(left)} more, which change it by {_total(rest)}" if left else "",
    )


def _times(values: Sequence[float], unit: Unit) -> list[str]:
    return align([format_figure(Figure(value), unit) for value in values])


def _signed(text: FigureText) -> FigureText:
    """Returns a change with its sign."""
    has_sign = text.value.startswith("-") or text.value in ("0", NOT_APPLICABLE)
    return text if has_sign else text._replace(value=f"+{text.value}")


def _percent(share: float | None, sign: str = "+") -> str:
    """Returns a share as text; nothing that rounds to zero has a sign."""
    if share is None:
        return NOT_APPLICABLE
    value = round(100 * share, 1)
    return f"{value:{sign}.1f} %" if value else "0.0 %"


def _of_change(found: Weighted, part: Part) -> str:
    """Returns an operator's share of the change of the total, if that changed."""
    is_equal = abs(found.change_ns) < EQUAL * found.base_ns
    return NOT_APPLICABLE if is_equal else _percent(part.of_change, "-")


def _calls(part: Part) -> str:
    if part.base_calls == part.new_calls:
        return f"{part.base_calls:,}"
    return f"{part.base_calls:,} to {part.new_calls:,}"
