"""Cases of traces: the distinct calls of topmost operators, and what stands elsewhere for
operators that one kind of device has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from opperf.errors import UsageError
from opperf.instruments.profilers.summary import summarise
from opperf.model import Argument, CallSite, Case, OperatorTarget, Program, Settings, TensorSpec
from opperf.plurals import pluralize
from opperf.rules.shapes import Shape
from opperf.sources.base import FileSource, Source, call_dtype
from opperf.sources.completing import merge, merge_sites
from opperf.traces.anomalies import Process, of_processes, sentences
from opperf.traces.archives import FAILURES, folder_files, is_trace
from opperf.traces.reading import of_rank, read_traces
from opperf.traces.trace import (
    COLLECTIVE_REASON,
    FRAMEWORK,
    Call,
    Node,
    Trace,
    calls_of,
    refusal_of,
)


class TraceSource(Source):
    """The calls of traces. What cannot be a case is counted, with the reason."""

    completion = "each"
    program: Program

    def __init__(self, paths: Sequence[Path], rank: int | None = None) -> None:
        """Reads all traces, or that of a rank. Raises `UsageError` if they have no call."""
        name = ", ".join(map(str, paths))
        self.schemas: dict[tuple[str, str], str] = {}
        """Schemas of the operators as the traces have them, by path and overload."""
        self.remarks: list[str] = []
        refused: dict[tuple[str, str], list[int]] = defaultdict(list)
        steps = calls = 0
        times: list[float] = []
        found: list[Case] = []
        processes: list[Process] = []
        for trace in of_rank(read_traces(paths), rank):
            self.remarks += trace.notes
            processes.append(trace.process)
            outer = trace.outer_steps()
            steps += len(outer)
            times += [node.time_ns for node in outer if node.time_ns >= 0]
            for call, nodes in calls_of(trace):
                calls += len(nodes)
                if call.schema:
                    self.schemas.setdefault((call.path, call.overload), call.schema)
                if call.refusal or call.collective:
                    refused[refusal_of(call)].append(len(nodes))
                else:
                    parts = by_returned(trace, nodes).items()
                    found += [case_of(call, own, trace, shapes) for shapes, own in parts]
        self.remarks += sentences(of_processes(processes))
        super().__init__(merge(found))
        self._exclude(refused)
        if not calls:
            raise UsageError("; ".join([f"{name}: no call of an operator in it", *self.remarks]))
        self.program = Program(
            name,
            FRAMEWORK,
            steps=max(1, steps),
            calls=calls,
            recorded_step=summarise(times, "ns") if times else None,
        )

    def _exclude(self, refused: Mapping[tuple[str, str], Sequence[int]]) -> None:
        """Says what is omitted: calls by name and reason, the number of each distinct one."""
        reasons: dict[str, list[str]] = defaultdict(list)
        collectives: list[str] = []
        omitted = {True: 0, False: 0}
        for (path, reason), counts in refused.items():
            of_kinds = f" of {len(counts)} kinds" if len(counts) > 1 else ""
            reasons[path].append(f"{pluralize(sum(counts), 'call')}{of_kinds}: {reason}")
            omitted[reason == COLLECTIVE_REASON] += sum(counts)
            collectives += [path] if reason == COLLECTIVE_REASON else []
        self.excluded = {path: "; ".join(texts) for path, texts in reasons.items()}
        if collectives:
            self.remarks.append(
                f"{pluralize(omitted[True], 'call')} of collective operations, "
                f"which take several processes, omitted: {', '.join(sorted(collectives))}"
            )
        if omitted[False]:
            self.remarks.append(
                f"{pluralize(omitted[False], 'call')} omitted, as `opperf trace` lists with the "
                "reasons"
            )


def by_returned(trace: Trace, nodes: Sequence[Node]) -> dict[tuple[Shape, ...], list[Node]]:
    """Returns the nodes of a call by the shapes of what they returned, which depends on contents;
    those of which these are unknown with the first others."""
    shapes = [trace.returned(node) for node in nodes]
    usual = next(filter(None, shapes), ())
    found: dict[tuple[Shape, ...], list[Node]] = {}
    for node, own in zip(nodes, shapes, strict=True):
        found.setdefault(own or usual, []).append(node)
    return found


def case_of(
    call: Call, nodes: Sequence[Node], trace: Trace, returned: tuple[Shape, ...] = ()
) -> Case:
    """Returns the case of a distinct call, with where and how often it was made."""
    path, overload, arguments, note = elsewhere(call.path, call.overload, dict(call.arguments))
    sites = sites_of(nodes, trace)
    phases = {site.phase for site in sites}
    times = tuple(node.recorded_ns for node in nodes if node.recorded_ns >= 0)
    why = f"{pluralize(len(nodes), 'call')} in {Path(trace.name).name}"
    if phases != {"forward"}:
        why += f", {' and '.join(sorted(phases))}"
    return Case(
        target=OperatorTarget(FRAMEWORK, path, overload),
        arguments=arguments,
        settings=Settings(dtype=call_dtype(arguments.values())),
        # A backward operator is a call of its own.
        passes=("forward",),
        origin=f"{trace.name}#{nodes[0].id}",
        why="; ".join(filter(None, (why, note, *call.notes))),
        tags=tuple(sorted(phases)) if phases != {"forward"} else (),
        count=len(nodes),
        sites=sites,
        recorded=times,
        returned=returned,
    )


def sites_of(nodes: Iterable[Node], trace: Trace) -> tuple[CallSite, ...]:
    """Returns where the program made the calls: labels around them, and the phase."""
    made = []
    for node in nodes:
        place = trace.place(node)
        time = node.recorded_ns
        made.append(
            CallSite(
                module=".".join(place.labels),
                phase=place.phase,
                time_ns=float(time) if time >= 0 else None,
            )
        )
    return merge_sites(made)


class TraceFiles(FileSource):
    """Traces: JSON, compressed, in an archive, or a folder of them."""

    name = "execution trace, or trace of a profiler (.json, .json.gz, .tar.gz, or a folder of them)"
    folders = True
    unites = True

    def recognizes(self, path: Path) -> bool:
        """Whether a file, one of an archive, or one of a folder begins as a trace does."""
        try:
            return bool(folder_files(path)) if path.is_dir() else is_trace(path)
        except UsageError:
            # Opening the folder says which file of it cannot be read.
            return True
        except FAILURES:
            return False

    def open(self, path: Path) -> TraceSource:
        return self.open_all([path])

    def open_all(self, paths: Sequence[Path]) -> TraceSource:
        return TraceSource(paths)


Arguments = Mapping[str, Argument]


class Renamed(NamedTuple):
    """Another operator that stands for one."""

    path: str
    overload: str
    names: Mapping[str, str]
    """Its name of each argument that it takes, by the operator's own name."""
    values: Mapping[str, Argument]
    """Arguments that it takes besides."""
    derived: Callable[[Arguments], Arguments] = lambda arguments: {}
    """Returns those among these that depend on the operator's own arguments."""


CONVOLUTION = {
    name: name for name in ("weight", "bias", "stride", "padding", "dilation", "groups")
} | {"self": "input"}

PLAIN: Arguments = {"bias": None, "transposed": False, "output_padding": (0,)}

NORMALISATION = {
    name: name for name in ("input", "weight", "bias", "running_mean", "running_var", "training")
} | {"exponential_average_factor": "momentum", "epsilon": "eps"}

NORMALISATION_BACKWARD = {
    name: name for name in ("input", "weight", "running_mean", "running_var")
} | {
    "grad_output": "grad_out",
    "save_mean": "save_mean",
    "save_var": "save_invstd",
    "epsilon": "eps",
}

ALL_GRADIENTS: Arguments = {"train": True, "output_mask": (True, True, True)}

ATTENTION = {
    name: name for name in ("query", "key", "value", "dropout_p", "is_causal", "scale")
} | {"attn_bias": "attn_mask"}


def _groups_of_channels(arguments: Arguments) -> Arguments:
    """A depthwise convolution declares none: one for each channel."""
    data = arguments.get("self")
    return {"groups": data.shape[1]} if isinstance(data, TensorSpec) and data.shape[1:] else {}


CONVOLVED = Renamed("aten.convolution", "default", CONVOLUTION, PLAIN)
DEPTHWISE = CONVOLVED._replace(derived=_groups_of_channels)
TRANSPOSED = CONVOLVED._replace(
    names=CONVOLUTION | {"output_padding": "output_padding"}, values={**PLAIN, "transposed": True}
)
ATTENDED = Renamed("aten.scaled_dot_product_attention", "default", ATTENTION, {})
BATCH_NORM = Renamed("aten.native_batch_norm", "default", NORMALISATION, {})
BATCH_NORM_BACKWARD = Renamed(
    "aten.native_batch_norm_backward", "default", NORMALISATION_BACKWARD, ALL_GRADIENTS
)

RENAMED: Mapping[str, Renamed] = {
    "aten.cudnn_convolution": CONVOLVED,
    "aten.miopen_convolution": CONVOLVED,
    "aten.miopen_depthwise_convolution": CONVOLVED,
    "aten._mps_convolution": CONVOLVED,
    "aten.mkldnn_convolution": CONVOLVED,
    "aten.conv_depthwise3d": DEPTHWISE,
    "aten._conv_depthwise2d": DEPTHWISE,
    "aten.cudnn_convolution_transpose": TRANSPOSED,
    "aten.miopen_convolution_transpose": TRANSPOSED,
    "aten.cudnn_batch_norm": BATCH_NORM,
    "aten.miopen_batch_norm": BATCH_NORM,
    "aten.cudnn_batch_norm_backward": BATCH_NORM_BACKWARD,
    "aten.miopen_batch_norm_backward": BATCH_NORM_BACKWARD,
    "aten._scaled_dot_product_flash_attention": ATTENDED,
    "aten._scaled_dot_product_efficient_attention": ATTENDED,
    "aten._scaled_dot_product_cudnn_attention": ATTENDED,
}
"""By the operator's path. Those whose arguments have no counterpart elsewhere (those of recurrent
layers, whose weights cuDNN keeps in one piece) are measured where they are."""


def elsewhere(
    path: str, overload: str, arguments: Arguments
) -> tuple[str, str, dict[str, Argument], str]:
    """Returns what stands for an operator on any device, with its arguments, and a note on it;
    the operator itself, and no note, if it is on all."""
    found = RENAMED.get(path)
    if found is None or not arguments.keys() & found.names.keys():
        return path, overload, dict(arguments), ""
    renamed = {found.names[name]: value for name, value in arguments.items() if name in found.names}
    values = {**found.values, **found.derived(arguments), **renamed}
    return found.path, found.overload, values, f"it was {path}"
