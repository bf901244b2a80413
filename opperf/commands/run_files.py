"""The commands on run files and on what opperf keeps, on traces of programs and on results of
models."""

from __future__ import annotations

from opperf.commands.compare import finish
from opperf.commands.options import command, write
from opperf.plurals import pluralize
from opperf.requests.kept import RunsRequest, ServeRequest
from opperf.requests.models import AggregateRequest, AnalyzeRequest
from opperf.requests.run_files import (
    ExportRequest,
    MergeRequest,
    NodesRequest,
    PlotRequest,
    ReportRequest,
)
from opperf.results.messages import tell
from opperf.results.output import STDOUT, write_content


@command(
    MergeRequest,
    examples={"The parts of an array job": "opperf merge part-0.jsonl part-1.jsonl -o whole.jsonl"},
)
def merge(request: MergeRequest) -> int:
    """Join run files, as those of the jobs of one run with --partition-id, into one, each case
    once, and copy the streams of their programs beside it. Of a case in several files the record
    that ended ok counts, or else the last file's. What none has measured is measured by `opperf run
    --resume FILE`."""
    merged = request.run(tell)
    files = len(set(request.paths))
    tell(
        f"{pluralize(len(merged.records), 'record')} of {pluralize(files, 'file')} written to "
        f"{request.output}"
    )
    return 0


@command(ReportRequest)
def report(request: ReportRequest) -> int:
    """Rank the operators of run files by the time of all their calls: how often a
    recording or another source saw each case, times the median time of its forward pass and, where
    measured, of its backward pass. Several files are added up.

    A file is one of `opperf run -f jsonl`, or @last, @-2 or @ID, as `opperf runs` lists them. It
    may be a recording: its calls are ranked by their times in the program, or by their number, and
    shown with where they were made and how much of the program's time they explain. -o FILE.svg
    draws a flame graph, -o FILE.html a page of everything."""
    return write(request.run(tell), request)


@command(PlotRequest)
def plot(request: PlotRequest) -> int:
    """Draw the results of run files (-f jsonl, or @last and others of `opperf runs`), as text in
    the terminal or as an image: lines against a swept size; without a sweep a row of bars for each
    operator and its inputs, with a bar for each mode, dtype, or whatever else differs. Axes are
    logarithmic where sizes grow by factors, and where bars differ much; bands and the lines on bars
    are 95 % intervals."""
    from opperf.reports.model import Drawing
    from opperf.results.plots.drawing import print_plot

    chart = request.run(tell)
    if request.output_file is not None or isinstance(chart, Drawing):
        tell(f"written to {request.output_file}")
    else:
        print_plot(chart)
    return 0


@command(ExportRequest)
def export(request: ExportRequest) -> int:
    """Write a run file (-f jsonl, or @last and others of `opperf runs`) in the format of another
    benchmark tool, or as a page in HTML or Markdown."""
    request.run(tell)
    if request.output_file != STDOUT:
        tell(f"written to {request.output_file}")
    return 0


@command(
    NodesRequest,
    examples={
        "Which node differs": (
            "opperf run --executor ray --address auto --every-node -o nodes.jsonl\n"
            "opperf nodes nodes.jsonl"
        )
    },
)
def nodes(request: NodesRequest) -> int:
    """Compare the nodes of a cluster, those of one kind, by the same cases on each: RUNFILE is that
    of `opperf run --executor ray --every-node`. Each node's figures are compared with the median of
    the others', by the scatter among nodes; a node that differs is listed with by how much, and
    with the case in which most."""
    return finish(request.run(tell), request)


@command(RunsRequest)
def runs(request: RunsRequest) -> int:
    """List the run files that opperf keeps, the latest first: every run leaves one, whatever its
    output, and so does every session of `opperf ab`; 200 are kept, in the folder that the
    environment variable OPPERF_DATA names. Restrict the list by operators (names, globs or regexes)
    or ids.

    Commands that take a run file take @ID, or @last, @-2 and so on for the latest one, the one
    before it: `opperf report @last`, `opperf compare @-2 @last`, `opperf run --resume @ID`;
    of a session `opperf compare --from-ab @last` and `opperf ab --resume @ID`."""
    from opperf.reports.kept_runs import report_of

    found = request.run(tell)
    if not request.delete:
        return write(report_of(found), request)
    print(f"deleted {pluralize(len(found), 'run')}")
    return 0


@command(
    ServeRequest,
    examples={
        "This machine's history, in a browser of this machine": "opperf serve",
        "A team's history, on the network, behind a token": (
            "opperf serve --store postgresql://perf@db.example.org/perf --host 0.0.0.0 "
            "--token-file token.txt"
        ),
    },
)
def serve(request: ServeRequest) -> int:
    """Serve a dashboard of a history: changes with their states, series with their charts and the
    commands that measure them again, runs; and a JSON API, described at /openapi.json. It only
    reads."""
    request.run(tell)
    return 0


@command(AnalyzeRequest)
def analyze(request: AnalyzeRequest) -> int:
    """Tabulate the results of models in DIR, ./output by default: the minimum, median, maximum,
    mean and standard deviation of each metric of each record in its files *.jsonl, which
    PyTorch/XLA's benchmarks write. The report is written to DIR, in place of the last one."""
    number, paths = request.run(tell)
    tell(f"{pluralize(number, 'record')} written to {' and '.join(map(str, paths))}")
    return 0


@command(
    AggregateRequest,
    examples={
        "Speed-ups over time, as CSV": "opperf aggregate results/*.jsonl",
        "The newest speed-ups of three backends, as an image": (
            "opperf aggregate results/*.jsonl --report latest_grouped -o latest.svg --backends "
            "eager inductor openxla+dynamo"
        ),
        "What fails since when, as a page": (
            "opperf aggregate results/*.jsonl --report failures -o failures.html"
        ),
    },
)
def aggregate(request: AggregateRequest) -> int:
    """Compare the results of models over backends and over time: files of the JSON lines that
    PyTorch/XLA's benchmarks write, or tables (CSV) of PyTorch's own runner."""
    content = request.run(tell)
    if content:
        write_content(request.output_file, content)
    return 0
