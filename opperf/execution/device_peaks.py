"""The peaks of devices as frameworks reach them: products of matrices by dtype, calls that compute
next to nothing, and the bandwidth of a GPU's memory. A framework's operators are those of its rules
whose canonical operation is asked for, with inputs of its rules in other shapes."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple, TypeVar

import msgspec

from opperf.errors import OpperfError
from opperf.frameworks import package_of
from opperf.frameworks.base import CPU
from opperf.frameworks.installed import package_version
from opperf.instruments.times import FORWARD
from opperf.machine.bandwidth import MEMORY, Kernel, measure_bandwidths
from opperf.model import (
    BandwidthPeak,
    Case,
    DispatchPeak,
    Peaks,
    ProductPeak,
    Settings,
    TensorSpec,
)
from opperf.plurals import pluralize
from opperf.sources.plain import is_laid_out
from opperf.sources.selecting import Selection
from opperf.sources.varying import dtype_options
from opperf.worker.client import Worker

Say = Callable[[str], object]

T = TypeVar("T", BandwidthPeak, ProductPeak)

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

TIMED = {
    **{"memory": False, "precision": 0.001, "max_time_s": 0.1},
    **{"warmup": 2, "timeout_s": 60.0},
}
"""Settings of all calls: a tenth of a second has three of the longest products, and thousands of
calls of a microsecond."""

MOVING: Mapping[Kernel, tuple[str, int, int]] = {
    "copy": ("square", 1, 2),
    "triad": ("add", 2, 3),
    "read": ("max", 1, 1),
}
"""For each kernel the operation that moves as much, its inputs, and the arrays that it moves: not
the operation that copies, which makes a view in some frameworks."""


def names_of(framework: str, operation: str) -> list[str]:
    """Returns the framework's operators of an operation; none of one whose rules name none."""
    try:
        table = importlib.import_module(f"opperf.rules.{framework}").OPERATIONS
    except ModuleNotFoundError:
        return []
    return [name for name, use in table.items() if operation in use.operations]


def _has_arrays(case: Case, count: int, axes: int | None) -> bool:
    """Whether the arguments are so many plain tensors of the same shape, of `axes` if given."""
    specs = list(case.arguments.values())
    return (
        len(specs) == count
        and all(isinstance(spec, TensorSpec) and not is_laid_out(spec) for spec in specs)
        and len({spec.shape for spec in specs if isinstance(spec, TensorSpec)}) == 1
        and axes in (None, *(len(spec.shape) for _, spec in case.tensors()))
    )


def in_shape(case: Case, shape: tuple[int, ...], dtype: str) -> Case:
    """Returns a case of plain tensors with others of a shape and dtype."""
    arguments: dict[str, Any] = {
        name: msgspec.structs.replace(spec, shape=shape, dtype=dtype, gradient=False)
        for name, spec in case.tensors()
    }
    settings = msgspec.structs.replace(case.settings, dtype=dtype)
    return msgspec.structs.replace(case, arguments=arguments, settings=settings)


class Measured(NamedTuple):
    """The peaks that one framework reaches on a device."""

    device: str
    bandwidths: Sequence[BandwidthPeak] = ()
    products: Sequence[ProductPeak] = ()
    dispatches: Sequence[DispatchPeak] = ()


class _Calls:
    """Calls of a framework's operators in a worker, with its settings."""

    def __init__(self, worker: Worker, framework: str, settings: Settings) -> None:
        self._worker, self._framework, self._settings = worker, framework, settings
        self.why = "its rules name no operator for them"
        """Why the last case was not measured."""

    def cases(self, operation: str, count: int, axes: int | None = None) -> list[Case]:
        """Returns a case for each operator of an operation that takes plain tensors alone."""
        found: list[Case] = []
        for name in names_of(self._framework, operation):
            selection = Selection((name,), backward=False, size="small", settings=self._settings)
            try:
                planned = self._worker.plan(selection).cases
            except OpperfError as error:
                # A name that this version lacks.
                self.why = str(error)
                continue
            fitting = (case for case in planned if _has_arrays(case, count, axes))
            found += itertools.islice(fitting, 1)
        return found

    def ns(self, case: Case, shape: tuple[int, ...], dtype: str) -> float | None:
        """Returns the shortest time of a call; None if it was refused."""
        shaped = in_shape(case, shape, dtype)
        if math.prod(shape) > 1:
            # The fastest call by itself: a machine that is not quiet disturbs a mean of several.
            alone = msgspec.structs.replace(shaped.settings, iterations=1)
            shaped = msgspec.structs.replace(shaped, settings=alone)
        record = self._worker.measure(shaped)
        summary = record.summaries.get(FORWARD.name)
        if summary is None:
            self.why = record.reason.partition(";")[0]
        return None if summary is None else summary.min

    def fastest(
        self, cases: Iterable[Case], shape: tuple[int, ...], dtype: str
    ) -> tuple[float, Case] | None:
        """Returns the fastest of cases in a shape, with its time; None if all are refused."""
        timed = [(ns, case) for case in cases if (ns := self.ns(case, shape, dtype)) is not None]
        return min(timed, key=lambda pair: pair[0], default=None)


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


def _products(calls: _Calls, framework: str, dtype: str, threads: int) -> list[ProductPeak]:
    """Returns the peak of a dtype; none if the framework refuses it."""
    first = calls.fastest(calls.cases("matrix_product", 2, axes=2), EXTENTS[:1] * 2, dtype)
    if first is None:
        return []
    best = best_product(lambda extent: calls.ns(first[1], (extent, extent), dtype), EXTENTS)
    if best is None:
        return []
    package = package_of(framework)
    version = "" if package is None else f" {package_version(package.name)}"
    by = f"{framework}{version}, {best[1]}"
    return [ProductPeak(dtype=dtype, threads=threads, rate=best[0], by=by)]


def _dispatches(calls: _Calls, framework: str) -> list[DispatchPeak]:
    found = calls.fastest(calls.cases("add", 2), (1,), SINGLE)
    return [] if found is None else [DispatchPeak(framework=framework, ns=found[0])]


def _bandwidths(calls: _Calls) -> Iterator[BandwidthPeak]:
    for kernel, (operation, inputs, arrays) in MOVING.items():
        found = calls.fastest(calls.cases(operation, inputs), (GPU_BYTES // 4,), SINGLE)
        if found is not None:
            rate = 1e9 * GPU_BYTES * arrays / found[0]
            yield BandwidthPeak(level=MEMORY, kernel=kernel, threads=0, bytes=0, rate=rate)


def measure_framework(framework: str, cores: int, say: Say) -> Iterator[Measured]:
    """Yields what a framework reaches on each of its devices: on the cores with one thread, then
    with as many as it starts, in processes of their own. Raises `OpperfError`."""
    by_options: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for dtype in DTYPES:
        by_options.setdefault(tuple(dtype_options(framework, dtype).items()), []).append(dtype)
    for (options, dtypes), threads in itertools.product(by_options.items(), sorted({1, cores})):
        is_all = threads == cores
        process = Settings(threads=None if is_all else threads, options=dict(options))
        with Worker(framework, process) as worker:
            for device in worker.environment().devices if is_all else (CPU,):
                own = "" if device != CPU else f", {pluralize(threads, 'thread')}"
                say(f"{framework}: {device}{own}")
                usual = worker.resolve({"device": (device,), "profiler": ("python",)}).usable
                settings = {name: values[0] for name, values in usual.items()} | TIMED
                calls = _Calls(worker, framework, msgspec.structs.replace(process, **settings))
                count = threads if device == CPU else 0
                products = []
                for dtype in dtypes:
                    made = _products(calls, framework, dtype, count)
                    products += made
                    if is_all and not made:
                        say(f"{framework}: no product of {dtype} on {device}: {calls.why}")
                # Once, as the options are those of a dtype.
                is_first = is_all and SINGLE in dtypes
                yield Measured(
                    device,
                    tuple(_bandwidths(calls)) if is_first and device != CPU else (),
                    products,
                    _dispatches(calls, framework) if is_first else (),
                )


def merge(device: str, measured: str, found: Sequence[Measured]) -> Peaks:
    """Returns the peaks of a device by what several frameworks reach on it: the best of all, and
    the dispatch of each."""

    def best(peaks: Iterable[T], of: Callable[[T], object]) -> tuple[T, ...]:
        highest: dict[object, T] = {}
        for peak in sorted(peaks, key=lambda peak: peak.rate):
            highest[of(peak)] = peak
        return tuple(peak for peak in peaks if highest[of(peak)] is peak)

    return Peaks(
        device=device,
        measured=measured,
        bandwidths=best(
            [peak for reached in found for peak in reached.bandwidths],
            lambda peak: (peak.level, peak.kernel, peak.threads),
        ),
        products=best(
            sorted(
                (peak for reached in found for peak in reached.products),
                key=lambda peak: (peak.threads, DTYPES.index(peak.dtype)),
            ),
            lambda peak: (peak.dtype, peak.threads),
        ),
        dispatches=tuple(peak for reached in found for peak in reached.dispatches),
    )


def measure_peaks(frameworks: Iterable[str], usable: frozenset[int], say: Say) -> tuple[Peaks, ...]:
    """Returns the peaks of the cores that opperf may use, and of the GPUs that frameworks know. A
    framework that cannot be measured is said. Raises `WorkerError` for the bandwidth."""
    measured = datetime.now(timezone.utc).isoformat(timespec="seconds")
    found = {CPU: [Measured(CPU, measure_bandwidths(usable, say))]}
    for framework in frameworks:
        try:
            for reached in measure_framework(framework, len(usable), say):
                found.setdefault(reached.device, []).append(reached)
        except OpperfError as error:
            say(f"{framework} is omitted: {error}")
    return tuple(merge(device, measured, of_device) for device, of_device in found.items())
