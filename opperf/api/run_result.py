"""The result of a run, as `opperf.run` and `opperf.read` return it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from opperf.errors import UsageError
from opperf.extras import install_command
from opperf.model import DECLARED, DEFAULTS, Environment, Record, Run, Status
from opperf.plurals import pluralize
from opperf.reports.formats import RUN, format_named, format_of_extension, formats_of
from opperf.reports.html import write_html
from opperf.reports.run_page import report_of
from opperf.reports.run_tables import legend, run_text, wrap_all
from opperf.reports.summary import summarise
from opperf.reports.writing import write
from opperf.results.columns import select_columns
from opperf.results.figures import CaseFigures
from opperf.results.output import check_output
from opperf.results.text import inputs_text, terminal_width

DataFrame = Any


def data_frame(rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Returns the rows as a data frame. Raises `ImportError`, which says how to install pandas."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise ImportError(f"to_pandas needs pandas: {install_command('pandas')}") from error
    return pandas.DataFrame(list(rows))


class Row(NamedTuple):
    """One metric of one case. A case without figures has one row, with no metric."""

    id: str
    operator: str
    category: str
    inputs: str
    settings: Mapping[str, Any]
    """Those that are not at their defaults, by name."""
    point: Mapping[str, Any]
    metric: str
    value: float | None
    """The median, in `unit`."""
    unit: str
    low: float | None
    high: float | None
    """95 % confidence interval of the median; None where there is none."""
    status: str
    reason: str


@dataclass(frozen=True)
class RunResult:
    """The records of a run. It prints as `opperf run` does, and a notebook shows its tables."""

    run: Run
    name: str
    """The path of its run file, or the id of the run."""
    warnings: tuple[str, ...] = ()
    """Doubts about the file that it was read from, a line each."""

    @property
    def records(self) -> tuple[Record, ...]:
        """A record for each case, in order, with all samples."""
        return self.run.records

    @property
    def environments(self) -> Mapping[str, Environment]:
        """Machine, versions and options of the measurements, by the id that records have."""
        return self.run.environments

    @property
    def excluded(self) -> Mapping[str, str]:
        """Selected operators that have no case, each with the reason."""
        return self.run.header.excluded

    @property
    def failed(self) -> tuple[Record, ...]:
        """The records without figures; each has a `reason`."""
        return tuple(record for record in self.records if record.status is not Status.OK)

    @property
    def rows(self) -> tuple[Row, ...]:
        """A row for each metric of each case."""
        return tuple(row for record in self.records for row in _rows(record))

    def __str__(self) -> str:
        width = terminal_width()
        explained = wrap_all(legend(self.records, select_columns(self.records, ())), width)
        closing = self.run.closing
        summary = summarise(self.run, closing.elapsed_s if closing else 0.0, width)
        table = run_text(self.records, width) if self.records else ""
        return "\n\n".join(filter(None, (table, explained, summary)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {pluralize(len(self.records), 'record')}>"

    def _repr_html_(self) -> str:
        report = report_of(self.run)
        # Of the environment, which `environments` has, a notebook needs no list.
        sections = [section for section in report.sections if not section.is_folded]
        return write_html(replace(report, sections=sections))

    def to_pandas(self) -> DataFrame:
        """Returns the rows as a data frame of pandas, with a column for each setting that is not at
        its default everywhere, and for each swept variable. Raises `ImportError` where pandas is
        not installed."""
        rows = self.rows
        settings = [name for name in DECLARED if any(name in row.settings for row in rows)]
        points = dict.fromkeys(name for row in rows for name in row.point)
        return data_frame([_flat(row, settings, list(points)) for row in rows])

    def report(self, output_format: str, columns: Sequence[str] = ()) -> str:
        """Returns the run in a format of `opperf run`: 'json', 'md', 'csv', 'jsonl' and others.
        Raises `UsageError` for an unknown one."""
        return format_named(output_format, RUN).write_run(self.run, columns)[0]

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Writes the run to a file, in the format of its extension: '.jsonl', '.md', '.csv' or
        '.json'. Raises `UsageError` for another extension, and `OutputError` for a file that
        exists, unless `overwrite` is set, or that cannot be written."""
        file = Path(path)
        format = format_of_extension(file.suffix.lower(), RUN)
        if format is None:
            known = dict.fromkeys(format.extension for format in formats_of(RUN).values())
            raise UsageError(f"{file}: no format has this extension; use {', '.join(known)}")
        check_output(file, overwrite)
        write(self.run, file, format.name)


def _rows(record: Record) -> Iterator[Row]:
    case = record.case
    settings = case.settings
    changed = {name: getattr(settings, name) for name in DECLARED}
    changed = {name: value for name, value in changed.items() if value != DEFAULTS[name]}
    own = (record.id, case.label, case.category, inputs_text(case), changed, case.point)
    ended = (record.status.value, record.reason)
    found = CaseFigures(record).measured if record.status is Status.OK else {}
    if not found:
        yield Row(*own, "", None, "", None, None, *ended)
    for metric, figure in found.items():
        low, high = figure.interval or (None, None)
        yield Row(*own, metric, figure.median, figure.unit, low, high, *ended)


def _flat(row: Row, settings: Sequence[str], points: Sequence[str]) -> dict[str, Any]:
    cells = row._asdict()
    own = {name: row.settings.get(name, DEFAULTS[name]) for name in settings}
    swept = {name: row.point.get(name) for name in points}
    return {
        **{name: cells[name] for name in Row._fields[:4]},
        **own,
        **swept,
        **{name: cells[name] for name in Row._fields[6:]},
    }
