"""The tables of speed-ups, as PyTorch/XLA's benchmarks have them: CSV, and a grid of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import zip_longest
from operator import itemgetter
from typing import NamedTuple

from opperf.experiments.speedups import PERCENTILES, Speedups
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


class SpeedupColumn(NamedTuple):
    """A column of a table of speed-ups."""

    title: str
    lines: str = ""
    """The title in a grid, where it has lines of its own to be narrow; empty for the same."""
    is_text: bool = False


class SpeedupTable(NamedTuple):
    """A table of values; None where there is none."""

    columns: list[SpeedupColumn]
    rows: list[list[Value]]


def _columns(compared: SpeedupComparison, *backends: str) -> list[SpeedupColumn]:
    (time, base), found = compared.over, []
    for title in map(title_of, backends):
        lines = f"Speedup\n{title}\nover\n{time}\n{base}"
        found.append(SpeedupColumn(f"Speedup({title}/{time} {base})", lines))
        found.append(SpeedupColumn("StdDev"))
    return found


def _values(one: Estimate | None) -> list[Value]:
    if one is None:
        return [None, None]
    return [round(one.value, DIGITS), round(one.deviation, DIGITS)]


def time_text(seconds: float) -> str:
    """Returns a timestamp as a date and time, UTC."""
    return str(datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None))


TIME = SpeedupColumn("Datetime(UTC)", is_text=True)


def speedup_table(compared: SpeedupComparison) -> SpeedupTable:
    """Returns the geometric means over models, a row for each time at which a backend has any."""
    rows = []
    for at, own in compared.found.items():
        if own:
            means = [own[b].geomean if b in own else None for b in compared.backends]
            rows.append([time_text(at), *(v for mean in means for v in _values(mean))])
    return SpeedupTable([TIME, *_columns(compared, *compared.backends)], rows)


def histogram_table(compared: SpeedupComparison) -> SpeedupTable:
    """Returns the percentiles over models, a row for each time at which the first backend has
    any."""
    names = [(backend, percent) for backend in compared.backends for percent in PERCENTILES]
    rows: list[list[Value]] = [
        [
            time_text(at),
            *(
                round(own[backend].percentiles[percent], DIGITS) if backend in own else None
                for backend, percent in names
            ),
        ]
        for at, own in compared.found.items()
        if compared.backends[0] in own
    ]
    titles = [(title_of(backend), percent) for backend, percent in names]
    columns = (SpeedupColumn(f"{title} p{n}", f"{title}\np{n}") for title, n in titles)
    return SpeedupTable([TIME, *columns], rows)


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
    found = [latest_of(compared, backend) for backend in compared.backends]
    columns = [SpeedupColumn("Workload")]
    for backend in compared.backends:
        title = title_of(backend)
        name = SpeedupColumn(f"ModelName({title})", f"ModelName\n{title}", is_text=True)
        columns += [*_columns(compared, backend), name]
    rows: list[list[Value]] = []
    for row, cells in enumerate(zip_longest(*found, fillvalue=(None, None))):
        rows.append([row, *(v for one, model in cells for v in (*_values(one), model))])
    return SpeedupTable(columns, rows)


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
    rows: list[list[Value]] = [
        [model, *(value for speedup in values for value in _values(speedup))]
        for model, values in grouped(compared).items()
    ]
    name = SpeedupColumn("ModelName", is_text=True)
    return SpeedupTable([name, *_columns(compared, *compared.backends)], rows)


TABLES: dict[str, Callable[[SpeedupComparison], SpeedupTable]] = {
    "speedup": speedup_table,
    "latest": latest_table,
    "latest_grouped": latest_grouped_table,
    "histogram": histogram_table,
}
"""The reports by name, the default first."""


def csv_text(table: SpeedupTable) -> str:
    """Returns the table as CSV, its header a comment."""
    first, *others = (column.title for column in table.columns)
    return rows_text([[f"# {first}", *others], *table.rows])


def grid_text(table: SpeedupTable) -> str:
    """Returns the table as a grid of lines, with two decimals."""
    # Costs some 20 ms to import, and only this form needs it.
    from tabulate import tabulate

    text: str = tabulate(
        table.rows,
        headers=[column.lines or column.title for column in table.columns],
        tablefmt="fancy_grid",
        floatfmt=".2f",
        # The name of a model may look like a number.
        disable_numparse=[place for place, one in enumerate(table.columns) if one.is_text],
    )
    return text + "\n"


DECIMALS = number(lambda value: f"{value:.2f}" if isinstance(value, float) else str(value))


def table_report(table: SpeedupTable, title: str) -> Report:
    """Returns the table for readers of text or Markdown, with two decimals."""
    fields: list[Field[Sequence[Value]]] = [
        Field("", column.title, NAME if column.is_text else DECIMALS, itemgetter(place))
        for place, column in enumerate(table.columns)
    ]
    header = [column.title for column in table.columns]
    section = Section(table=table_of(fields, table.rows))
    data = {"columns": header, "rows": table.rows}
    return Report("aggregate", title, [section], data, header, table.rows)
