"""The peaks of devices as frameworks reach them, each by its plainest operator of an operation:
products of matrices by dtype, calls that compute next to nothing, and the bandwidth of a GPU's
memory."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from operator import attrgetter

import msgspec

from opperf.errors import OpperfError, UsageError
from opperf.frameworks import package_of
from opperf.frameworks.base import CPU
from opperf.frameworks.installed import package_version
from opperf.instruments.times import FORWARD
from opperf.machine.bandwidth import MEMORY, Kernel, measure_bandwidths
from opperf.model import BandwidthPeak, DispatchPeak, Peaks, ProductPeak, Settings, TensorSpec
from opperf.plurals import pluralize
from opperf.rules.values import REQUESTED
from opperf.sources.operation_rows import Row
from opperf.sources.selecting import Selection
from opperf.sources.varying import dtype_options
from opperf.worker.client import Worker

Say = Callable[[str], object]

RATE = attrgetter("rate")

SINGLE = "float32"

DTYPES = ("float64", "float32", "float16", "bfloat16", "int8")

EXTENTS = tuple(2**power for power in range(7, 14))
"""Of matrices: the largest keep a GPU busy for milliseconds."""

LONGEST_NS = 1.5e8
"""Nanoseconds of a product, by those of the last smaller one, from which it is not measured: of a
processor's cores, 2048 reach within a few per cent what larger ones do, and those of a dtype that
no instruction multiplies take seconds."""

GROWTH = 2**3
"""Of the operations from one extent to the next."""

ATTEMPTS = 3
"""At a product after which larger ones take too long: the threads of a small one wait for each
other, and that is long on a machine that is not quiet."""

GPU_BYTES = 2**28
"""Of each array by which a GPU's memory is measured: four times the largest cache."""

TIMED = {"memory": False, "precision": 0.001, "max_time_s": 0.1, "warmup": 2, "timeout_s": 60.0}
"""Settings of all calls: a tenth of a second has three of the longest products, and thousands of
calls of a microsecond."""

MOVING: Mapping[Kernel, tuple[str, str, int]] = {
    "copy": ("square", "x", 2),
    "triad": ("add", "xy", 3),
    "read": ("max", "x", 1),
}
"""For each kernel the operation that moves as much, its inputs, and the arrays that it moves: not
the operation that copies, which makes a view in some frameworks."""


class _Calls:
    """Calls of a framework's operators in a worker, with its settings."""

    def __init__(self, worker: Worker, settings: Settings) -> None:
        self._worker, self._settings = worker, settings
        self.why = ""
        """Why the last call was not measured."""

    def ns(
        self, operation: str, roles: str, shape: tuple[int, ...], dtype: str = SINGLE
    ) -> float | None:
        """Returns the shortest time of a call whose inputs have a shape and dtype; None if it was
        refused."""
        # The fastest call by itself: a machine that is not quiet disturbs a mean of several.
        alone = {"iterations": 1} if math.prod(shape) > 1 else {}
        settings = msgspec.structs.replace(self._settings, dtype=dtype, **alone)
        row = Row(operation, dict.fromkeys(roles, TensorSpec(shape, REQUESTED)))
        selection = Selection(backward=False, settings=settings, dtype_given=True)
        try:
            found = self._worker.operation_cases([row], selection)
        except UsageError as error:
            self.why = str(error)
            return None
        if found.reasons:
            self.why = found.reasons[0]
            return None
        record = self._worker.measure(found.cases[0])
        summary = record.summaries.get(FORWARD.name)
        if summary is None:
            self.why = record.reason
        return None if summary is None else summary.min


def best_product(
    measure: Callable[[int], float | None], extents: Sequence[int]
) -> tuple[float, int] | None:
    """Returns the largest operations per second of matrices' products, with their extent; None if
    the first is refused. `measure` returns the nanoseconds of one. What follows one that is refused
    is not measured, nor a larger one that takes long by all `ATTEMPTS` at the last."""
    best: tuple[float, int] | None = None
    for extent in extents:
        fastest = math.inf
        for _ in range(ATTEMPTS):
            ns = measure(extent)
            if ns is None:
                return best
            fastest = min(fastest, ns)
            if GROWTH * fastest <= LONGEST_NS:
                break
        best = max(filter(None, (best, (2e9 * extent**3 / fastest, extent))))
        if GROWTH * fastest > LONGEST_NS:
            break
    return best


def _products(calls: _Calls, by: str, dtype: str, threads: int) -> list[ProductPeak]:
    """Returns the peak of a dtype; none if the framework refuses it."""
    best = best_product(
        lambda extent: calls.ns("matrix_product", "xy", (extent, extent), dtype), EXTENTS
    )
    if best is None:
        return []
    return [ProductPeak(dtype=dtype, threads=threads, rate=best[0], by=f"{by}, {best[1]}")]


def _bandwidths(calls: _Calls, by: str) -> Iterator[BandwidthPeak]:
    for kernel, (operation, roles, arrays) in MOVING.items():
        ns = calls.ns(operation, roles, (GPU_BYTES // 4,))
        if ns is not None:
            rate = 1e9 * GPU_BYTES * arrays / ns
            yield BandwidthPeak(level=MEMORY, kernel=kernel, threads=0, bytes=0, rate=rate, by=by)


def now() -> str:
    """Returns date and time as `Peaks.measured` has them."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def measure_framework(framework: str, cores: int, say: Say) -> Iterator[Peaks]:
    """Yields what a framework reaches on each of its devices: on the cores with one thread, then
    with as many as it starts, in processes of their own. Raises `OpperfError`."""
    package = package_of(framework)
    by = framework if package is None else f"{framework} {package_version(package.name)}"
    by_options: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for dtype in DTYPES:
        by_options.setdefault(tuple(dtype_options(framework, dtype).items()), []).append(dtype)
    for (options, dtypes), threads in itertools.product(by_options.items(), sorted({1, cores})):
        is_all = threads == cores
        process = Settings(threads=None if is_all else threads, options=dict(options))
        with Worker(framework, process) as worker:
            for device in worker.environment().devices if is_all else (CPU,):
                own = "" if device != CPU else f", {pluralize(threads, 'thread')}"
                say(f"{framework}: {', '.join(dtypes)} on {device}{own}")
                usual = worker.resolve({"device": (device,), "profiler": ("python",)}).usable
                settings = {name: values[0] for name, values in usual.items()} | TIMED
                calls = _Calls(worker, msgspec.structs.replace(process, **settings))
                count = threads if device == CPU else 0
                products = []
                for dtype in dtypes:
                    made = _products(calls, by, dtype, count)
                    products += made
                    if is_all and not made:
                        why = calls.why.partition(";")[0]
                        say(f"{framework}: no product of {dtype} on {device}: {why}")
                # Once, as the options are those of a dtype.
                is_first = is_all and SINGLE in dtypes
                moved = tuple(_bandwidths(calls, by)) if is_first and device != CPU else ()
                ns = calls.ns("add", "xy", (1,)) if is_first else None
                called = () if ns is None else (DispatchPeak(framework=framework, ns=ns),)
                yield Peaks(
                    device=device,
                    measured=now(),
                    bandwidths=moved,
                    products=tuple(products),
                    dispatches=called,
                )


SLOWED = 0.9
"""Share of the rate of one thread below which that of several is no peak: other processes had the
cores, for which threads wait. A product that one thread makes alone is as fast with more."""


def merge(found: Sequence[Peaks], say: Say) -> Peaks:
    """Returns the peaks of a device by what several frameworks reach on it: the best of all, the
    dispatch of each, and the date of the first. Products whose threads waited are omitted, and
    said."""
    bandwidths: dict[object, BandwidthPeak] = {}
    products: dict[tuple[int, int], ProductPeak] = {}
    for reached in found:
        for moved in reached.bandwidths:
            key = moved.level, moved.kernel, moved.threads
            bandwidths[key] = max(moved, bandwidths.get(key, moved), key=RATE)
        for made in reached.products:
            place = made.threads, DTYPES.index(made.dtype)
            products[place] = max(made, products.get(place, made), key=RATE)
    for (threads, number), made in tuple(products.items()):
        if threads > 1 and made.rate < SLOWED * products.get((1, number), made).rate:
            del products[threads, number]
            say(
                f"{made.dtype} with {threads} threads is omitted, as one is faster: other "
                "processes had the cores; measure again on a quiet machine"
            )
    return msgspec.structs.replace(
        found[0],
        bandwidths=tuple(bandwidths.values()),
        products=tuple(products[place] for place in sorted(products)),
        dispatches=tuple(peak for reached in found for peak in reached.dispatches),
    )


def of_others(peaks: Peaks, frameworks: Container[str]) -> Peaks:
    """Returns the part of a device's peaks that is of other frameworks than these."""

    def is_others(peak: BandwidthPeak | ProductPeak) -> bool:
        return bool(peak.by) and re.split("[ ,]", peak.by)[0] not in frameworks

    return msgspec.structs.replace(
        peaks,
        bandwidths=tuple(filter(is_others, peaks.bandwidths)),
        products=tuple(filter(is_others, peaks.products)),
        dispatches=tuple(peak for peak in peaks.dispatches if peak.framework not in frameworks),
    )


def measure_peaks(
    frameworks: Iterable[str], usable: frozenset[int], say: Say, earlier: Iterable[Peaks] = ()
) -> tuple[Peaks, ...]:
    """Returns the peaks of the cores that opperf may use, and of the GPUs that frameworks know,
    with those that were measured earlier by other frameworks or of other devices. A framework that
    cannot be measured is said. Raises `WorkerError` for the bandwidth."""
    found = {CPU: [Peaks(device=CPU, measured=now(), bandwidths=measure_bandwidths(usable, say))]}
    measured = []
    for framework in frameworks:
        try:
            for reached in measure_framework(framework, len(usable), say):
                found.setdefault(reached.device, []).append(reached)
            measured.append(framework)
        except OpperfError as error:
            say(f"{framework} is omitted: {error}")
    for peaks in earlier:
        is_again = peaks.device in found
        found.setdefault(peaks.device, []).append(of_others(peaks, measured) if is_again else peaks)
    return tuple(merge(of_device, say) for of_device in found.values())
