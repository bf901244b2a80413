"""The data of a bar chart: a row for each operator and its inputs, a bar for what else differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opperf.instruments.times import FORWARD
from opperf.model import Metric, Record
from opperf.results import projection
from opperf.results.figures import CaseFigures
from opperf.results.plots import dimensions
from opperf.results.rates import rate_of
from opperf.results.settings import alike_text, dtypes_of
from opperf.results.sweeps import variables_of
from opperf.results.text import inputs_text, short_inputs
from opperf.results.units import Figure, Unit, choose_unit

MOST_ROWS = 120
"""Most rows that are drawn unless more are asked for: they fill a page, in three columns."""

ALL_INPUTS = 20
"""Most rows that all have their inputs; of more, those of operators with several."""

ROWS_OF_CATEGORY = 3
"""Fewest rows, on average, for which each category has a panel of its own."""

INPUTS_WIDTH, INPUTS_LINES = 48, 2
"""Characters and lines of the inputs beside a row."""

LOG_FROM = 20.0
"""Ratio of the largest to the smallest bar from which the axis is logarithmic: on a linear one the
smallest would be no wider than a line."""


class _Bar(NamedTuple):
    """A median in the panel's unit, with the bounds of its 95 % confidence interval."""

    name: str
    figure: Figure
    value: float
    low: float
    high: float
    ratio: float | None
    """To the first series of the same row; None for that one itself, and without it."""


class BarRow(NamedTuple):
    """The bars of an operator with the same inputs."""

    operator: str
    inputs: str
    bars: tuple[_Bar, ...]

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.operator, self.inputs)))


class BarPanel(NamedTuple):
    """One chart: a metric of the rows that share the dimensions in the title."""

    title: str
    metric: Metric
    unit: Unit
    rows: tuple[BarRow, ...]


class BarPlot(NamedTuple):
    """The panels of one image."""

    series: tuple[str, ...]
    panels: tuple[BarPanel, ...]
    notes: tuple[str, ...] = ()

    @property
    def has_ratios(self) -> bool:
        return any(bar.ratio is not None for bar in self._bars)

    @property
    def has_intervals(self) -> bool:
        return any(bar.low < bar.high for bar in self._bars)

    @property
    def is_uncertain(self) -> bool:
        return any(bar.figure.is_uncertain for bar in self._bars)

    @property
    def _bars(self) -> Iterable[_Bar]:
        return (bar for panel in self.panels for row in panel.rows for bar in row.bars)

    def limits(self, metric: Metric) -> Limits:
        """Returns the ends of the axis that all panels of a metric share."""
        bars = [
            bar
            for panel in self.panels
            if panel.metric == metric
            for row in panel.rows
            for bar in row.bars
        ]
        values = [bar.value for bar in bars]
        high = max(*values, *(min(bar.high, dimensions.CUT_AT * bar.value) for bar in bars), 0.0)
        smallest = min(values)
        if metric.lower_is_better and smallest > 0 and max(values) > LOG_FROM * smallest:
            # The smallest bar has a length too.
            return Limits(smallest / 2, high, True)
        return Limits(min(0.0, smallest), high or 1.0, False)


class Limits(NamedTuple):
    """The ends of an axis."""

    low: float
    high: float
    is_log: bool


class _Entry(NamedTuple):
    """A record with what places its bar."""

    record: Record
    title: tuple[str, ...]
    row: tuple[str, ...]
    name: str


def make_bars(
    sources: Sequence[projection.Source],
    metrics: Sequence[str] = (),
    by: Sequence[str] = (),
    most: int = MOST_ROWS,
) -> BarPlot:
    """Returns the largest rows of bars. Raises `UsageError` for a wrong name, and for no row."""
    found = dimensions.measured(sources)
    records = [entry.record for entry in found]
    shown = dimensions.metrics_to_draw(metrics, records, (FORWARD.name,))
    entries = [
        entry
        for entry in _entries(found, by)
        if any(dimensions.value_of(metric, entry.record) for metric in shown)
    ]
    series = tuple(dict.fromkeys(entry.name for entry in entries))
    rows = projection.group(entries, ((entry.title, entry.row) for entry in entries))
    largest = sorted(rows.values(), key=lambda own: -_largest(shown[0], own))
    drawn = largest[:most]
    titled = _by_category(drawn, by)
    panels = projection.group(titled, (own[0].title for own in titled))
    texts = _inputs([own[0].record for own in drawn])
    left = len(largest) - len(drawn)
    notes = [
        *dimensions.without_results(sources),
        *dimensions.counted(len(records) - len(entries), "without these metrics not drawn"),
    ]
    if left:
        drawn_rows = "row is" if len(drawn) == 1 else f"{len(drawn)} rows are"
        notes.append(f"the largest {drawn_rows} drawn, of {len(largest)}; more with --top")
    made = []
    for metric in shown:
        values = [dimensions.value_of(metric, entry.record) for own in drawn for entry in own]
        unit = choose_unit(metric.unit, [Figure(value[0]) for value in values if value])
        made += [_panel(title, metric, unit, own, texts, series) for title, own in panels.items()]
    return BarPlot(series, tuple(panel for panel in made if panel.rows), tuple(notes))


def _entries(found: Sequence[projection.Observation], by: Sequence[str]) -> list[_Entry]:
    cases = [entry.case for entry in found]
    variables = variables_of(cases)
    # The extents of a sweep are among the inputs.
    left_out = {projection.OVERLOAD, projection.OPERATOR, projection.INPUTS, *variables} - {
        name for name in by if name not in variables
    }
    rest = projection.describe(found, by, left_out)
    if projection.INPUTS in by:
        rest = [
            own | {projection.INPUTS: inputs_text(case)}
            for own, case in zip(rest, cases, strict=True)
        ]
    columns = dimensions.columns_of(rest, [name for name in by if name not in variables])
    dtypes = dtypes_of(cases)
    places = [
        (
            *dimensions.split(own, columns),
            "" if {projection.OPERATOR, projection.OVERLOAD} & set(by) else case.label,
            "" if projection.INPUTS in by else alike_text(case, dtypes),
        )
        for own, case in zip(rest, cases, strict=True)
    ]
    # Cases that look alike have a row each.
    return [
        _Entry(entry.record, title, (operator, inputs, str(number or "")), ", ".join(line))
        for entry, ((title, line, operator, inputs), number) in zip(
            found, projection.number_alike(places), strict=True
        )
    ]


def _largest(metric: Metric, entries: Sequence[_Entry]) -> float:
    values = [dimensions.value_of(metric, entry.record) for entry in entries]
    return max((value[0] for value in values if value), default=0.0)


def _by_category(rows: Sequence[list[_Entry]], by: Sequence[str]) -> list[list[_Entry]]:
    """Returns the rows with their categories in the titles, if these have several rows each."""
    categories = {own[0].record.case.category for own in rows}
    if (
        projection.CATEGORY in by
        or len(categories) < 2
        or len(rows) < max(ALL_INPUTS, ROWS_OF_CATEGORY * len(categories))
    ):
        return list(rows)
    return [
        [entry._replace(title=(entry.record.case.category, *entry.title)) for entry in own]
        for own in rows
    ]


def _inputs(records: Sequence[Record]) -> dict[tuple[str, str], str]:
    """Returns the inputs beside rows: of all operators if few, else of those with several."""
    pairs = list(dict.fromkeys((record.case.label, inputs_text(record.case)) for record in records))
    short = short_inputs(pairs, INPUTS_WIDTH, INPUTS_LINES)
    if len(pairs) <= ALL_INPUTS:
        return short
    number = Counter(label for label, _ in pairs)
    return {pair: text if number[pair[0]] > 1 else "" for pair, text in short.items()}


def _panel(
    title: tuple[str, ...],
    metric: Metric,
    unit: Unit,
    rows: Sequence[Sequence[_Entry]],
    texts: dict[tuple[str, str], str],
    series: Sequence[str],
) -> BarPanel:
    made = []
    for own in rows:
        operator, inputs, number = own[0].row
        label = own[0].record.case.label
        shown = texts[label, inputs_text(own[0].record.case)] if inputs else ""
        if bars := _bars(metric, own, unit, series):
            made.append(
                BarRow(operator or shown, f"{shown if operator else ''} {number}".strip(), bars)
            )
    return BarPanel(", ".join(title), metric, unit, tuple(made))


def _bars(
    metric: Metric, entries: Sequence[_Entry], unit: Unit, series: Sequence[str]
) -> tuple[_Bar, ...]:
    found: dict[str, _Bar] = {}
    for entry in sorted(entries, key=lambda entry: series.index(entry.name)):
        value = dimensions.value_of(metric, entry.record)
        column = rate_of(metric)
        figure = (
            CaseFigures(entry.record).figure(metric.name)
            if column is None
            else column.read(entry.record)
        )
        if value is None or figure is None:
            continue
        median, low, high = value
        first = found.get(series[0])
        ratio = median / first.figure.value if first and first.figure.value else None
        found[entry.name] = _Bar(
            entry.name,
            figure,
            median / unit.size,
            (median if low is None else low) / unit.size,
            (median if high is None else high) / unit.size,
            ratio,
        )
    return tuple(found.values())
