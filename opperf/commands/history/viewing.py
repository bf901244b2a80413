"""The commands that list, show, draw and write a history."""

from __future__ import annotations

from opperf.commands.options import command, write
from opperf.plurals import pluralize
from opperf.requests.history.viewing import (
    HistoryExportRequest,
    HistoryListRequest,
    HistoryPlotRequest,
    HistoryShowRequest,
    PublishRequest,
)
from opperf.results.messages import tell


@command(
    HistoryListRequest,
    name="list",
    examples={
        "Every series with its latest figure": "opperf history list",
        "Those of an operator": "opperf history list 'conv*' --metric forward",
        "The verdicts of sessions of opperf ab": "opperf history list --what verdicts",
        "The runs of a branch": "opperf history list --what runs --branch main",
    },
)
def list_history(request: HistoryListRequest) -> int:
    """List what a history holds: series, each with its latest figure and verdict, runs, verdicts of
    sessions on two commits, or projects. Series of
    several environments are never joined. The number of a series, #12, names it elsewhere."""
    return write(request.run(tell), request)


@command(
    HistoryShowRequest,
    examples={
        "The times of an operator, commit by commit": (
            "opperf history show softmax --metric forward --branch main"
        ),
        "One series as a file": "opperf history show '#12' -o softmax.csv",
        "A change: its states, its series, and the verdicts on it": (
            "opperf history show --event 7"
        ),
    },
)
def show(request: HistoryShowRequest) -> int:
    """Show series run by run, in the order of their commits: median, interval, change, the verdicts
    of sessions, and the command that measures the case again."""
    return write(request.run(tell), request)


@command(
    HistoryPlotRequest,
    examples={
        "An operator over months, with what changed": (
            "opperf history plot softmax --metric forward --branch main -o softmax.html"
        )
    },
)
def plot(request: HistoryPlotRequest) -> int:
    """Draw series over the commits, with their intervals and the changes that were detected: a
    panel for each case and metric, a line for each environment."""
    from opperf.results.plots.drawing import print_plot

    chart = request.run(tell)
    if request.output_file is None:
        print_plot(chart)
    else:
        tell(f"written to {request.output_file}")
    return 0


@command(
    PublishRequest,
    examples={
        "A page that any web server has": "opperf history publish public",
        "Of one project, for a browser without a server": (
            "opperf history publish kernels --project kernels && xdg-open kernels/index.html"
        ),
    },
)
def publish(request: PublishRequest) -> int:
    """Write the dashboard of `opperf serve` as files, with the data that the store has now: for a
    web server that has files alone, or for a browser that opens FOLDER/index.html. FOLDER is new,
    empty, or an earlier publication, in whose place this one is."""
    projects, folder = request.run(tell), request.folder
    tell(f"{pluralize(len(projects), 'project')} written to {folder}: open {folder / 'index.html'}")
    return 0


@command(
    HistoryExportRequest,
    name="export",
    examples={
        "A folder that asv publish reads": (
            "opperf history export --to asv --branch main -o results"
        ),
        "The data of github-action-benchmark's pages": (
            "opperf history export --to github-action-benchmark -o data.js"
        ),
        "The latest run, for bencher run --adapter json": "opperf history export --to bencher",
    },
)
def export_history(request: HistoryExportRequest) -> int:
    """Write the runs of a branch in the form of another tool. What the form has no place for is
    said. Runs of trees with uncommitted changes are omitted."""
    folder = request.run(tell)
    if folder is not None:
        tell(f"written to {folder}")
    return 0
