"""The one way from a case to a record."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from opperf.errors import NoGradientError, OpperfError, UnsupportedError, one_line
from opperf.frameworks import Framework
from opperf.model import Argument, Case, Record, Status, Summary, TensorSpec
from opperf.profilers import Profiler, profiler
from opperf.profilers.summary import summarise

GIB = 2**30

WORKSPACE = 2
"""Times an operator's output that a call is assumed to need: the output, and as much again
for its workspace, or for the gradient that comes back to the output."""

BYTES = {"float16": 2, "bfloat16": 2, "float64": 8, "int64": 8, "int8": 1, "uint8": 1, "bool": 1}
"""Bytes an element takes; every dtype that is not here takes four."""

BASELINE_DTYPE = "float32"
"""What every operator's rule is made for; a refusal in another dtype is checked against it."""


@dataclass(frozen=True)
class Bound:
    """Objects a caller holds, that a case alone cannot make.

    `arrays` by the digest of the `given` tensor they stand for; `function` the callable
    itself, where the target's path may not lead to it (a lambda, a local function).
    """

    arrays: Mapping[str, Any] = field(default_factory=dict)
    function: Callable[..., Any] | None = None


NOTHING_BOUND = Bound()


def tensor_bytes(spec: TensorSpec) -> int:
    """Bytes the tensor's dense data takes."""
    return spec.size * BYTES.get(spec.dtype, 4)


def estimated_bytes(case: Case, outputs: Sequence[tuple[int, ...]] | None) -> int:
    """Bytes a case needs: its inputs, their gradients, and its outputs with an allowance.

    Outputs whose shapes are not known are taken to be as large as the largest input.
    """
    inputs = [(tensor_bytes(spec), spec.gradient) for _, spec in case.tensors()]
    largest = max((size for size, _ in inputs), default=0)
    gradients = sum(size for size, wanted in inputs if wanted) if "backward" in case.passes else 0
    element = BYTES.get(case.settings.dtype, 4)
    made = largest if outputs is None else sum(math.prod(shape) * element for shape in outputs)
    return sum(size for size, _ in inputs) + gradients + WORKSPACE * made


def guard(case: Case, framework: Framework) -> None:
    """Refuse a case that does not fit in memory, with the figures.

    Raises `UnsupportedError`.
    """
    needed = estimated_bytes(case, framework.output_shapes(case))
    free = framework.device_memory(case.settings.device)
    if needed > free:
        raise UnsupportedError(
            f"needs about {needed / GIB:.1f} GiB and {case.settings.device} has "
            f"{free / GIB:.1f} GiB free; use --size small or --shape")


def measure(case: Case, framework: Framework, bound: Bound = NOTHING_BOUND) -> Record:
    """Measure one case. Whatever the operator does wrong ends up in the record.

    `bound` holds what the case's `given` tensors and target stand for, if a caller has the
    objects themselves.
    """
    begun = time.perf_counter()
    try:
        guard(case, framework)
        with framework.scope(case):
            record = _Measurement(case, framework, bound).record()
    except UnsupportedError as error:
        record = _without_numbers(case, Status.SKIPPED, str(error))
    except OpperfError as error:
        record = _without_numbers(case, Status.FAILED, str(error))
    except Exception as error:
        reason = framework.refusal(error)
        if reason is None:
            reason = one_line(f"{type(error).__name__}: {error}")
        record = _refused(case, framework, bound, reason)
    return msgspec.structs.replace(record, wall_s=time.perf_counter() - begun)


def _without_numbers(case: Case, status: Status, reason: str) -> Record:
    return Record(case=case, id=case.id, status=status, reason=one_line(reason))


def _refused(case: Case, framework: Framework, bound: Bound, reason: str) -> Record:
    """The record of a call the framework refused: skipped if this build or device has no such
    kernel, or if the dtype is at fault, which is so when the same call in float32 runs; else
    failed."""
    if framework.unavailable(reason):
        return _without_numbers(case, Status.SKIPPED, reason)
    dtype = case.settings.dtype
    if dtype != BASELINE_DTYPE and _runs(_in_dtype(case, BASELINE_DTYPE), framework, bound):
        return _without_numbers(case, Status.SKIPPED, f"does not take {dtype}: {reason}")
    return _without_numbers(case, Status.FAILED, reason)


def _runs(case: Case, framework: Framework, bound: Bound) -> bool:
    """Whether the framework accepts the case at all."""
    try:
        with framework.scope(case):
            _Measurement(case, framework, bound).call()
            framework.synchronize(case.settings.device)
    except Exception:
        return False
    return True


def _in_dtype(case: Case, dtype: str) -> Case:
    """The case with every tensor and argument of its own dtype turned into another."""
    old = case.settings.dtype

    def turned(value: Argument) -> Argument:
        if isinstance(value, tuple):
            return tuple(turned(element) for element in value)  # type: ignore[misc]
        if isinstance(value, TensorSpec):
            return msgspec.structs.replace(value, dtype=dtype) if value.dtype == old else value
        return value

    arguments = {name: turned(value) for name, value in case.arguments.items()}
    if arguments.get("dtype") == old:
        arguments["dtype"] = dtype
    settings = msgspec.structs.replace(case.settings, dtype=dtype)
    return msgspec.structs.replace(case, arguments=arguments, settings=settings)


class _Measurement:
    """One case's tensors and call, and the phases it is measured in."""

    def __init__(self, case: Case, framework: Framework, bound: Bound) -> None:
        self._case, self._framework, self._bound = case, framework, bound
        self._differentiated: list[Any] = []
        self._made: dict[str, Any] = {}
        arguments = {name: self._named(name, value) for name, value in case.arguments.items()}
        self.call = framework.bind(case, arguments, bound.function)
        self._summaries: dict[str, Summary] = {}
        self._samples: dict[str, list[float]] = {}
        self._notes: dict[str, str] = {}

    def _named(self, name: str, argument: Argument) -> Any:
        """The value of an argument, kept under its name for arguments that are the same."""
        made = self._made[name] = self._value(argument)
        if isinstance(made, list):
            self._made.update((f"{name}.{i}", element) for i, element in enumerate(made))
        return made

    def _value(self, argument: Argument) -> Any:
        if isinstance(argument, tuple):
            made = [self._value(element) for element in argument]
            return made if any(isinstance(e, TensorSpec) for e in argument) else tuple(made)
        if not isinstance(argument, TensorSpec):
            return argument
        settings = self._case.settings
        if argument.fill.distribution == "same":
            return self._made[argument.fill.data]
        if argument.fill.distribution == "given":
            held = self._bound.arrays[argument.fill.digest]
            tensor = self._framework.adopt(held, argument, settings.device)
        else:
            tensor = self._framework.tensor(argument, settings.device, settings.seed)
        if argument.gradient:
            self._differentiated.append(tensor)
        return tensor

    def record(self) -> Record:
        """Measure every pass that was asked for."""
        settings = self._case.settings
        timer = profiler(settings.profiler, self._framework, settings.device)
        # The first call compiles, caches and refuses; none of that is the operator's time.
        self.call()
        self._framework.synchronize(settings.device)
        self._forward(timer)
        if "backward" in self._case.passes:
            self._backward(timer)
        return Record(
            case=self._case, id=self._case.id, status=Status.OK, summaries=self._summaries,
            samples=self._samples, notes=self._notes,
        )

    def _forward(self, timer: Profiler) -> None:
        device = self._case.settings.device
        with self._framework.memory(device) as reading:
            outputs = self.call()
            self._framework.synchronize(device)
        if self._framework.has_nan(outputs):
            self._notes["output"] = "has NaN: the inputs do not suit the operator"
        del outputs
        self._keep_memory("memory", reading.peak_bytes)
        self._keep_memory("memory_forward", reading.peak_bytes)
        (forward,) = self._time(timer, [self.call])
        self._keep("forward", forward)
        self._keep("total", forward)

    def _backward(self, timer: Profiler) -> None:
        try:
            with self._framework.memory(self._case.settings.device) as reading:
                gradient = self._framework.gradient(
                    self._case, self.call, self._differentiated)
        except NoGradientError as error:
            self._notes["backward"] = str(error)
            return
        self._keep_memory("memory", reading.peak_bytes)
        forward, backward = self._time(timer, [gradient.record, gradient.backward])
        self._keep("backward", backward)
        if forward and backward:
            self._keep("total", [a + b for a, b in zip(forward, backward, strict=True)])

    def _time(
        self, timer: Profiler, phases: list[Callable[[], object]]
    ) -> list[list[float]]:
        settings = self._case.settings
        for _ in range(settings.warmup):
            for phase in phases:
                phase()
            self._framework.synchronize(settings.device)
        return timer.trace(phases, settings.runs)

    def _keep(self, metric: str, samples: list[float]) -> None:
        if samples:
            self._samples[metric] = samples
            self._summaries[metric] = summarise(samples, "ns")
        else:
            self._notes[metric] = "runs no kernel of its own, as for a view of its input"

    def _keep_memory(self, metric: str, peak: int) -> None:
        self._summaries[metric] = summarise([float(peak)], "B")
