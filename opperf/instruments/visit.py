"""A visit of a prepared case, which keeps what instruments measure, and its conditions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from opperf.frameworks.base import CallExtents, Flops
from opperf.instruments.known_work import known_work
from opperf.instruments.peaks import MemoryMeter
from opperf.instruments.prepared import PreparedCase, compiles
from opperf.instruments.profilers.summary import summarise
from opperf.instruments.restoring import FreshInputs
from opperf.model import (
    Case,
    KnownBy,
    Metric,
    MetricKind,
    Note,
    NoteCode,
    Part,
    Pass,
    Record,
    Status,
    Struct,
    Summary,
    Verification,
    Waits,
)
from opperf.rules.deviations import may_lack_numbers
from opperf.rules.engine import OUTPUT, rules_module


class KeptResults(Struct, frozen=True):
    """Where the results of a case's timed calls are kept, and of calls after them."""

    folder: str
    """Absolute path of a new folder."""
    calls: int
    """Number of the call after the timed ones whose results are kept."""


class FewCalls(Struct, frozen=True):
    """How a slow case is sampled in many processes: once, as its scatter is that of these."""

    first_s: float | None = None
    """Seconds from which the first call is a sample by the wall clock, and the only one of the
    forward pass; None if it may take longer than later ones."""
    is_gauged: bool = True
    """Whether reference work is timed between the calls, where others have it: that of microseconds
    says nothing of the core's speed during a call of a second."""


class CompiledAhead(Struct, frozen=True):
    """The cost of compiling a case in another process, before it is measured."""

    compile_ns: float
    first_ns: float
    """Of these, what the call's first program took."""
    cache_misses: int
    """Programs that were compiled; the others were in the cache."""


@dataclass(frozen=True)
class Conditions:
    """How the cases of a process are visited, beside their settings."""

    meter: MemoryMeter
    reference_work: bool = False
    profiles: Path | None = None
    """Folder that keeps what an instrument's program wrote of each case."""
    keep: Callable[[Record], object] = lambda record: None
    """Keeps the record as it is before the last instruments, which may end the process."""
    rehearsed: bool = False
    """The case fits in memory, which is not estimated."""
    results: KeptResults | None = None
    """None for no calls after the timed ones."""
    finds_removed_work: bool = True
    """Whether work that a compiler removed is looked for: calling all of it eagerly takes a part of
    the time that compiling and measuring it does, and one process of an arm says it."""
    ahead: CompiledAhead | None = None
    """Set if another process has put the case's programs in the cache."""
    few: FewCalls | None = None
    """None for as many samples as a summary needs."""


NS_PER_S = 1e9


class Observer(Protocol):
    """Reads what the last timed call of a pass resulted in, before any other call."""

    def forward(self, outputs: Any) -> None: ...

    def backward(self, gradients: Sequence[Any]) -> None: ...

    def finish(self) -> None: ...


class Visit:
    """A visit of a prepared case, which keeps the samples and notes of instruments."""

    def __init__(self, prepared: PreparedCase, conditions: Conditions) -> None:
        self.prepared, self.conditions = prepared, conditions
        self.case, self.framework = prepared.case, prepared.framework
        self.inputs = FreshInputs(prepared)
        self.compiles = compiles(self.case, self.framework)
        self.summaries: dict[str, Summary] = {}
        self.samples: dict[str, list[float]] = {}
        self.warmup: dict[str, list[float]] = {}
        self.notes: list[Note] = []
        self.reference: dict[str, dict[str, float]] = {}
        self.waits: dict[str, Waits] = {}
        self.busy_s = 0.0
        self.latest_s = 0.0
        self.was_called = False
        self.first_s = 0.0
        self.compiled_s: dict[Pass, float] = {}
        """Seconds of a pass that had nothing to compile, where an instrument has run one."""
        self.operation = ""
        """The canonical operation of a call; empty if it is unknown."""
        self.moved_bytes = 0
        """Minimum bytes that a call reads and writes."""
        self.known_by: dict[str, KnownBy] = {}
        """How the operations and bytes of passes are known."""
        self.moved_backward_bytes = 0
        """Minimum bytes of a backward pass: gradients of results, and of inputs."""
        self.flops: dict[Pass, tuple[KnownBy, Flops]] = {}
        """Operations of passes that are known without counting them, and how."""
        self.returns_views = False
        """Whether all that a call returns are views of its inputs."""
        self.time_kind: MetricKind | None = None
        self.parts: tuple[Part, ...] = ()
        """Operators of a target that calls several."""
        self.verification: Verification | None = None
        self.observer: Observer | None = None
        """Set where the results of timed calls are kept."""

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Counts the time inside as that of the operator's calls."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.latest_s = time.perf_counter() - begun
            self.busy_s += self.latest_s

    def synchronize(self) -> None:
        self.framework.synchronize(self.case.settings.device)

    def restore(self) -> None:
        if self.inputs.restore is not None:
            self.inputs.restore()

    def call_first(self) -> Any:
        """Makes the first call, finds which inputs it writes to, and returns its outputs."""
        # It may compile, fill caches or be refused, which is not the operator's time.
        with self.busy():
            outputs = self.prepared.call()
            self.synchronize()
        self.first_s, self.was_called = self.latest_s, True
        unrestored = self.inputs.look()
        if unrestored is not None:
            self.notes.append(unrestored)
        return outputs

    def inspect(self) -> None:
        """Makes the first call, unless that was made, and looks at its outputs: whether they have
        NaN, and how many bytes it moved at least."""
        if self.was_called:
            return
        # Read before the first call, in which a framework may move tensors, and after they are
        # written, as they may have no memory before.
        self.synchronize()
        inputs = self.framework.arrays.extents(list(self.prepared.arguments.values()))
        results = self.call_first()
        if self.framework.arrays.has_nan(results):
            listed = rules_module(self.framework.rules).NOT_FINITE
            if not may_lack_numbers(self.case, self.framework, listed):
                text = (
                    "has NaN: the inputs do not suit the operator, or it leaves an output unwritten"
                )
                self.note("", NoteCode.NAN, text)
        outputs = self.framework.arrays.extents(results)
        in_place = writes_in_place(self.case) or self.inputs.restore is not None
        extents = CallExtents(inputs, outputs, in_place)
        self.returns_views = extents.are_views
        known = known_work(self.prepared, extents, results)
        self.flops, self.moved_bytes, self.operation = known.flops, known.moved, known.operation
        if known.moved_by is not None:
            self.known_by["moved_bytes"] = known.moved_by
        if known.fault:
            text = f"the formula of its operations failed: {known.fault}"
            self.note("", NoteCode.FORMULA, text)

    def note(self, metric: str, code: NoteCode, message: str) -> None:
        """Adds a note on a metric, or on the whole record where that is empty."""
        self.notes.append(Note(metric, code, message))

    def keep(self, metric: Metric, samples: Iterable[float], loops: int = 1) -> Summary:
        """Keeps samples and their summary. Raises `ValueError` unless all are finite."""
        listed = [float(sample) for sample in samples]
        if not all(map(math.isfinite, listed)):
            raise ValueError(f"not all values of {metric.name} are finite numbers")
        self.samples[metric.name] = listed
        return self.keep_value(metric, *listed, loops=loops)

    def keep_value(self, metric: Metric, *values: float, loops: int = 1) -> Summary:
        """Keeps the summary of values that are no samples: each is the same on every run."""
        summary = self.summaries[metric.name] = summarise(values, metric.unit, loops)
        return summary

    def replace(self, metrics: Iterable[Metric], other: Visit) -> None:
        """Replaces all that was kept of some metrics by what another visit kept."""
        names = {metric.name for metric in metrics}
        for kept in ("summaries", "samples", "warmup", "reference", "waits"):
            own: dict[str, Any] = getattr(self, kept)
            for name in names:
                own.pop(name, None)
            theirs: dict[str, Any] = getattr(other, kept)
            own.update({name: value for name, value in theirs.items() if name in names})
        self.notes = [
            *(note for note in self.notes if note.metric not in names),
            *(note for note in other.notes if note.metric in names),
        ]
        self.busy_s += other.busy_s

    def record(self) -> Record:
        return Record(
            case=self.case,
            id=self.case.id,
            status=Status.OK,
            summaries=self.summaries,
            samples=self.samples,
            warmup=self.warmup,
            notes=tuple(self.notes),
            reference=self.reference,
            waits=self.waits,
            busy_s=self.busy_s,
            operation=self.operation,
            moved_bytes=self.moved_bytes,
            moved_backward_bytes=self.moved_backward_bytes,
            known_by=self.known_by,
            time_kind=self.time_kind,
            parts=self.parts,
            verification=self.verification,
        )


def writes_in_place(case: Case) -> bool:
    """Whether the call writes its output to an argument. Only then is an output that shares memory
    with an input written; otherwise it is a view. An array that a user passes twice says nothing
    about that."""
    return OUTPUT in case.arguments or any(
        spec.fill.distribution == "same" and not spec.fill.digest for _, spec in case.tensors()
    )
