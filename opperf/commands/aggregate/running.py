"""The command `aggregate`, from its options to the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from opperf.errors import UsageError, unknown
from opperf.experiments.aggregation.charts import CHARTS, WIDTH, Figure
from opperf.experiments.aggregation.failures_report import report_of
from opperf.experiments.aggregation.outcomes import outcomes_of
from opperf.experiments.aggregation.speedups import (
    BASELINES,
    NothingLeftError,
    Times,
    collect,
    compare,
)
from opperf.experiments.aggregation.tables import (
    TABLES,
    Comparison,
    csv_text,
    grid_text,
    table_report,
)
from opperf.experiments.backends import DEFAULT, TITLES, backend_of
from opperf.experiments.files import read_records
from opperf.experiments.records import ModelRecord, line_of
from opperf.experiments.runner_csv import runner_csv_text
from opperf.experiments.selection import Selection, listed, machine_of, only_accelerator
from opperf.extras import check_extras
from opperf.plurals import pluralize
from opperf.reports.data import write_csv, write_json
from opperf.reports.model import Report
from opperf.results.messages import tell
from opperf.results.output import STDOUT, check_output, replace
from opperf.results.text import terminal_width

EXTENSIONS = {
    ".csv": "csv",
    ".txt": "text",
    ".md": "md",
    ".png": "png",
    ".svg": "svg",
    ".html": "html",
    ".json": "json",
    ".jsonl": "jsonl",
}
"""Formats that the extension of an output means."""

IMAGES = ("png", "svg", "html")

FAILURES, RECORDS = "failures", "records"

FORMATS_OF = {
    **dict.fromkeys(TABLES, ("csv", "tab", "text", "md", *IMAGES)),
    FAILURES: ("text", "md", "html", "csv", "json"),
    RECORDS: ("csv", "jsonl"),
}
"""The formats of each report, the default first."""


@dataclass(frozen=True)
class Request:
    """The request of `aggregate`: its parameters."""

    files: tuple[Path, ...]
    report: str
    output_format: str | None
    accelerator: str | None
    test: str | None
    backends: tuple[str, ...]
    baseline: str
    metric: str
    filter: tuple[str, ...]
    exclude: tuple[str, ...]
    filter_by_tier: tuple[int, ...]
    exclude_by_tier: tuple[int, ...]
    title: str
    fig_width: float | None
    fig_height: float | None
    timestamp: float | None
    output_file: Path
    overwrite: bool


def aggregate_command(request: Request) -> int:
    """Writes or prints the report, and returns the exit code. Raises `OpperfError`."""
    check_output(request.output_file, request.overwrite, request.files)
    chosen = _format(request)
    warnings: list[str] = []
    records = read_records(request.files, warnings, request.timestamp)
    for warning in warnings:
        tell(f"warning: {warning}")
    selected = _select(request, records)
    if request.report == FAILURES:
        content = _writer(chosen)(report_of(outcomes_of(selected), request.title)).encode()
    elif request.report == RECORDS:
        content = _records(selected, chosen).encode()
    else:
        content = _speedups(request, selected, chosen)
    if content:
        _write(request.output_file, content)
    return 0


def _format(request: Request) -> str:
    """Returns the format that is meant. Raises `UsageError` for one that the report lacks."""
    known = FORMATS_OF[request.report]
    path = request.output_file
    by_name = EXTENSIONS.get(path.suffix.lower())
    if path != STDOUT and path.suffix and by_name is None:
        raise UsageError(
            f"{path}: {path.suffix} is the extension of no format; use {', '.join(EXTENSIONS)}, or "
            "a name without an extension and --format"
        )
    named = request.output_format
    # A grid is text.
    if named and by_name and named != by_name and (named, by_name) != ("tab", "text"):
        raise UsageError(f"--format {named} contradicts the extension of {path}; change one")
    chosen = named or by_name or known[0]
    if chosen not in known:
        raise UsageError(
            f"--report {request.report} has no format {chosen}; it has {listed(known)}"
        )
    if chosen == "png" and path == STDOUT and sys.stdout.isatty():
        raise UsageError("an image is for no terminal; name a file with -o FILE.png")
    if chosen in IMAGES and request.report in TABLES:
        check_extras("a chart", "altair", "vl_convert")
    return chosen


def _select(request: Request, records: Sequence[ModelRecord]) -> list[ModelRecord]:
    """Returns the records that the options mean. Raises `NothingLeftError` without any."""
    is_table = request.report in TABLES
    accelerator, test = request.accelerator, request.test
    if is_table:
        accelerator = accelerator or only_accelerator(records)
        test = test or "inference"
    selection = Selection(
        accelerator,
        test,
        request.filter,
        request.exclude,
        request.filter_by_tier,
        request.exclude_by_tier,
    )
    found = selection.of(records)
    if not found:
        raise NothingLeftError(_why_nothing(selection, records))
    _check_backends(request.backends, records)
    if request.backends and not is_table:
        found = [record for record in found if backend_of(record) in request.backends]
        if not found:
            raise NothingLeftError(f"no record has a backend {' or '.join(request.backends)}")
    return found


def _why_nothing(selection: Selection, records: Sequence[ModelRecord]) -> str:
    if not records:
        return "no results found: the files have no records"
    machines = list(dict.fromkeys(filter(None, map(machine_of, records))))
    tests = sorted({str(record.test) for record in records})
    what = [
        f"accelerator {selection.accelerator}" if selection.accelerator else "",
        f"test {selection.test}" if selection.test else "",
        "models by name or tier"
        if selection != Selection(selection.accelerator, selection.test)
        else "",
    ]
    return (
        f"no results found for {', '.join(filter(None, what))}; the files have "
        f"{pluralize(len(records), 'record')} of the accelerators {listed(machines) or 'unknown'} "
        f"and the tests {', '.join(tests)}"
    )


def _check_backends(backends: Sequence[str], records: Sequence[ModelRecord]) -> None:
    """Raises `UsageError` for a backend that nothing has, or that is named twice."""
    known = dict.fromkeys([*TITLES, *filter(None, map(backend_of, records))])
    for backend in backends:
        if backend not in known:
            raise unknown("backend", backend, known)
        if backends.count(backend) > 1:
            raise UsageError(f"--backends has {backend} twice; name it once")


def _speedups(request: Request, records: Sequence[ModelRecord], chosen: str) -> bytes:
    """Returns the table or chart; nothing if there is no speed-up to show in a report of the
    latest ones."""
    times = collect(records, request.metric)
    _tell_omitted(times)
    if not times.by_time:
        raise NothingLeftError(
            f"no results found: none of {pluralize(len(records), 'record')} has enough repeats "
            "without an error; --report failures lists what failed"
        )
    backends = request.backends or DEFAULT
    found = compare(times, backends, BASELINES[request.baseline](times, backends[0]))
    compared = Comparison(found, backends, request.baseline)
    table = TABLES[request.report](compared)
    if not table.rows:
        tell(
            f"there is no speed-up: no model has results of both {' or '.join(backends)} and the "
            f"baseline, {' '.join(compared.over)}"
        )
        if request.report.startswith("latest") or chosen in IMAGES:
            return b""
    if chosen in IMAGES:
        from opperf.results.plots.images import WRITERS

        figure = Figure(request.fig_width or WIDTH, request.fig_height, request.title)
        return WRITERS[f".{chosen}"](CHARTS[request.report](compared, figure))
    if chosen in TEXTS:
        return TEXTS[chosen](table).encode()
    report = table_report(table, request.title or compared.title)
    return _writer(chosen)(report).encode()


TEXTS = {"csv": csv_text, "tab": grid_text}


def _tell_omitted(times: Times) -> None:
    """Tells of records that no comparison has."""
    if times.without_backend:
        first = times.without_backend[0]
        tell(
            f"warning: {pluralize(len(times.without_backend), 'record')} of a runtime without a "
            f"backend here (xla XRT, torch_xla2, or another dynamo) omitted; the first is "
            f"{first.place}: xla {first.xla}, dynamo {first.dynamo}, torch_xla2 {first.torch_xla2}"
        )
    if times.wrong:
        first = times.wrong[0]
        tell(
            f"warning: {pluralize(len(times.wrong), 'record')} of a wrong result (verification "
            f"FAIL) not compared; the first is {first.place}: {first.model_name}"
        )
    if times.without_time:
        tell(
            f"{pluralize(times.without_time, 'record')} without a result, or with too few repeats, "
            "not compared"
        )


def _records(records: Sequence[ModelRecord], chosen: str) -> str:
    if chosen == "csv":
        return runner_csv_text(records)
    return "".join(f"{line_of(record)}\n" for record in records)


def _writer(chosen: str) -> Callable[[Report], str]:
    """Returns what writes a report as text, Markdown, a page, CSV or JSON."""
    from opperf.reports.markdown import write_markdown
    from opperf.reports.pages.page import write_page
    from opperf.reports.text import write_text

    writers: dict[str, Callable[[Report, int | None], str]] = {
        "text": write_text,
        "md": write_markdown,
        "html": write_page,
        "csv": write_csv,
        "json": write_json,
    }
    width = terminal_width() if chosen == "text" else None
    return lambda report: writers[chosen](report, width)


def _write(path: Path, content: bytes) -> None:
    if path != STDOUT:
        replace(path, content)
        tell(f"written to {path}")
        return
    try:
        sys.stdout.buffer.write(content)
    except AttributeError:
        # A stream that takes text alone, such as a notebook's.
        sys.stdout.write(content.decode())
