"""Traces as sources of replays: a case of each process, whose target is its whole sequence."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from opperf.errors import UnsupportedError, UsageError
from opperf.frameworks import Framework
from opperf.frameworks.replays import CallSequence, SequenceCall
from opperf.model import Case, OperatorTarget, Settings, TensorSpec, TraceTarget, map_tensors
from opperf.plurals import pluralize
from opperf.reading import open_file
from opperf.rules.shapes import Shape
from opperf.sources.base import Source
from opperf.sources.completing import complete
from opperf.sources.traces import TraceFiles, elsewhere
from opperf.traces.anomalies import Process, of_processes, sentences
from opperf.traces.archives import folder_files
from opperf.traces.data_flow import DataFlow, specs_of
from opperf.traces.parts import below_label, in_steps, skip_reasons
from opperf.traces.reading import read_traces
from opperf.traces.trace import FRAMEWORK, Call, Node, Trace

DIGEST_LENGTH = 16
"""Hexadecimal digits of a trace's digest, which is as long as a case's id."""

ALL_RANKS = 0
"""Number of processes that stands for one for each rank of a trace."""

BLOCK = 1 << 20
"""Bytes that are read at once: traces have up to gigabytes."""

PROFILER = "python"
"""The profiler of replays where none is chosen: an iteration is what a user waits for."""


def digest_of(path: Path) -> str:
    """Returns the hash of a trace's files."""
    found = hashlib.sha256()
    for file in folder_files(path) if path.is_dir() else [path]:
        with open_file(file) as stream:
            while block := stream.read(BLOCK):
                found.update(block)
    return found.hexdigest()[:DIGEST_LENGTH]


class ReplaySource(Source):
    """The replays of a trace, one of each process."""

    own_settings = ("dtype", "mode", "phase", "grad", "memory_format", "autocast")
    """Settings that the trace decides."""

    def __init__(self, path: Path, chosen: TraceTarget) -> None:
        """`chosen` has the options of the replay."""
        super().__init__()
        self.remarks: list[str] = []
        target = msgspec.structs.replace(chosen, file=str(path.resolve()), digest=digest_of(path))
        made: list[tuple[int, Case]] = []
        waits: list[str] = []
        count = 0
        processes: list[Process] = []
        for count, (rank, trace) in enumerate(ranked(path), 1):
            processes.append(trace.process)
            # With a process for each rank, there is one case of all.
            nodes = nodes_of(trace, target)
            self.remarks += _loading_remark(trace)
            skip_reasons(trace, nodes, target.skip)
            if chosen.ranks == 1 or count == 1:
                made.append((rank, self._case(trace, nodes, target)))
                waits += _wait_remark(trace, nodes)
        self.remarks += sentences(of_processes(processes))
        ranks = count if chosen.ranks == ALL_RANKS else chosen.ranks
        self.remarks += waits if ranks == 1 else []
        for rank, case in made:
            own = rank if len(made) > 1 else 0 if ranks > 1 else None
            placed = msgspec.structs.replace(target, rank=own, ranks=ranks)
            self._cases.append(msgspec.structs.replace(case, target=placed))

    def _case(self, trace: Trace, nodes: Sequence[Node], target: TraceTarget) -> Case:
        self.remarks += trace.notes
        if not any(node.inputs for node in nodes):
            self.remarks.append(
                f"{trace.name} does not say which tensors its calls share: they are replayed with "
                "tensors of their own"
            )
        calls = [node for node in nodes if not trace.calls[node.call].collective]
        span_ns = _span(nodes)
        return Case(
            target=target,
            arguments={},
            settings=Settings(profiler=PROFILER),
            passes=("forward",),
            origin=trace.name,
            why=f"replay of {pluralize(len(calls), 'call')}",
            category="replay",
            recorded=(span_ns,) if span_ns > 0 else (),
        )


def _span(nodes: Sequence[Node]) -> int:
    """From the beginning of the first call to the end of the last one; 0 without times."""
    timed = [node for node in nodes if node.start_ns >= 0]
    ends = (node.start_ns + max(0, node.time_ns) for node in timed)
    return max(ends, default=0) - min((node.start_ns for node in timed), default=0)


def _wait_remark(trace: Trace, nodes: Sequence[Node]) -> Iterator[str]:
    collectives = [node for node in nodes if trace.calls[node.call].collective]
    if collectives:
        is_timed = any(node.recorded_ns >= 0 for node in collectives)
        how = "waits of their recorded length" if is_timed else "omitted: the trace has no times"
        yield f"{trace.name}: {pluralize(len(collectives), 'call')} of collective operations, {how}"


def _loading_remark(trace: Trace) -> Iterator[str]:
    count = sum(trace.place(node).is_loading for node in trace.topmost())
    if count:
        calls = pluralize(count, "call")
        yield f"{trace.name}: {calls} below a data loader's label, omitted as by PARAM"


def ranked(path: Path) -> Iterator[tuple[int, Trace]]:
    """Yields the traces of a path, one after the other, each with its rank; with the first free
    number where it does not say it. Raises `UsageError`."""
    taken: set[int] = set()
    for trace in read_traces([path]):
        rank = trace.rank
        if rank is None or rank in taken:
            rank = next(number for number in itertools.count() if number not in taken)
        taken.add(rank)
        yield rank, trace


def open_replay(path: Path, chosen: TraceTarget) -> ReplaySource:
    """Returns the source of a trace's replays. Raises `UsageError` for what is no trace, and for a
    step, label or operator that it lacks."""
    if not TraceFiles().recognizes(path):
        raise UsageError(f"--replay: {path} is no {TraceFiles.name}")
    return ReplaySource(path, chosen)


def nodes_of(trace: Trace, target: TraceTarget) -> list[Node]:
    """Returns the calls of a target, in their order, without those of a data loader: a replay has
    its tensors from outside, as PARAM's has. Raises `UsageError` if there is none."""
    topmost = [node for node in trace.topmost() if not trace.place(node).is_loading]
    nodes = below_label(trace, in_steps(trace, topmost, target.steps), target.subgraph)
    if not nodes:
        where = f" in step {target.steps}" if target.steps else ""
        raise UsageError(f"{trace.name}: no call of an operator{where}")
    return nodes


def read_sequence(framework: Framework, target: TraceTarget) -> CallSequence:
    """Returns the sequence of a target, with the calls as the framework makes them.

    Raises `UnsupportedError` if the trace is not there, or another one by now.
    """
    trace = _trace_of(target)
    nodes = nodes_of(trace, target)
    skipped = skip_reasons(trace, nodes, target.skip)
    used = list(dict.fromkeys(node.call for node in nodes))
    flow = DataFlow(trace, nodes)
    returned: dict[int, tuple[Shape, ...]] = {}
    for node in nodes:
        returned.setdefault(node.call, trace.returned(node))
    calls = dict(zip(used, _completed(framework, trace, returned, flow), strict=True))
    specs = {index: _filled(trace.calls[index], made.case) for index, made in calls.items()}
    streams = streams_of(trace)
    for index, node in enumerate(nodes):
        is_made = index not in skipped and not calls[node.call].refusal
        flow.add(node, specs[node.call], is_made, streams.get(node.id, 0))
    found = flow.sequence(tuple(calls.values()), skipped)
    places = {call: place for place, call in enumerate(used)}
    steps = [step._replace(call=places.get(step.call, step.call)) for step in found.steps]
    return found._replace(steps=steps)


def _trace_of(target: TraceTarget) -> Trace:
    path = Path(target.file)
    if not path.exists():
        raise UnsupportedError(f"the trace {path} is not here; run it again with its new path")
    if digest_of(path) != target.digest:
        raise UnsupportedError(f"{path} has changed since the replay was planned; run it again")
    if target.ranks > 1:
        return _trace_at(path, target.rank or 0)
    return next(trace for rank, trace in ranked(path) if target.rank in (None, rank))


def _trace_at(path: Path, index: int) -> Trace:
    """Returns a trace of a path by its place; more processes than traces replay the same ones."""
    count = 0
    for count, (_, trace) in enumerate(ranked(path), 1):
        if count > index:
            return trace
    return _trace_at(path, index % count)


def _completed(
    framework: Framework, trace: Trace, returned: Mapping[int, tuple[Shape, ...]], flow: DataFlow
) -> Iterator[SequenceCall]:
    """Yields the distinct calls, each with what it returned first, completed by the framework."""
    cases = [_numbered(trace.calls[index], shapes) for index, shapes in returned.items()]
    for index, made in zip(returned, complete(framework, cases), strict=True):
        call = trace.calls[index]
        name = call.collective or call.path
        on_host = flow.is_on_host(call.device)
        yield SequenceCall(name, made.case, call.refusal or made.refusal, on_host)


def _numbered(call: Call, returned: tuple[Shape, ...]) -> Case:
    """A case in which each tensor has its position as the name of its storage."""
    places = map(str, itertools.count())
    numbered = {
        name: map_tensors(value, lambda spec: msgspec.structs.replace(spec, storage=next(places)))
        for name, value in call.arguments
    }
    path, overload, arguments, _ = elsewhere(call.path, call.overload, numbered)
    return Case(
        target=OperatorTarget(FRAMEWORK, path, overload),
        arguments=arguments,
        passes=("forward",),
        returned=returned,
    )


def _filled(call: Call, completed: Case) -> list[TensorSpec]:
    """Returns the tensors of a call with the contents that its completed case has for them."""
    specs = specs_of(call)
    for _, spec in completed.tensors():
        specs[int(spec.storage)] = msgspec.structs.replace(specs[int(spec.storage)], fill=spec.fill)
    return specs


def streams_of(trace: Trace) -> dict[int, int]:
    """Returns the number of the queue of each call that has kernels, from 0 on."""
    numbers: dict[tuple[int, int], int] = {}
    found: dict[int, int] = {}
    for kernel in trace.kernels:
        number = numbers.setdefault((kernel.device, kernel.stream), len(numbers))
        if kernel.node:
            found.setdefault(kernel.node, number)
    return found
