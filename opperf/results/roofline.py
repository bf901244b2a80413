"""The roofline model: the minimum time of a call by the peaks of its device, what bounds its
measured time, and the part of that which could go at most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar

from opperf.dtypes import is_floating
from opperf.instruments.profilers.reference_work import LAUNCH_BOUND
from opperf.instruments.times import BACKWARD, FORWARD
from opperf.instruments.work import FLOPS
from opperf.model import (
    PASSES,
    REMOVED,
    BandwidthPeak,
    Case,
    MetricKind,
    ModelTarget,
    NoteCode,
    Peaks,
    ProductPeak,
    Record,
)
from opperf.model.declaring import OFF
from opperf.results.figures import CaseFigures, Measurement
from opperf.results.units import time_text

Bound = Literal["memory", "compute", "dispatch", "launch", "impossible"]
"""Bounds of a time. `launch`: it is hardly longer than that of a call that does nothing.
`impossible`: it is shorter than the peaks allow."""

NS = 1e9
"""Nanoseconds of a second."""

IMPOSSIBLE = 1.25
"""Ratio of the minimum time to a measured one from which that is impossible: clocks that follow
temperature and load move peaks and times by some tenth each."""

WIDER = {
    "float16": ("float32", "float64"),
    "bfloat16": ("float32", "float64"),
    "float32": ("float64",),
    "complex64": ("float32", "float64"),
    "complex128": ("float64",),
    "int8": ("float32", "float64"),
    "uint8": ("float32", "float64"),
    "bool": ("float32", "float64"),
    "int16": ("float32", "float64"),
    "int32": ("float32", "float64"),
    "int64": ("float64",),
}
"""Dtypes whose peak stands for one that was not measured: as wide or wider, the nearest first."""

FAST = frozenset(("convolution", "convolve", "correlate", "deconvolution"))
"""Operations for which algorithms (Winograd's, by Fourier transforms) multiply less often than the
definition, by which floating-point operations are counted."""


class Work(NamedTuple):
    """The work of a pass in one call."""

    flops: float | None
    """None if they are not known."""
    moved: int | None
    """Bytes; None if they are not known."""
    flops_by: str = ""
    bytes_by: str = ""
    """How they are known, as `Record.known_by` has it; empty if they are not."""


FLOPS_OF = {FORWARD.name: FLOPS.name, BACKWARD.name: f"{FLOPS.name}_{BACKWARD.name}"}
"""By pass, the metric of its operations."""

MOVED_OF = {FORWARD.name: "moved_bytes", BACKWARD.name: "moved_backward_bytes"}
"""By pass, the field of its bytes."""


def work_of(record: Record, metric: str = FORWARD.name) -> Work:
    """Returns what a pass of a record computes and moves, as far as it is known."""
    flops, field = FLOPS_OF[metric], MOVED_OF[metric]
    counted, moved, known = record.summaries.get(flops), getattr(record, field), record.known_by
    # The count of a model that is trained is of a whole step.
    if isinstance(record.case.target, ModelTarget) and BACKWARD.name in record.summaries:
        counted = None
    has_bytes = moved > 0 or field in known
    return Work(
        None if counted is None else counted.median,
        moved if has_bytes else None,
        "" if counted is None else known.get(flops, "count"),
        known.get(field, "minimal") if has_bytes else "",
    )


class Roofline(NamedTuple):
    """A measured time beside the minimum that the peaks allow."""

    time: Measurement
    minimum_ns: float
    bound: Bound
    level: str = ""
    """Of memory, where that bounds it: `L2`, `memory`."""
    remarks: tuple[str, ...] = ()
    """Clauses on what its reader must know."""

    @property
    def is_impossible(self) -> bool:
        return self.bound == "impossible"

    @property
    def attainable(self) -> float | None:
        """The minimum time as a share of the measured one, at most 1: part of the data may stay in
        a faster cache. None of an impossible time."""
        return None if self.is_impossible else min(1.0, self.minimum_ns / self.time.median)

    @property
    def headroom_ns(self) -> float | None:
        """The rest of the time, which could go at most; None of an impossible one."""
        return None if self.is_impossible else max(0.0, self.time.median - self.minimum_ns)

    @property
    def text(self) -> str:
        """The bound as tables show it: `memory`, `L2 cache`, `compute`."""
        return f"{self.level} cache" if self.level.startswith("L") else self.bound

    @property
    def sentence(self) -> str:
        """All of it, in a clause."""
        least = f"the peaks allow {time_text(self.minimum_ns)} at least"
        if self.attainable is None or self.headroom_ns is None:
            return f"{self.bound}: {least}"
        said = f"bound by {self.text}, {100 * self.attainable:.0f} % of the attainable"
        lacks = f" ({'; '.join(self.remarks)})" if self.remarks else ""
        return f"{said}, headroom {time_text(self.headroom_ns)}{lacks}"


class _Limit(NamedTuple):
    """The minimum time by one of the peaks."""

    bound: Bound
    ns: float
    floor_ns: float
    """A time that no call undercuts which does the work, however much of it is in faster caches."""
    is_sure: bool
    """Whether the call does all of the work, and the peak is that of what it does it with."""
    level: str = ""
    remark: str = ""

    def is_undercut(self, time_ns: float) -> bool:
        return self.floor_ns > IMPOSSIBLE * time_ns


def roofline_of(record: Record, metric: str = FORWARD.name) -> Roofline | None:
    """Returns what the peaks say of a pass; None where its time, its work or the peaks are not
    known."""
    peaks = record.peaks
    if peaks is None or record.why_without_figures:
        return None
    time = CaseFigures(record).of(metric)
    if time is None or not 0 < time.median < math.inf or time.note(*REMOVED):
        return None
    work = work_of(record, metric)
    # Where it is not sure, the time shows that the work is less, or the peak another.
    found = [
        limit
        for limit in _limits(record, peaks, work)
        if limit.is_sure or not limit.is_undercut(time.median)
    ]
    if not found:
        return None
    known = {limit.bound for limit in found}
    remarks = [
        *(limit.remark for limit in found if limit.remark),
        *(["by its bytes alone"] if "compute" not in known else []),
        *(["by its operations alone"] if "memory" not in known else []),
    ]
    dispatch = dispatch_ns(record, peaks)
    if dispatch is not None:
        # A view takes less than the shortest call that computes.
        shortest = min(dispatch, time.median)
        found.append(_Limit("dispatch", shortest, 0.0, is_sure=False))
    first = max(found, key=lambda limit: limit.ns)
    bound = first.bound
    is_launch = bound == "dispatch" and time.median <= LAUNCH_BOUND * first.ns
    if is_launch or time.note(NoteCode.LAUNCH_BOUND):
        bound = "launch"
    if any(limit.is_undercut(time.median) for limit in found):
        bound = "impossible"
    level = first.level if bound == "memory" else ""
    return Roofline(time, first.ns, bound, level, tuple(remarks))


def rooflines_of(record: Record) -> dict[str, Roofline]:
    """Returns what the peaks say of each pass, by its metric, as far as that is known."""
    found = {metric: roofline_of(record, metric) for metric in PASSES}
    return {metric: one for metric, one in found.items() if one is not None}


def _limits(record: Record, peaks: Peaks, work: Work) -> Iterator[_Limit]:
    near = _at_threads(peaks, record.case.settings.threads)
    if work.moved is not None and near.levels:
        yield _by_memory(record.case, near, work.moved, work.bytes_by)
    dtypes = multiplied_in(record.case, near.products)
    if work.flops is not None and dtypes is not None:
        yield _by_products(record, near, work.flops, *dtypes)


Peak = TypeVar("Peak", BandwidthPeak, ProductPeak)


def _nearest(peaks: Iterable[Peak], threads: int | None) -> int:
    """Returns the measured number of threads that is nearest, by ratio; of all threads (None), the
    largest."""
    known = sorted({peak.threads for peak in peaks}, reverse=True) or [0]
    if threads is None:
        return known[0]
    return min(known, key=lambda number: abs(math.log(max(number, 1) / threads)))


def _has_as_many(measured: int, threads: int | None) -> bool:
    """Whether no more threads are used than peaks were measured of; of a GPU (0) always."""
    return threads is None or measured == 0 or measured >= threads


class Level(NamedTuple):
    """A level of memory, and the fastest that bytes are moved in it."""

    name: str
    capacity: float
    """Bytes; infinite of memory."""
    rate: float
    """Bytes per second."""


def levels_of(bandwidths: Iterable[BandwidthPeak], threads: int | None) -> list[Level]:
    """Returns the levels at a number of threads, the smallest first."""
    found: dict[str, Level] = {}
    listed = list(bandwidths)
    nearest = _nearest(listed, threads)
    for peak in (peak for peak in listed if peak.threads == nearest):
        level = Level(peak.level, peak.bytes or math.inf, peak.rate)
        best = found.get(peak.level)
        found[peak.level] = level if best is None or level.rate > best.rate else best
    return sorted(found.values(), key=lambda level: level.capacity)


class _AtThreads(NamedTuple):
    """Peaks at a number of threads, and the numbers that they were measured with."""

    levels: Sequence[Level]
    products: Mapping[str, float]
    moving: int
    multiplying: int


# The records of a run have few of them.
@lru_cache(maxsize=64)
def _at_threads(peaks: Peaks, threads: int | None) -> _AtThreads:
    return _AtThreads(
        levels_of(peaks.bandwidths, threads),
        products_of(peaks.products, threads),
        _nearest(peaks.bandwidths, threads),
        _nearest(peaks.products, threads),
    )


def _by_memory(case: Case, peaks: _AtThreads, moved: int, known_by: str) -> _Limit:
    levels = peaks.levels
    is_cold = case.settings.cache == "cold"
    chosen = next(
        (level for level in levels[:-1] if moved <= level.capacity and not is_cold), levels[-1]
    )
    # Without a formula a call may read less (of a table); without caches their rate is unknown.
    is_sure = (
        known_by in ("formula", "count")
        and len(levels) > 1
        and _has_as_many(peaks.moving, case.settings.threads)
    )
    ns, floor_ns = NS * moved / chosen.rate, _filled_ns(levels, moved)
    return _Limit("memory", ns, floor_ns, is_sure, chosen.name)


def _filled_ns(levels: Sequence[Level], moved: int) -> float:
    """Returns the time of moving bytes of which every cache has as many as it holds."""
    seconds, left = 0.0, float(moved)
    for level in levels:
        part = left if level is levels[-1] else min(left, level.capacity)
        seconds, left = seconds + part / level.rate, left - part
    return NS * seconds


def products_of(products: Iterable[ProductPeak], threads: int | None) -> dict[str, float]:
    """Returns the rates of products by dtype at a number of threads. Fewer threads, which are a
    choice too, may multiply faster."""
    listed = list(products)
    most = _nearest(listed, threads)
    found: dict[str, float] = {}
    for peak in listed:
        if peak.threads <= most:
            found[peak.dtype] = max(peak.rate, found.get(peak.dtype, 0.0))
    return found


def multiplied_in(case: Case, rates: Mapping[str, float]) -> tuple[str, str] | None:
    """Returns the dtype of the peak that a call is compared with, and its own dtype, for which that
    peak may stand; None if there is none. Of several dtypes it may multiply in the fastest."""
    if case.settings.autocast != OFF:
        every = {case.settings.autocast}
    else:
        every = {spec.dtype for _, spec in case.tensors()} or {case.settings.dtype}
    found = [
        (next((name for name in (own, *WIDER.get(own, ())) if name in rates), ""), own)
        for own in sorted(set(filter(is_floating, every)) or every)
    ]
    return max((pair for pair in found if pair[0]), key=lambda pair: rates[pair[0]], default=None)


def _by_products(record: Record, peaks: _AtThreads, flops: float, dtype: str, own: str) -> _Limit:
    settings = record.case.settings
    ns = NS * flops / peaks.products[dtype]
    is_sure = (
        dtype == own
        and _has_as_many(peaks.multiplying, settings.threads)
        # Options, and GPUs' libraries by themselves, multiply float32 with fewer digits.
        and not settings.options
        and (peaks.multiplying > 0 or dtype != "float32")
        # What a model, a layer or a function of the user's computes may be one of those.
        and record.operation not in FAST | {""}
    )
    remark = "" if dtype == own else f"by the peak of {dtype}; {own} has none"
    return _Limit("compute", ns, ns, is_sure, remark=remark)


def dispatch_ns(record: Record, peaks: Peaks) -> float | None:
    """Returns the shortest time of a call of the record's framework; None of kernels, and where it
    is not known."""
    if record.time_kind is not MetricKind.WALL:
        return None
    framework = record.case.target.framework
    return next((peak.ns for peak in peaks.dispatches if peak.framework == framework), None)
