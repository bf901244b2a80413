"""Reports on traces, whose names are hostile if asked for."""

from __future__ import annotations

from collections.abc import Iterator

from opperf.reports.model import Report
from opperf.reports.traces import overview_report, rank_report
from opperf.reports.traces.cells import outline_report
from opperf.reports.traces.node_report import node_report, tensor_report
from opperf.traces.execution_trace import read_nodes
from opperf.traces.kineto import read_events
from opperf.traces.outline import outline_of
from opperf.traces.overview import overview_of
from opperf.traces.rank_comparison import compare_ranks
from opperf.traces.trace import Trace
from tests.traces.making import ROOTS, collective, event, node, relu


def execution_trace(*nodes, name: str = "et.json", rank: int | None = None) -> Trace:
    """Returns an execution trace of nodes."""
    trace = Trace(name, rank)
    trace.schema = "1.1.1"
    read_nodes(trace, [*nodes, *ROOTS])
    return trace


def profile(*events, name: str = "profile.json", rank: int | None = None) -> Trace:
    """Returns a profiler's trace of events."""
    trace = Trace(name, rank)
    read_events(trace, list(events))
    return trace


def reports_of_traces(name: str) -> Iterator[Report]:
    """Yields a report of each kind on traces with labels of this name."""
    trace = execution_trace(
        node(10, name, 2, ""),
        relu(11, 10, outputs=[[11, 12, 0, 8, 4, name]]),
        collective(12, name, 8, group=name),
        node(13, name, 2, kernel_backend="triton"),
        name=name,
    )
    trace.remarks.append(name)
    other = execution_trace(collective(12, name, 9, group=name), name=name)
    shapes = {"Input Dims": [[2, 4]], "Input type": ["float"]}
    timed = profile(
        event(name, 0, 50, "user_annotation"),
        event("aten::relu", 1, 3, **shapes),
        event("aten::relu", 9, 3, **shapes),
        event("record_param_comms", 20, 5, **{"Collective name": name}),
        event("cudaLaunchKernel", 2, 1, "cuda_runtime", correlation=4),
        event("kernel", 30, 7, "kernel", correlation=4, stream=7, device=0),
        name=name,
    )
    overview = overview_of(trace)
    yield overview_report.report_of(overview)
    yield overview_report.report_of(overview_of(timed))
    yield rank_report.report_of(compare_ranks([overview, overview_of(other)]))
    yield rank_report.report_of(compare_ranks([overview_of(timed), overview_of(timed)]))
    yield outline_report(trace, outline_of(trace, 3))
    yield node_report(trace, 11)
    yield node_report(trace, 12)
    yield tensor_report(trace, 11)
