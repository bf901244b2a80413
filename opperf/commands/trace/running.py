"""The command `trace`, from its options to the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from opperf.commands.trace.writing import WRITERS, write
from opperf.errors import UsageError
from opperf.plurals import pluralize
from opperf.reports.model import Report
from opperf.reports.writing import write_reports
from opperf.results.output import Output, check_output
from opperf.sources.traces.archives import rank_in
from opperf.sources.traces.outline import outline_of
from opperf.sources.traces.overview import overview_of
from opperf.sources.traces.rank_comparison import compare_ranks
from opperf.sources.traces.reading import of_rank, read_traces
from opperf.sources.traces.reports import outline_report, overview_report, rank_report
from opperf.sources.traces.reports.node_report import node_report, tensor_report
from opperf.sources.traces.trace import Trace


@dataclass(frozen=True)
class Request:
    """The request of `trace`: its parameters."""

    files: tuple[Path, ...]
    tree: bool
    depth: int
    node: int | None
    tensor: int | None
    rank: int | None
    written: Path | None
    output_file: Path
    output_format: str
    overwrite: bool
    explicit: frozenset[str]
    """Names of the parameters that the user set."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, those of each rank together if all names have one."""
        ranks = {path: rank_in(path.name) for path in self.files}
        if None in ranks.values():
            return self.files
        return tuple(sorted(self.files, key=lambda path: ranks[path] or 0))


OF_ONE = {"tree": "--tree", "node": "--node", "tensor": "--tensor"}
"""Options that show a part of one trace."""


def trace_command(request: Request) -> int:
    """Prints or writes what is asked for of traces, and returns the exit code.

    Raises `OpperfError` for a file that is no trace, for a node, tensor or rank that is not there,
    for options that contradict each other, and for an output that cannot be written.
    """
    _check(request)
    if request.written is not None:
        check_output(request.written, request.overwrite, request.files)
        write(request.paths, request.rank, request.written, request.overwrite)
        return 0
    output = Output(request.output_file, request.output_format)
    check_output(output.path, request.overwrite, request.files)
    write_reports(_report(request), [output])
    return 0


def _check(request: Request) -> None:
    for path in request.files:
        if request.files.count(path) > 1:
            raise UsageError(f"{path} is named twice; name each trace once")
    given = [option for name, option in OF_ONE.items() if name in request.explicit]
    if len(given) + (request.written is not None) > 1:
        both = [*given, *(["--to"] if request.written is not None else [])]
        raise UsageError(f"{' and '.join(both)} are different things to do; choose one")
    if "depth" in request.explicit and not request.tree:
        raise UsageError("--depth is for --tree")
    if request.written is None:
        return
    if request.written.suffix not in WRITERS:
        raise UsageError(
            f"--to {request.written}: its extension says what is written: {', '.join(WRITERS)}"
        )
    for name in ("output_file", "output_format"):
        if name in request.explicit:
            raise UsageError(f"--to writes {request.written}, and no report; omit -o and -f")


def _traces(request: Request) -> Iterator[Trace]:
    return of_rank(read_traces(request.paths), request.rank)


def _report(request: Request) -> Report:
    """Returns the report that is asked for. Raises `UsageError`."""
    for name, make in REPORTS.items():
        if name in request.explicit:
            return make(_only(request, OF_ONE[name]), request)
    # A trace takes much memory, and what is shown of it little.
    overviews = [overview_of(trace) for trace in _traces(request)]
    if len(overviews) == 1:
        return overview_report.report_of(overviews[0])
    return rank_report.report_of(compare_ranks(overviews))


def _only(request: Request, option: str) -> Trace:
    """Returns the only trace. Raises `UsageError` if there are several."""
    found: list[Trace] = []
    names: list[str] = []
    for trace in _traces(request):
        names.append(trace.name if trace.rank is None else f"rank {trace.rank}")
        found = found or [trace]
    if len(names) > 1:
        raise UsageError(
            f"{option} is of one trace, and here are {_listed(names)}; choose one with --rank, or "
            "name its file"
        )
    return found[0]


MOST_NAMED = 4
"""Traces that a message names."""


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    others = f" and {pluralize(more, 'other')}" if more > 0 else ""
    return ", ".join(names[:MOST_NAMED]) + others


def _tree(trace: Trace, request: Request) -> Report:
    return outline_report.report_of(trace, outline_of(trace, request.depth))


def _node(trace: Trace, request: Request) -> Report:
    assert request.node is not None
    return node_report(trace, request.node)


def _tensor(trace: Trace, request: Request) -> Report:
    assert request.tensor is not None
    return tensor_report(trace, request.tensor)


REPORTS: Mapping[str, Callable[[Trace, Request], Report]] = {
    "tree": _tree,
    "node": _node,
    "tensor": _tensor,
}
"""Functions that make the reports on a part of a trace, by the parameter that asks for them."""
