"""The tables of speed-ups, as PyTorch/XLA's benchmarks have them: CSV, and a grid of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from operator import itemgetter
from typing import NamedTuple

from opperf.experiments.aggregation.speedups import PERCENTILES, Speedups
from opperf.formats.model_records import Estimate, title_of
from opperf.reports.fields import NAME, Field, number, table_of
from opperf.reports.model import Report, Section
from opperf.results.columns import rows_text

DIGITS = 8
"""Decimals of values: the last bits differ from one machine to another."""

Value = str | int | float | None

Found = Mapping[float, Mapping[str, Speedups]]
"""Speed-ups by time, the oldest first, and backend."""


@dataclass(frozen=True)
class SpeedupComparison:
    """The speed-ups of a table."""

    found: Found
    backends: Sequence[str]
    """The first is the baseline's."""
    baseline: str

    @property
    def over(self) -> tuple[str, str]:
        """Returns the words for the baseline: `Oldest`, `Inductor`."""
        return self.baseline.capitalize(), title_of(self.backends[0])

    @property
    def title(self) -> str:
        return f"Speedup over {' '.join(self.over)}"


class Heading(NamedTuple):
    """The heading of a column."""

    text: str
    lines: str
    """In a grid, where it has lines of its own to be narrow."""


class SpeedupTable(NamedTuple):
    """A table of values; None where there is none."""

    headings: tuple[Heading, ...]
    rows: list[list[Value]]
    names: frozenset[int] = frozenset()
    """Indices of the columns that have texts."""


def _plain(text: str) -> Heading:
    return Heading(text, text)


def _speedup(compared: SpeedupComparison, backend: str) -> list[Heading]:
    time, base = compared.over
    title = title_of(backend)
    text = f"Speedup({title}/{time} {base})"
    return [Heading(text, f"Speedup\n{title}\nover\n{time}\n{base}"), _plain("StdDev")]


def _values(one: Estimate | None) -> list[Value]:
    if one is None:
        return [None, None]
    return [round(one.value, DIGITS), round(one.deviation, DIGITS)]


def time_text(seconds: float) -> str:
    """Returns a timestamp as a date and time, UTC."""
    return str(datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None))


TIME = _plain("Datetime(UTC)")


def speedup_table(compared: SpeedupComparison) -> SpeedupTable:
    """Returns the geometric means over models, a row for each time at which a backend has any."""
    headings = [h for backend in compared.backends for h in _speedup(compared, backend)]
    rows = []
    for at, own in compared.found.items():
        if own:
            means = [own[b].geomean if b in own else None for b in compared.backends]
            rows.append([time_text(at), *(v for mean in means for v in _values(mean))])
    return SpeedupTable((TIME, *headings), rows, frozenset({0}))


def histogram_table(compared: SpeedupComparison) -> SpeedupTable:
    """Returns the percentiles over models, a row for each time at which the first backend has
    any."""
    first, *_ = compared.backends
    headings = [
        Heading(f"{title_of(backend)} p{percent}", f"{title_of(backend)}\np{percent}")
        for backend in compared.backends
        for percent in PERCENTILES
    ]
    rows: list[list[Value]] = [
        [
            time_text(at),
            *(
                round(own[backend].percentiles[percent], DIGITS) if backend in own else None
                for backend in compared.backends
                for percent in PERCENTILES
            ),
        ]
        for at, own in compared.found.items()
        if first in own
    ]
    return SpeedupTable((TIME, *headings), rows, frozenset({0}))


def latest_of(compared: SpeedupComparison, backend: str) -> list[tuple[Estimate, str]]:
    """Returns a backend's last speed-ups, whenever those were, with their models, the slowest
    first."""
    for at in reversed(list(compared.found)):
        own = compared.found[at].get(backend)
        if own is not None:
            listed = [(one, model) for model, one in own.models.items()]
            return sorted(listed, key=lambda pair: (pair[0].value, pair[0].deviation, pair[1]))
    return []


def latest_table(compared: SpeedupComparison) -> SpeedupTable:
    """Returns the last speed-ups of each backend, sorted for each, so that a row is of as many
    models as there are backends."""
    columns = [latest_of(compared, backend) for backend in compared.backends]
    height = max(map(len, columns), default=0)
    headings = [
        h
        for backend in compared.backends
        for title in [title_of(backend)]
        for h in (
            *_speedup(compared, backend),
            Heading(f"ModelName({title})", f"ModelName\n{title}"),
        )
    ]
    rows: list[list[Value]] = []
    for row in range(height):
        cells: list[Value] = [row]
        for column in columns:
            one, model = column[row] if row < len(column) else (None, None)
            cells += [*_values(one), model]
        rows.append(cells)
    names = frozenset(range(3, 3 * len(columns) + 1, 3))
    return SpeedupTable((_plain("Workload"), *headings), rows, names)


MEAN = "GEOMEAN"
"""Name of the row of means."""


def grouped(compared: SpeedupComparison) -> dict[str, list[Estimate | None]]:
    """Returns the speed-ups at the newest time by model, one for each backend, and then their
    means; nothing without any."""
    newest = max(compared.found, default=None)
    own = {} if newest is None else compared.found[newest]
    if not own:
        return {}
    models = {model for speedups in own.values() for model in speedups.models}
    made: dict[str, list[Estimate | None]] = {
        model: [
            own[backend].models.get(model) if backend in own else None
            for backend in compared.backends
        ]
        for model in sorted(models, key=lambda name: (name.casefold(), name))
    }
    made[MEAN] = [own[b].geomean if b in own else None for b in compared.backends]
    return made


def latest_grouped_table(compared: SpeedupComparison) -> SpeedupTable:
    """Returns the speed-ups at the newest time, a row for each model, and one for the means."""
    headings = [h for backend in compared.backends for h in _speedup(compared, backend)]
    rows: list[list[Value]] = [
        [model, *(value for speedup in values for value in _values(speedup))]
        for model, values in grouped(compared).items()
    ]
    return SpeedupTable((_plain("ModelName"), *headings), rows, frozenset({0}))


TABLES: dict[str, Callable[[SpeedupComparison], SpeedupTable]] = {
    "speedup": speedup_table,
    "latest": latest_table,
    "latest_grouped": latest_grouped_table,
    "histogram": histogram_table,
}
"""The reports by name, the default first."""


def csv_text(table: SpeedupTable) -> str:
    """Returns the table as CSV, its header a comment."""
    first, *others = (heading.text for heading in table.headings)
    return rows_text([[f"# {first}", *others], *table.rows])


def grid_text(table: SpeedupTable) -> str:
    """Returns the table as a grid of lines, with two decimals."""
    # Costs some 20 ms to import, and only this form needs it.
    from tabulate import tabulate

    text: str = tabulate(
        table.rows,
        headers=[heading.lines for heading in table.headings],
        tablefmt="fancy_grid",
        floatfmt=".2f",
        # The name of a model may look like a number.
        disable_numparse=sorted(table.names),
    )
    return text + "\n"


DECIMALS = number(lambda value: f"{value:.2f}" if isinstance(value, float) else str(value))


def table_report(table: SpeedupTable, title: str) -> Report:
    """Returns the table for readers of text or Markdown, with two decimals."""

    fields: list[Field[Sequence[Value]]] = [
        Field("", heading.text, NAME if place in table.names else DECIMALS, itemgetter(place))
        for place, heading in enumerate(table.headings)
    ]
    header = [heading.text for heading in table.headings]
    section = Section(table=table_of(fields, table.rows))
    data = {"columns": header, "rows": table.rows}
    return Report("aggregate", title, [section], data, header, table.rows)
