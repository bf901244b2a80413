"""The sentences and the table of a comparison weighted by count, for every format for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opperf.errors import UsageError
from opperf.plurals import counted, pluralize
from opperf.reports.fields import NAME, NUMBER, Field, figure, table_of
from opperf.reports.formats import REPORT, formats_of
from opperf.reports.model import Section, Table
from opperf.results import units
from opperf.statistics.weights import Alone, Part, Weighted

COUNT = "count"
"""The weight: how often the source of a case saw it."""

TITLE = "Operators that made the difference"

MOST = 10
"""Most operators in the table: those of the largest changes. JSON has all."""

NAMED = 5
"""Most cases that are named of those that only one side has."""

EQUAL = 1e-9
"""Share of the total below which it did not change: beyond the digits of its sums."""


Labels = tuple[str, str]
"""Names of the two sides."""


def check_format(weight: str | None, output_format: str) -> None:
    """Raises `UsageError` for a weight in a format that has no place for totals."""
    known = formats_of(REPORT)
    if weight and not known[output_format].has_sections:
        usable = ", ".join(name for name, format in known.items() if format.has_sections)
        raise UsageError(
            f"--weight {weight} is for --format {usable}; {output_format} has rows of single cases "
            "only"
        )


def weighted_section(found: Weighted, labels: Labels) -> Section:
    """Returns the section of the totals and of the operators that made the difference."""
    return Section(TITLE, prose=sentences(found, labels), table=table(found, labels))


def sentences(found: Weighted, labels: Labels) -> list[str]:
    """Returns the totals and averages, and what they lack, a sentence each."""
    if not found.cases:
        return ["Weighted by count: no case has a ratio yet."]
    unit = units.choose_unit("ns", [units.Figure(found.base_ns), units.Figure(found.new_ns)])
    calls = counted(found.base_calls, "call")
    if found.new_calls != found.base_calls:
        calls = f"{found.base_calls:,} and {counted(found.new_calls, 'call')}"
    return [
        f"Weighted by count ({' + '.join(found.metrics)} time of {calls} of "
        f"{pluralize(found.cases, 'case')}): {_total(found.base_ns, unit)} in {labels[0]}, "
        f"{_total(found.new_ns, unit)} in {labels[1]}, ratio {_number(found.ratio)}; geometric "
        f"mean of the ratios weighted by count {_number(found.geometric_mean)}.",
        *_doubts(found, labels),
    ]


def _doubts(found: Weighted, labels: Labels) -> list[str]:
    said = []
    if found.base_calls == found.new_calls == found.cases:
        said.append("Every count is 1: the cases are of no recording, or were seen once each.")
    if found.recounted:
        said.append(
            f"{pluralize(found.recounted, 'case')} of other counts in {labels[1]} than in "
            f"{labels[0]}; the change is of calls, too, and the geometric mean has the weights of "
            f"{labels[0]}."
        )
    if found.unmeasured_calls:
        said.append(
            f"In no total: {counted(found.unmeasured_calls, 'call')} that neither has a time of."
        )
    for side, name in zip(("base", "new"), labels, strict=True):
        alone = [case for case in found.alone if case.side == side]
        if alone:
            said.append(_alone(alone, name))
    return said


def _alone(alone: Sequence[Alone], name: str) -> str:
    total = math.fsum(case.time_ns for case in alone)
    calls = counted(sum(case.calls for case in alone), "call")
    names = [f"{case.operator} ({case.inputs})" if case.inputs else case.operator for case in alone]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return (
        f"In {name} alone, and in no total: {pluralize(len(alone), 'case')} of {calls}, "
        f"{_total(total)}: {', '.join(names[:NAMED])}{more}."
    )


def _total(value: float, unit: units.Unit | None = None) -> str:
    figure = units.Figure(value)
    unit = unit or units.choose_unit("ns", [figure])
    return f"{units.format_figure(figure, unit)} {unit.name}"


def _number(ratio: float | None) -> str:
    return units.NOT_APPLICABLE if ratio is None else f"{ratio:.3f}"


def table(found: Weighted, labels: Labels, most: int = MOST) -> Table:
    """Returns the table of the operators that made the difference."""
    shown = found.operators[:most]
    left = found.operators[most:]
    both = [units.Figure(value) for part in shown for value in (part.base_ns, part.new_ns)]
    unit = units.choose_unit("ns", both)
    base, new = (name.capitalize() for name in labels)
    rest = math.fsum(part.change_ns for part in left)
    changes = units.align(
        [
            _signed(units.format_figure(units.Figure(part.change_ns, part.half_width_ns), unit))
            for part in shown
        ]
    )
    texts = dict(zip((part.operator for part in shown), changes, strict=True))
    fields: tuple[Field[Part], ...] = (
        Field("", "Operator", NAME, lambda part: part.operator),
        Field("", f"Change {unit.name}", NUMBER, lambda part: texts[part.operator]),
        Field("", "Of the total", NUMBER, lambda part: _percent(part.of_total)),
        Field("", "Of the change", NUMBER, lambda part: _of_change(found, part)),
        Field("", base, figure(unit), lambda part: part.base_ns),
        Field("", new, figure(unit), lambda part: part.new_ns),
        Field("", "Ratio", NUMBER, lambda part: _number(part.ratio)),
        Field("", "Calls", NUMBER, _calls),
    )
    more = f"and {len(left)} more, which change it by {_total(rest)}" if left else ""
    return table_of(fields, shown, more=more)


def _signed(text: units.FigureText) -> units.FigureText:
    has_sign = text.value.startswith("-") or text.value in ("0", units.NOT_APPLICABLE)
    return text if has_sign else text._replace(value=f"+{text.value}")


def _percent(share: float | None, sign: str = "+") -> str:
    """Returns a share as text; nothing that rounds to zero has a sign."""
    if share is None:
        return units.NOT_APPLICABLE
    value = round(100 * share, 1)
    return f"{value:{sign}.1f} %" if value else "0.0 %"


def _of_change(found: Weighted, part: Part) -> str:
    is_equal = abs(found.change_ns) < EQUAL * found.base_ns
    return units.NOT_APPLICABLE if is_equal else _percent(part.of_change, "-")


def _calls(part: Part) -> str:
    if part.base_calls == part.new_calls:
        return f"{part.base_calls:,}"
    return f"{part.base_calls:,} to {part.new_calls:,}"
