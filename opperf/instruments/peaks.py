"""Measures the peaks of a case's memory in this process, and refuses cases that do not fit, by
an estimate."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from opperf.dtypes import element_bytes
from opperf.errors import NoGradientError, UnsupportedError
from opperf.frameworks import Framework
from opperf.frameworks.base import MemoryReading
from opperf.frameworks.user_inputs import load_inputs
from opperf.instruments.prepared import Bound, PreparedCase, compiles
from opperf.instruments.restoring import FreshInputs
from opperf.model import Case, ModelTarget, Note, Struct, TensorSpec

SETTLE_S = 0.003
"""Seconds for a framework's threads to free memory: a thousand times what a thread on a core needs.
Too short a time costs a fork for the next case."""


class Peaks(Struct, frozen=True):
    """Peaks of the allocated bytes, above the level before the call."""

    forward: int
    both: int | None
    """Of the forward and the backward pass, gradients included; None without a gradient."""
    reserved: int | None = None
    """Of what the allocator reserved for the largest of these; None if it reports none."""
    notes: tuple[Note, ...] = ()
    busy_s: float = 0.0
    forward_s: float = 0.0
    gradient_s: float = 0.0
    """Seconds of the forward call among them, and of the forward and backward pass."""
    clean: bool = True
    """Whether the framework freed everything, so that the process can measure another case."""


def _settle(framework: Framework, device: str) -> None:
    time.sleep(SETTLE_S)
    framework.synchronize(device)


def _compile(prepared: PreparedCase) -> None:
    """Compiles the backward pass, so that the compiler's own tensors are not part of the peaks."""
    if "backward" in prepared.case.passes:
        with suppress(NoGradientError):
            prepared.gradient = prepared.make_gradient()
    _settle(prepared.framework, prepared.case.settings.device)


class _Readings:
    """The memory of one forward call and of one with its backward pass, made in the constructor.
    Some frameworks know it only after all readings."""

    def __init__(self, prepared: PreparedCase) -> None:
        framework, device = prepared.framework, prepared.case.settings.device
        begun = time.perf_counter()
        fresh = FreshInputs(prepared)
        if compiles(prepared.case, framework):
            _compile(prepared)
            fresh.begin()
        with framework.memory.measure(device) as self._forward:
            called = time.perf_counter()
            outputs = prepared.call()
            framework.synchronize(device)
            self._forward_s = time.perf_counter() - called
        del outputs
        fresh.begin()
        # Memory that is freed later would be part of the next reading's initial level.
        _settle(framework, device)
        self._both: MemoryReading | None = None
        self._gradient_s = 0.0
        if "backward" in prepared.case.passes:
            with framework.memory.measure(device) as reading:
                called = time.perf_counter()
                # Timing the backward pass adds a note to the record if there is no gradient.
                with suppress(NoGradientError):
                    prepared.make_gradient()
                    self._both = reading
                self._gradient_s = time.perf_counter() - called
        self._busy_s = time.perf_counter() - begun

    def peaks(self, clean: bool) -> Peaks:
        both = None if self._both is None else self._both.peak_bytes
        largest = self._both or self._forward
        return Peaks(
            self._forward.peak_bytes,
            both,
            reserved=largest.reserved_bytes,
            busy_s=self._busy_s,
            forward_s=self._forward_s,
            gradient_s=self._gradient_s,
            clean=clean,
        )


def peaks(prepared: PreparedCase) -> Peaks:
    """Returns the peaks of one forward call and, if the case has a backward pass, of one with it,
    without the workspace that the framework keeps from earlier calls."""
    return _Readings(prepared).peaks(clean=False)


BoundOf = Callable[[Case, Framework], Bound]
"""Returns the objects that a case needs beside itself; called in its scope."""


def measure_case_peaks(case: Case, framework: Framework, bound_of: BoundOf) -> Peaks:
    """Returns the peaks of a case, and whether the framework has freed everything."""
    device = case.settings.device
    load_inputs(framework, case)
    with framework.memory.measure(device) as whole, framework.scope(case):
        prepared = PreparedCase(case, framework, bound_of(case, framework))
        readings = _Readings(prepared)
        del prepared
        # A caught exception may hold arrays, in a cycle with its traceback.
        gc.collect()
        _settle(framework, device)
    return readings.peaks(clean=whole.kept_bytes == 0)


class MemoryMeter:
    """Measures the peaks of cases: in this process, which may have run others before."""

    def begin(self, case: Case, framework: Framework) -> None:
        """Begins to measure, if another process does; this one makes the tensors meanwhile."""

    def peaks(self, prepared: PreparedCase) -> Peaks:
        return peaks(prepared)


LOCAL_METER = MemoryMeter()


GIB = 2**30

WORKSPACE = 2
"""Assumed memory of a call, in multiples of its output: the output, and as much again for workspace
or for the gradient of the output."""


INDEX_BYTES = 8


def tensor_bytes(spec: TensorSpec) -> int:
    """Returns the bytes of a tensor: its elements, or its storage's as far as the last of them, and
    the indices of a sparse layout."""
    element = element_bytes(spec.dtype)
    if spec.layout == "csr":
        return spec.stored * (element + INDEX_BYTES) + (spec.shape[0] + 1) * INDEX_BYTES
    if spec.layout == "row_sparse":
        return spec.stored * (math.prod(spec.shape[1:]) * element + INDEX_BYTES)
    return (spec.reach if spec.is_view else spec.size) * element


def estimated_bytes(case: Case, outputs: Sequence[tuple[int, ...]] | None) -> int:
    """Returns an estimate of the bytes of a case: inputs, gradients, outputs and workspace. Outputs
    of unknown shapes are as large as the largest input."""
    inputs = [(tensor_bytes(spec), spec.gradient) for _, spec in case.tensors()]
    largest = max((size for size, _ in inputs), default=0)
    gradients = sum(size for size, wanted in inputs if wanted) if "backward" in case.passes else 0
    element = element_bytes(case.settings.dtype)
    made = largest if outputs is None else sum(math.prod(shape) * element for shape in outputs)
    return sum(size for size, _ in inputs) + gradients + WORKSPACE * made


def guard(case: Case, framework: Framework) -> int:
    """Returns an estimate of the bytes that a case needs. Raises `UnsupportedError`, with the
    figures, if they do not fit in memory."""
    if isinstance(case.target, ModelTarget):
        # Known only once it is built; the device then says that its memory is exhausted.
        return 0
    needed = estimated_bytes(case, framework.inference.output_shapes(case))
    free = framework.memory.available(case.settings.device)
    if needed > free:
        raise UnsupportedError(
            f"needs about {needed / GIB:.1f} GiB and {case.settings.device} has "
            f"{free / GIB:.1f} GiB free; use --size small or --shape"
        )
    return needed
