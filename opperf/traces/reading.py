"""Reads the traces of a file, an archive or a folder: one for each process."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from opperf.decoding import JsonObject
from opperf.errors import UsageError
from opperf.plurals import pluralize
from opperf.traces.anomalies import Anomaly
from opperf.traces.archives import Member, folder_files, open_members
from opperf.traces.collectives import whole
from opperf.traces.execution_trace import read_nodes
from opperf.traces.kineto import read_events
from opperf.traces.objects import Objects
from opperf.traces.trace import Node, Trace

READERS = {"nodes": read_nodes, "traceEvents": read_events}
"""Functions that add the nodes of a trace, by the name of the file's list."""


def read_traces(paths: Sequence[Path]) -> Iterator[Trace]:
    """Yields the traces of files and folders, one after the other. The execution trace of a process
    and its profiler's trace, of one rank or both without one, are one trace: that with the times of
    the other. Of just two files, one may be without a rank.

    Raises `UsageError` for a file that cannot be read or is no trace.
    """
    are_two = sum(len(folder_files(path)) if path.is_dir() else 1 for path in paths) == 2
    found: dict[str, Trace] = {}
    for kind, trace in itertools.chain.from_iterable(map(_read, paths)):
        ranks = {trace.rank, *(other.rank for other in found.values())}
        if kind in found or len(ranks - {None} if are_two else ranks) > 1:
            yield from _joined(found)
            found = {}
        found[kind] = trace
    yield from _joined(found)


def of_rank(traces: Iterable[Trace], rank: int | None) -> Iterator[Trace]:
    """Yields the traces of a rank, all if it is None. Raises `UsageError` without any."""
    others: list[str] = []
    is_found = False
    for trace in traces:
        if rank is None or trace.rank == rank:
            is_found = True
            yield trace
        else:
            others.append("none" if trace.rank is None else str(trace.rank))
    if not is_found:
        known = ", ".join(dict.fromkeys(others))
        raise UsageError(f"there is no trace of rank {rank}; ranks here: {known}")


def _read(path: Path) -> Iterator[tuple[str, Trace]]:
    is_empty = True
    for member in open_members(path):
        is_empty = False
        yield read_member(member)
    if is_empty:
        raise UsageError(f"{path} has no trace: no file in it ends in .json or .json.gz")


def read_member(member: Member) -> tuple[str, Trace]:
    """Returns the name of the list of a JSON file, and its trace. Raises `UsageError`."""
    objects = Objects(member.stream, member.name)
    trace = Trace(member.name, member.rank)
    trace.contents = member.contents
    # The list's name is known when its first object is.
    found = iter(objects)
    first = list(itertools.islice(found, 1))
    READERS[objects.kind](trace, itertools.chain(first, found))
    trace.anomalies.update(objects.anomalies)
    _add_facts(trace, objects.facts)
    return objects.kind, trace


def _add_facts(trace: Trace, facts: JsonObject) -> None:
    trace.schema = str(facts.get("schema", ""))
    processes = facts.get("distributedInfo")
    if not isinstance(processes, dict):
        return
    written = [processes.get("rank"), processes.get("world_size")]
    rank, trace.world_size = map(whole, written)
    if any(value is not None and whole(value) is None for value in written):
        trace.anomalies[Anomaly.RANK_UNREADABLE] = 1
    if rank is not None and trace.rank not in (rank, None):
        trace.anomalies[Anomaly.RANK_NAMED] = 1
    trace.rank = trace.rank if rank is None else rank


def _joined(found: dict[str, Trace]) -> Iterator[Trace]:
    """With the times of the other one of its process."""
    if len(found) < len(READERS):
        yield from found.values()
        return
    trace, other = found["nodes"], found["traceEvents"]
    timed: dict[int, Node] = {}
    for node in other.nodes.values():
        if node.rf_id and timed.setdefault(node.rf_id, node) is not node:
            trace.anomalies[Anomaly.SAME_NUMBER] += 1
    numbers: dict[int, int] = {}
    operators = known = 0
    for node in trace.nodes.values():
        match = timed.get(node.rf_id)
        is_known = match is not None and match.name == node.name
        operators += trace.is_operator(node)
        known += trace.is_operator(node) and is_known
        if match is not None and is_known:
            numbers[match.id] = node.id
            node.start_ns, node.time_ns = match.start_ns, match.time_ns
            node.kernel_ns = match.kernel_ns
    trace.kernels = [kernel._replace(node=numbers.get(kernel.node, 0)) for kernel in other.kernels]
    trace.world_size = trace.world_size or other.world_size
    trace.rank = other.rank if trace.rank is None else trace.rank
    trace.anomalies.update(other.anomalies)
    trace.remarks += [
        *other.remarks,
        f"{trace.name}: times of {known:,} of {pluralize(operators, 'call')} are in {other.name}",
    ]
    yield trace
