"""Tabulates and compares the results of models."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from opperf.errors import RunFileError, UsageError
from opperf.experiments.selection import (
    check_backends,
    listed,
    only_accelerator,
    select,
    why_nothing,
)
from opperf.extras import check_extras
from opperf.formats.model_records import DEFAULT
from opperf.models.packages import Filter
from opperf.plurals import pluralize
from opperf.reports.formats import BUILT_IN
from opperf.requests.declaring import Option, Request, Say, argument, warn
from opperf.requests.operators import ExcludeByTier, ModelExclude, ModelFilter
from opperf.requests.outputs import Overwrite, file_option
from opperf.results.output import STDOUT, check_output, replace_all

if TYPE_CHECKING:
    from opperf.formats.model_records import ModelRecord
    from opperf.reports.model import Report

YEAR_10000_S = 253402300800
"""The first second that no date of Python's has."""


def timestamp_option(default: str) -> Option:
    """Returns the declaration of the time of the records that have none."""
    what = f"Time of the records that have none{default}"
    return Option(what, low=0, high=YEAR_10000_S - 1, metavar="SECONDS", section="Output")


FOLDER = Path("output")
"""The folder of results, by default that of PyTorch/XLA's runner."""

REPORT = "metric_report"
"""Name of the report, without its extension."""


class AnalyzeRequest(Request, frozen=True, kw_only=True):
    """Tabulates the metrics of each record of a folder of results."""

    named: Annotated[Path | None, argument("[DIR]")] = None
    output_format: Annotated[
        Literal["csv", "jsonl"], Option("Write metric_report.csv, or metric_report.jsonl.")
    ] = "csv"
    output_dirname: Annotated[
        Path | None, Option("The folder, as PyTorch/XLA's analyzer names it.", metavar="DIR")
    ] = None
    database: Annotated[
        Path | None,
        Option("Table that a report in CSV is appended to.  [default: database.csv in DIR]"),
    ] = None
    timestamp: Annotated[float | None, timestamp_option(", since 1970.  [default: now]")] = None
    experiment_name: Annotated[
        Literal["run_all"], Option("PyTorch/XLA: all records are tabulated.")
    ] = "run_all"
    hide_errors: Annotated[bool, Option("Leave the messages of errors empty.")] = False

    @property
    def folder(self) -> Path:
        """The folder of results. Raises `UsageError` for two."""
        folders = {folder for folder in (self.named, self.output_dirname) if folder is not None}
        if len(folders) > 1:
            raise UsageError(
                f"DIR is {self.named}, and --output-dirname {self.output_dirname}; name one of them"
            )
        return next(iter(folders), FOLDER)

    def run(self, say: Say) -> tuple[int, tuple[Path, ...]]:
        """Returns how many records are in which files."""
        from opperf.experiments import analysis
        from opperf.formats.documents import read_bytes
        from opperf.formats.model_files import read_folder

        folder, hide = self.folder, self.hide_errors
        report = folder / f"{REPORT}.{self.output_format}"
        database = self.database or folder / "database.csv"
        warnings: list[str] = []
        records = read_folder(folder, REPORT, warnings)
        warn(say, warnings)
        if not records:
            raise RunFileError(
                f"{folder}: its files *.jsonl have no records; there is nothing to do"
            )
        check_output(report, overwrite=True)
        at = time.time() if self.timestamp is None else self.timestamp
        if self.output_format == "jsonl":
            text = analysis.lines_text(analysis.line_of(record, at, hide) for record in records)
            written = {report: text.encode()}
        else:
            rows = [analysis.row_of(record, at, hide) for record in records]
            check_output(database, overwrite=True)
            text = analysis.csv_text(rows, analysis.columns_of(rows))
            # Undecodable bytes are kept as they are.
            old = read_bytes(database).decode(errors="surrogateescape") if database.exists() else ""
            whole = analysis.extended(database, old, rows) if old.strip() else text
            written = {report: text.encode(), database: whole.encode(errors="surrogateescape")}
        replace_all(written)
        return len(records), tuple(written)


EXTENSIONS = {
    ".csv": "csv",
    ".txt": "text",
    ".xml": "junit",
    **{f".{name}": name for name in ("md", "png", "svg", "html", "json", "jsonl")},
}
"""Formats that the extension of an output means."""

IMAGES = ("png", "svg", "html")

TABLES = ("speedup", "latest", "latest_grouped", "histogram")
"""Reports on speed-ups."""

FAILURES, RECORDS = "failures", "records"

FORMATS_OF = {
    **dict.fromkeys(
        TABLES, ("csv", "tab", "text", "md", "json", "html-fragment", "junit", *IMAGES)
    ),
    FAILURES: ("text", "md", "html", "html-fragment", "csv", "json", "junit"),
    RECORDS: ("csv", "jsonl"),
}
"""The formats of each report, the default first."""


class AggregateRequest(Request, frozen=True, kw_only=True):
    """Compares the results of models over backends and over time."""

    section: ClassVar[str] = "Output"

    files: Annotated[tuple[Path, ...], argument("FILE...")]
    report: Annotated[
        Literal["speedup", "latest", "latest_grouped", "histogram", "failures", "records"],
        Option(
            "speedup: geometric means over models, for each time; latest: the last speed-up of "
            "each model, sorted for each backend; latest_grouped: the same by model; histogram: "
            "percentiles over models, for each time; failures: pass rates by suite and week, and "
            "what fails since when; records: the records themselves, as JSON lines of PyTorch/XLA "
            "or as CSV of PyTorch's runner."
        ),
    ] = "speedup"
    output_format: Annotated[
        Literal[
            "csv",
            "tab",
            "text",
            "md",
            "png",
            "svg",
            "html",
            "html-fragment",
            "json",
            "jsonl",
            "junit",
        ]
        | None,
        Option(
            "tab is a grid of text with two decimals; png, svg and html are charts, but html of "
            "failures is a page.  [default: by the output's extension, else csv, of failures "
            "text]",
            spellings="-f --format",
        ),
    ] = None
    accelerator: Annotated[
        str | None,
        Option(
            "Only records of this accelerator, a part of its name, e.g. v100.  [default: that of "
            "all records; of several v100; failures and records are of all]",
            metavar="NAME",
            section="Cases",
        ),
    ] = None
    test: Annotated[
        Literal["inference", "training"] | None,
        Option(
            "Only records of this test.  [default: inference; failures and records are of both]",
            section="Cases",
        ),
    ] = None
    backends: Annotated[
        tuple[str, ...],
        Option(
            "Backends to report, the first of which is the baseline: eager, inductor, "
            "openxla+dynamo, openxla+lazytensor, or another that the records have; up to the next "
            "option or --.  [default: inductor openxla+dynamo; failures and records are of all]",
            metavar="NAME...",
            takes_words=True,
            section="Comparison",
        ),
    ] = ()
    baseline: Annotated[
        Literal["oldest", "latest"],
        Option(
            "What speed-ups are over: each model's oldest time of the first backend, or its times "
            "at the newest timestamp.",
            section="Comparison",
        ),
    ] = "oldest"
    metric: Annotated[
        Literal["exec", "compile"],
        Option(
            "exec: the median time of a repeat, of other tools' records the mean of all but the "
            "first three; compile: what the first repeat takes longer than the others.",
            section="Comparison",
        ),
    ] = "exec"
    filter: ModelFilter = ()
    exclude: ModelExclude = ()
    filter_by_tier: Annotated[
        tuple[int, ...],
        Option(
            "Only models of this tier of TorchBench's, 1 to 3, besides those of --filter.",
            metavar="TIER",
            section="Cases",
        ),
    ] = ()
    exclude_by_tier: ExcludeByTier = ()
    title: Annotated[str, Option("A line for the title of a chart or page.", metavar="TEXT")] = ""
    fig_width: Annotated[
        float | None,
        Option("Width of a chart in inches.  [default: 9]", low=1, high=100, metavar="INCHES"),
    ] = None
    fig_height: Annotated[
        float | None,
        Option(
            "Height of a chart.  [default: 6.75, more for many bars]",
            low=1,
            high=100,
            metavar="INCHES",
        ),
    ] = None
    timestamp: Annotated[
        float | None, timestamp_option(".  [default: when their file was last changed]")
    ] = None
    output_file: Annotated[Path, file_option("Output file; - prints the output.")] = STDOUT
    overwrite: Overwrite = False

    def run(self, say: Say) -> bytes:
        """Returns the content of the report; nothing if there is no speed-up to show in a report of
        the latest ones."""
        from opperf.experiments.outcomes import outcomes_of, report_of
        from opperf.formats.model_files import read_records
        from opperf.formats.pytorch_runner import runner_csv_text
        from opperf.formats.xla import line_of

        check_output(self.output_file, self.overwrite, self.files)
        format = self._format()
        warnings: list[str] = []
        records = read_records(self.files, warnings, self.timestamp)
        warn(say, warnings)
        selected = self._select(records)
        if self.report == FAILURES:
            return _written(report_of(outcomes_of(selected), self.title), format)
        if self.report != RECORDS:
            return self._speedups(selected, format, say)
        if format == "csv":
            return runner_csv_text(selected).encode()
        return "".join(f"{line_of(record)}\n" for record in selected).encode()

    def _format(self) -> str:
        known, path = FORMATS_OF[self.report], self.output_file
        by_name = EXTENSIONS.get(path.suffix.lower())
        if path != STDOUT and path.suffix and by_name is None:
            raise UsageError(
                f"{path}: {path.suffix} is the extension of no format; use "
                f"{', '.join(EXTENSIONS)}, or a name without an extension and --format"
            )
        named = self.output_format
        # A grid is text.
        if named and by_name and named != by_name and (named, by_name) != ("tab", "text"):
            raise UsageError(f"--format {named} contradicts the extension of {path}; change one")
        format = named or by_name or known[0]
        if format not in known:
            raise UsageError(
                f"--report {self.report} has no format {format}; it has {listed(known)}"
            )
        if format == "png" and path == STDOUT and sys.stdout.isatty():
            raise UsageError("an image is for no terminal; name a file with -o FILE.png")
        if format in IMAGES and self.report in TABLES:
            check_extras("a chart", "altair", "vl_convert")
        return format

    def _select(self, records: Sequence[ModelRecord]) -> list[ModelRecord]:
        from opperf.experiments.speedups import NothingLeftError

        is_table = self.report in TABLES
        accelerator, test = self.accelerator, self.test
        if is_table:
            accelerator = accelerator or only_accelerator(records)
            test = test or "inference"
        found = select(records, accelerator, test, Filter(self))
        if not found:
            by_name = self.filter or self.exclude or self.filter_by_tier or self.exclude_by_tier
            raise NothingLeftError(why_nothing(records, accelerator, test, bool(by_name)))
        check_backends(self.backends, records)
        if self.backends and not is_table:
            found = [record for record in found if record.backend in self.backends]
            if not found:
                raise NothingLeftError(f"no record has a backend {' or '.join(self.backends)}")
        return found

    def _speedups(self, records: Sequence[ModelRecord], format: str, say: Say) -> bytes:
        from opperf.experiments import speedups, tables

        times = speedups.collect(records, self.metric)
        for line in times.omitted():
            say(line)
        if not times.by_time:
            raise speedups.NothingLeftError(
                f"no results found: none of {pluralize(len(records), 'record')} has enough repeats "
                "without an error; --report failures lists what failed"
            )
        backends = self.backends or DEFAULT
        base = speedups.BASELINES[self.baseline](times, backends[0])
        found = speedups.compare(times, backends, base)
        compared = tables.SpeedupComparison(found, backends, self.baseline)
        table = tables.TABLES[self.report](compared)
        if not table.rows:
            say(
                f"there is no speed-up: no model has results of both {' or '.join(backends)} and "
                f"the baseline, {' '.join(compared.over)}"
            )
            if self.report.startswith("latest") or format in IMAGES:
                return b""
        if format in IMAGES:
            # With altair, which only charts need.
            from opperf.experiments.charts import CHARTS, WIDTH, ChartShape
            from opperf.results.plots.images import WRITERS

            figure = ChartShape(self.fig_width or WIDTH, self.fig_height, self.title)
            return WRITERS[f".{format}"](CHARTS[self.report](compared, figure))
        if format == "csv":
            return tables.csv_text(table).encode()
        if format == "tab":
            return tables.grid_text(table).encode()
        return _written(tables.table_report(table, self.title or compared.title), format)


def _written(report: Report, format: str) -> bytes:
    from opperf.results.text import terminal_width

    (writer,) = (known for known in BUILT_IN if known.name == format)
    return writer.write_report(report, terminal_width() if format == "text" else None).encode()
